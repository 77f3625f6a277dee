"""What an effective protocol decides, in typed form. `protocol.parse_rules` builds these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from studies.estimation.errors import EstimationError
from studies.estimation.tries import SlotTries

MethodParameters = Mapping[str, str | int | float]


class ProtocolKind(StrEnum):
    """Where a study's predictions come from."""

    FITS = "fits"
    INHERITS = "inherits"


@dataclass(frozen=True)
class FittingRules:
    """How a study fits its own predictions.

    Attributes:
        features: feature names in the effective order.
        methods: the protocol's methods in the study's order, each with its parameters in our words.
        source_studies: studies whose configurations may be fitted.
        source_configuration_ids: exactly the configurations of the fitting pool, ascending.
    """

    features: tuple[str, ...]
    methods: Mapping[str, MethodParameters]
    source_studies: tuple[str, ...]
    source_configuration_ids: tuple[str, ...]


@dataclass(frozen=True)
class InheritanceRules:
    """How a follow-up takes over the sealed predictions of its parent.

    Attributes:
        prediction_origins: target of the follow-up to target of the parent.
        original_protocol_sha256: the parent's base protocol.
        original_prediction_seal_sha256: the parent's seal.
    """

    prediction_origins: Mapping[str, str]
    original_protocol_sha256: str
    original_prediction_seal_sha256: str


@dataclass(frozen=True)
class ProtocolRules:
    """All rules of an effective protocol. Exactly one of `fitting` and `inheritance` is there.

    Memory limits are MiB per device; `tries` says how often a slot may be tried.
    """

    protocol_version: str
    device_capacity_mib: int
    memory_margin_limit_mib: int
    evaluation_seeds: tuple[int, ...]
    target_configuration_ids: tuple[str, ...]
    planned_pairs: int
    planned_processes: int
    tries: SlotTries
    fitting: FittingRules | None
    inheritance: InheritanceRules | None

    def __post_init__(self) -> None:
        if (self.fitting is None) == (self.inheritance is None):
            raise EstimationError(
                f"protocol {self.protocol_version}",
                "predictions",
                "both" if self.fitting else "neither",
                "either rules for fitting or an inheritance of sealed predictions",
            )

    @property
    def kind(self) -> ProtocolKind:
        """Whether the study fits its predictions or inherits them."""
        return ProtocolKind.INHERITS if self.fitting is None else ProtocolKind.FITS

    def require_fitting(self) -> FittingRules:
        """The rules for fitting.

        Raises:
            EstimationError: the protocol inherits its predictions and has none.
        """
        if self.fitting is None:
            raise EstimationError(
                f"protocol {self.protocol_version}",
                "features",
                None,
                "rules for fitting; this one inherits predictions",
            )
        return self.fitting

    def require_inheritance(self) -> InheritanceRules:
        """The rules for inheriting.

        Raises:
            EstimationError: the protocol fits its own predictions.
        """
        if self.inheritance is None:
            raise EstimationError(
                f"protocol {self.protocol_version}",
                "prediction_origins",
                None,
                "origins; this protocol fits its own",
            )
        return self.inheritance
