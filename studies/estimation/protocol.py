"""From a base protocol and its amendments to the rules that hold.

An amendment is bound to the base protocol by that file's sha256 and may touch four keys only. Whether it
counts as an amendment or as a deviation is not decided here: that depends on when outcomes were known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_text, require_whole
from studies.estimation.methods import method_classes
from studies.estimation.pool import refuse_duplicates
from studies.estimation.rules import FittingRules, InheritanceRules, ProtocolRules
from studies.estimation.tries import slot_tries
from studies.estimation.volumes import check_features
from studies.estimation.wording import recognise

AMENDABLE_KEYS = ("features", "feature_scope", "component_regression", "scoring")
"""Everything else in a protocol is frozen with it."""


@dataclass(frozen=True)
class Amendment:
    """An explicit change to a protocol after its freeze.

    Attributes:
        name: how the amendment is called in messages, its file name for one from an archive.
        base_protocol_sha256: digest of the base protocol's bytes that it was written for.
        updates: protocol key to new value.
        previous_feature_order: the features that it replaces, when it says so.
    """

    name: str
    base_protocol_sha256: str
    updates: Mapping[str, object]
    previous_feature_order: tuple[str, ...] | None = None

    @classmethod
    def from_document(cls, name: str, document: Mapping[str, object]) -> Amendment:
        """Read an amendment's JSON document.

        Raises:
            EstimationError: without a base digest or without updates.
        """
        updates = document.get("updates")
        if not isinstance(updates, Mapping) or not updates:
            raise EstimationError(name, "updates", updates, "an object with at least one changed key")
        previous = document.get("previous_feature_order")
        if previous is not None and not isinstance(previous, list):
            raise EstimationError(name, "previous_feature_order", previous, "a list of feature names")
        return cls(
            name=name,
            base_protocol_sha256=require_text(
                document.get("base_protocol_sha256"), name, "base_protocol_sha256"
            ),
            updates=dict(updates),
            previous_feature_order=None if previous is None else tuple(previous),
        )


def effective_protocol(
    base: Mapping[str, object], amendments: Iterable[Amendment], *, base_sha256: str
) -> dict[str, object]:
    """The base protocol with the updates of its amendments applied in their order.

    Args:
        base: the base protocol's document. It is left as it is.
        amendments: in the order in which they were made.
        base_sha256: digest of the base protocol's bytes.

    Raises:
        EstimationError: an amendment bound to another base, one that touches a frozen key, or one that
            replaces another feature order than the one that held before it.
    """
    effective = dict(base)
    for amendment in amendments:
        if amendment.base_protocol_sha256 != base_sha256:
            raise EstimationError(
                amendment.name,
                "base_protocol_sha256",
                amendment.base_protocol_sha256,
                f"the base protocol's {base_sha256}",
            )
        for key, value in amendment.updates.items():
            if key not in AMENDABLE_KEYS:
                raise EstimationError(
                    amendment.name,
                    f"updates.{key}",
                    value,
                    "a key open to amendment: " + ", ".join(AMENDABLE_KEYS) + f"; {key} is frozen",
                )
        before = amendment.previous_feature_order
        if before is not None and list(before) != effective.get("features"):
            raise EstimationError(
                amendment.name,
                "previous_feature_order",
                list(before),
                f"the order that held before it, {effective.get('features')}",
            )
        effective.update(amendment.updates)
    return effective


def parse_rules(protocol: Mapping[str, object]) -> ProtocolRules:
    """Read all rules of an effective protocol, of one that fits or of one that inherits.

    Raises:
        EstimationError: a key that is missing, of another kind, or contradicts another one; a feature, solver
            or other rule that the methods don't implement. Nothing is replaced by a default.
    """
    panel = _panel(protocol)
    offender = _offender(protocol)
    recognise("outcome_rule", _required(protocol, "outcome_rule", offender), offender)
    inherits = "prediction_origins" in protocol
    return ProtocolRules(
        **panel,  # type: ignore[arg-type]
        fitting=None if inherits else _fitting(protocol, offender),
        inheritance=_inheritance(protocol, offender) if inherits else None,
    )


def _offender(protocol: Mapping[str, object]) -> str:
    return f"protocol {protocol.get('protocol_version', 'without protocol_version')}"


def _required(protocol: Mapping[str, object], key: str, offender: str) -> object:
    if key not in protocol:
        raise EstimationError(offender, key, None, "the key in the protocol")
    return protocol[key]


def _panel(protocol: Mapping[str, object]) -> dict[str, object]:
    offender = _offender(protocol)

    def whole(key: str) -> int:
        return require_whole(_required(protocol, key, offender), offender, key, 1)

    capacity, margin = whole("device_capacity_mib"), whole("memory_margin_limit_mib")
    if margin > capacity:
        raise EstimationError(
            offender, "memory_margin_limit_mib", margin, f"at most the device capacity {capacity}"
        )

    seeds = _required(protocol, "evaluation_seeds", offender)
    if not isinstance(seeds, list) or not seeds or len(set(map(str, seeds))) != len(seeds):
        raise EstimationError(offender, "evaluation_seeds", seeds, "a list of different seeds")
    for seed in seeds:
        require_whole(seed, offender, "evaluation_seeds")

    targets = _target_ids(protocol, offender)
    if whole("target_configurations") != len(targets):
        raise EstimationError(
            offender,
            "target_configurations",
            protocol["target_configurations"],
            f"{len(targets)}, the targets named",
        )
    processes = whole("planned_processes")
    if processes != len(targets) * len(seeds):
        raise EstimationError(
            offender, "planned_processes", processes, f"{len(targets)} targets × {len(seeds)} seeds"
        )
    pairs = require_whole(_required(protocol, "planned_pairs", offender), offender, "planned_pairs", 0)
    if pairs * 2 > processes:
        raise EstimationError(
            offender, "planned_pairs", pairs, f"at most half of {processes} planned processes"
        )
    return {
        "protocol_version": require_text(
            _required(protocol, "protocol_version", offender), offender, "protocol_version"
        ),
        "device_capacity_mib": capacity,
        "memory_margin_limit_mib": margin,
        "evaluation_seeds": tuple(seeds),
        "target_configuration_ids": targets,
        "planned_pairs": pairs,
        "planned_processes": processes,
        "tries": slot_tries(protocol),
    }


def _target_ids(protocol: Mapping[str, object], offender: str) -> tuple[str, ...]:
    if "prediction_origins" in protocol:
        return tuple(_origins(protocol, offender))
    return _ids(protocol, "target_configuration_ids", offender)


def _ids(protocol: Mapping[str, object], key: str, offender: str) -> tuple[str, ...]:
    ids = _required(protocol, key, offender)
    if not isinstance(ids, list) or not ids:
        raise EstimationError(offender, key, ids, "a list of ids that is not empty")
    names = tuple(require_text(item, offender, key) for item in ids)
    refuse_duplicates(names, f"{offender}, {key}")
    return names


def _origins(protocol: Mapping[str, object], offender: str) -> dict[str, str]:
    origins = protocol["prediction_origins"]
    if not isinstance(origins, Mapping) or not origins:
        raise EstimationError(
            offender, "prediction_origins", origins, "an object from target to original target"
        )
    named = {
        require_text(target, offender, "prediction_origins"): require_text(
            origin, offender, "prediction_origins"
        )
        for target, origin in origins.items()
    }
    refuse_duplicates(named.values(), f"{offender}, prediction_origins")
    return named


def _fitting(protocol: Mapping[str, object], offender: str) -> FittingRules:
    features = _required(protocol, "features", offender)
    if not isinstance(features, list):
        raise EstimationError(offender, "features", features, "a list of feature names")
    recognise("feature_scope", _required(protocol, "feature_scope", offender), offender)
    if "scoring" in protocol:
        recognise("scoring", protocol["scoring"], offender)
    sources = _ids(protocol, "source_configuration_ids", offender)
    count = require_whole(
        _required(protocol, "source_configurations", offender), offender, "source_configurations", 1
    )
    if count != len(sources):
        raise EstimationError(offender, "source_configurations", count, f"{len(sources)}, the sources named")
    methods = {
        method.name: method.read_rule(protocol, offender)
        for method in method_classes()
        if method.required or method.protocol_key in protocol
    }
    return FittingRules(
        features=check_features(features, offender),
        methods=methods,
        source_studies=_ids(protocol, "source_studies", offender),
        source_configuration_ids=tuple(sorted(sources)),
    )


def _inheritance(protocol: Mapping[str, object], offender: str) -> InheritanceRules:
    for key in ("features", "classifier", "donor_rule", "component_regression"):
        if key in protocol:
            raise EstimationError(
                offender, key, protocol[key], "no rule for fitting where predictions are inherited"
            )
    recognise("estimators", _required(protocol, "estimators", offender), offender)

    def digest(key: str) -> str:
        return require_text(_required(protocol, key, offender), offender, key)

    return InheritanceRules(
        prediction_origins=_origins(protocol, offender),
        original_protocol_sha256=digest("original_protocol_sha256"),
        original_prediction_seal_sha256=digest("original_prediction_seal_sha256"),
    )
