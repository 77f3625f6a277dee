"""Component volumes: what a configuration and its model's architecture say about memory before any run.

Symbols of the formulas: P floating checkpoint elements, R adapter elements of all linear layers, G task
GPUs, TP tensor-parallel size of generation, C device capacity, u the generation engine's share of it.
Actor weights count 4 bytes an element, generation weights and activations 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from studies.estimation.errors import EstimationError
from studies.estimation.families import family_of
from studies.estimation.fields import (
    boolean_in,
    number_in,
    require_boolean,
    require_number,
    require_text,
    require_whole,
    text_in,
    whole_in,
)

BYTES_PER_GIB = 2**30
BYTES_PER_MIB = 2**20
MIB_PER_GIB = 1024


@dataclass(frozen=True)
class Architecture:
    """The counts of a model that the volumes need, in elements or plain counts, and its family."""

    model_id: str
    floating_checkpoint_elements: int
    all_linear_layer_adapter_elements: int
    largest_transformer_layer_elements: int
    non_transformer_layer_elements: int
    largest_weight_tensor_elements: int
    num_hidden_layers: int
    hidden_size: int
    vocab_size: int
    family: str

    def __post_init__(self) -> None:
        offender = require_text(self.model_id, "model architecture", "model_id")
        require_text(self.family, offender, "family")
        for field in _COUNTS:
            lowest = 0 if field == "all_linear_layer_adapter_elements" else 1
            require_whole(getattr(self, field), offender, field, lowest)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object]) -> Architecture:
        """Read one model's entry of a study's model metadata; other fields of it are left alone.

        An entry without ``family`` gets the one that ``families.family_of`` knows for its model.
        """
        offender = str(metadata.get("model_id", "model architecture"))
        values = {}
        for field in ("model_id", *_COUNTS):
            if field not in metadata:
                raise EstimationError(offender, field, None, "the field in the model metadata")
            values[field] = metadata[field]
        family = metadata.get("family")
        if family is not None:
            require_text(family, offender, "family")
        model = require_text(values["model_id"], "model architecture", "model_id")
        return cls(**values, family=family_of(model, family))  # type: ignore[arg-type]

    @property
    def trained_elements(self) -> int:
        """P + R: elements of the checkpoint and of the adapter together."""
        return self.floating_checkpoint_elements + self.all_linear_layer_adapter_elements


_COUNTS = tuple(field.name for field in fields(Architecture) if field.name not in ("model_id", "family"))


@dataclass(frozen=True)
class Settings:
    """The settings of a configuration that a rule of this package reads.

    Memory limits are MiB per device; lengths are tokens; batch sizes are sequences.
    """

    configuration_id: str
    study: str
    model_id: str
    workload_id: str
    configuration_level: str
    gpu_count: int
    rollout_tp_size: int
    actor_micro_batch: int
    rollout_logprob_micro_batch: int
    ref_logprob_micro_batch: int
    vllm_gpu_memory_utilization: float
    parameter_offload: bool
    optimizer_offload: bool
    free_cache_engine: bool
    max_prompt_length: int
    max_response_length: int
    max_model_len: int
    rollout_n: int
    train_batch_size: int
    device_capacity_mib: int
    margin_limit_mib: int

    def __post_init__(self) -> None:
        offender = require_text(self.configuration_id, "configuration", "configuration_id")
        for field in _TEXTS:
            require_text(getattr(self, field), offender, field)
        for field in _WHOLES:
            require_whole(getattr(self, field), offender, field)
        for field in _BOOLEANS:
            require_boolean(getattr(self, field), offender, field)
        require_number(self.vllm_gpu_memory_utilization, offender, "vllm_gpu_memory_utilization")

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> Settings:
        """Read a row of a configurations table, as texts. Columns that no rule reads are left alone.

        Raises:
            EstimationError: a missing column, a blank, or a value of another kind, with the row's
                configuration named.
        """
        offender = text_in(row, "configuration_id", "configuration")
        values: dict[str, object] = {"configuration_id": offender}
        values |= {field: text_in(row, field, offender) for field in _TEXTS}
        values |= {field: whole_in(row, field, offender) for field in _WHOLES}
        values |= {field: boolean_in(row, field, offender) for field in _BOOLEANS}
        values["vllm_gpu_memory_utilization"] = number_in(row, "vllm_gpu_memory_utilization", offender)
        return cls(**values)  # type: ignore[arg-type]


_TEXTS = ("study", "model_id", "workload_id", "configuration_level")
_BOOLEANS = ("parameter_offload", "optimizer_offload", "free_cache_engine")
_WHOLES = tuple(
    field.name
    for field in fields(Settings)
    if field.name not in (*_TEXTS, *_BOOLEANS, "configuration_id", "vllm_gpu_memory_utilization")
)
_POSITIVE = tuple(field for field in _WHOLES if field not in ("max_prompt_length", "max_response_length"))


@dataclass(frozen=True)
class _Shape:
    """Settings and architecture that fit each other, with the token counts derived from both."""

    settings: Settings
    architecture: Architecture
    actor_tokens: int
    scoring_tokens: int


def _shape(settings: Settings, architecture: Architecture) -> _Shape:
    offender = settings.configuration_id
    if settings.model_id != architecture.model_id:
        raise EstimationError(
            offender, "model_id", settings.model_id, f"the architecture's {architecture.model_id}"
        )
    for field in _POSITIVE:
        if getattr(settings, field) <= 0:
            raise EstimationError(offender, field, getattr(settings, field), "a whole number above zero")
    if settings.gpu_count % settings.rollout_tp_size:
        raise EstimationError(
            offender,
            "gpu_count",
            settings.gpu_count,
            f"a multiple of rollout_tp_size {settings.rollout_tp_size}",
        )
    share = settings.vllm_gpu_memory_utilization
    if not 0 < share < 1:
        raise EstimationError(
            offender, "vllm_gpu_memory_utilization", share, "a share between 0 and 1, both excluded"
        )
    batch = settings.train_batch_size * settings.rollout_n
    if batch % settings.gpu_count:
        raise EstimationError(
            offender,
            "train_batch_size × rollout_n",
            batch,
            f"a multiple of gpu_count {settings.gpu_count}",
        )
    sequence = min(settings.max_model_len, settings.max_prompt_length + settings.max_response_length)
    if sequence <= 0:
        raise EstimationError(
            offender, "max_prompt_length + max_response_length", sequence, "a sequence of at least one token"
        )
    per_rank = batch // settings.gpu_count
    scoring = max(settings.rollout_logprob_micro_batch, settings.ref_logprob_micro_batch)
    return _Shape(
        settings=settings,
        architecture=architecture,
        actor_tokens=min(settings.actor_micro_batch, per_rank) * sequence,
        scoring_tokens=min(scoring, per_rank) * sequence,
    )


def _actor_shard_bytes(settings: Settings, architecture: Architecture) -> float:
    return 4 * architecture.trained_elements / settings.gpu_count


def _actor_shards(shape: _Shape) -> float:
    return _actor_shard_bytes(shape.settings, shape.architecture) / BYTES_PER_GIB


def _adapter_optimizer(shape: _Shape) -> float:
    if shape.settings.optimizer_offload:
        return 0.0
    return 8 * shape.architecture.all_linear_layer_adapter_elements / shape.settings.gpu_count / BYTES_PER_GIB


def _generation_budget(shape: _Shape) -> float:
    return shape.settings.vllm_gpu_memory_utilization * shape.settings.device_capacity_mib / MIB_PER_GIB


def _generation_replica(shape: _Shape) -> float:
    return 2 * shape.architecture.trained_elements / shape.settings.rollout_tp_size / BYTES_PER_GIB


def _largest_unit(shape: _Shape) -> float:
    architecture = shape.architecture
    return (
        4
        * max(
            architecture.largest_transformer_layer_elements,
            architecture.non_transformer_layer_elements,
            architecture.largest_weight_tensor_elements,
        )
        / BYTES_PER_GIB
    )


def _checkpoint_boundaries(shape: _Shape) -> float:
    architecture = shape.architecture
    boundaries = architecture.num_hidden_layers + 1
    return 2 * shape.actor_tokens * boundaries * architecture.hidden_size / BYTES_PER_GIB


def _vocabulary_output(shape: _Shape) -> float:
    return 2 * max(shape.actor_tokens, shape.scoring_tokens) * shape.architecture.vocab_size / BYTES_PER_GIB


def _resident_actor_shards(shape: _Shape) -> float:
    return 0.0 if shape.settings.parameter_offload else _actor_shards(shape)


def _actor_offload_indicator(shape: _Shape) -> float:
    return 1.0 if shape.settings.parameter_offload else 0.0


VOLUMES: Mapping[str, Callable[[_Shape], float]] = {
    "actor_shards_gib": _actor_shards,
    "adapter_optimizer_gib": _adapter_optimizer,
    "generation_budget_gib": _generation_budget,
    "generation_replica_gib": _generation_replica,
    "largest_unit_proxy_gib": _largest_unit,
    "checkpoint_boundary_volume_gib": _checkpoint_boundaries,
    "vocabulary_output_volume_gib": _vocabulary_output,
    "resident_actor_shards_gib": _resident_actor_shards,
    "actor_parameter_offload": _actor_offload_indicator,
}
"""Every known feature by its protocol name. All are GiB except the indicator `actor_parameter_offload`,
which is 1 or 0 and which the first amendment replaced by `resident_actor_shards_gib`."""


def check_features(names: Sequence[object], offender: str) -> tuple[str, ...]:
    """`names` as a tuple of known features.

    Raises:
        EstimationError: none at all, an unknown one, or one named twice.
    """
    if not names:
        raise EstimationError(offender, "features", list(names), "at least one feature")
    for name in names:
        if not isinstance(name, str) or name not in VOLUMES:
            raise EstimationError(offender, "features", name, "one of " + ", ".join(VOLUMES))
    if len(set(names)) != len(names):
        raise EstimationError(offender, "features", list(names), "each feature once")
    return tuple(str(name) for name in names)


def component_volumes(
    settings: Settings, architecture: Architecture, names: Iterable[str]
) -> tuple[float, ...]:
    """The named volumes of one configuration, in the order of `names`; GiB, float64.

    Raises:
        EstimationError: a shape that can't exist, an unknown name, or a volume that is negative or not
            finite.
    """
    shape = _shape(settings, architecture)
    volumes = []
    for name in names:
        if name not in VOLUMES:
            raise EstimationError(settings.configuration_id, "feature", name, "one of " + ", ".join(VOLUMES))
        try:
            volume = VOLUMES[name](shape)
        except OverflowError:
            volume = math.inf
        if not math.isfinite(volume) or volume < 0:
            raise EstimationError(
                settings.configuration_id, name, volume, "a finite volume of at least 0 GiB"
            )
        volumes.append(volume)
    return tuple(volumes)


class StartupBasis(StrEnum):
    """On what ground the startup check speaks or stays silent.

    These are our words. The text that an archive keeps in the same place is not compared.
    """

    RESIDENT_ACTOR = "actor shards in 32-bit are already on the device when generation asks for its share"
    OFFLOADED_ACTOR = "actor parameters are offloaded, so the check says nothing"


@dataclass(frozen=True)
class StartupBudget:
    """The one-sided check of device memory at start-up, 4(P+R)/G + u·C > C.

    Attributes:
        basis: why the check applies or doesn't.
        budget_plus_actor_mib: actor shards and generation share together, MiB; None where it doesn't apply.
        predicts_failure: whether that is more than the capacity. False promises nothing. None: doesn't apply.
    """

    basis: StartupBasis
    budget_plus_actor_mib: float | None
    predicts_failure: bool | None

    @property
    def applicable(self) -> bool:
        """Only resident actor parameters can collide with the generation share."""
        return self.basis is StartupBasis.RESIDENT_ACTOR

    def to_record(self) -> dict[str, object]:
        """The diagnostic under the archive's key names. `assumption` and `reason` hold our own words."""
        return {
            "applicable": self.applicable,
            "assumption" if self.applicable else "reason": self.basis.value,
            "budget_plus_actor_mib": self.budget_plus_actor_mib,
            "predicted_startup_budget_failure": self.predicts_failure,
        }

    @classmethod
    def from_record(cls, record: object, offender: str) -> StartupBudget:
        """Read a diagnostic back. Its `assumption` or `reason` text is not read: `applicable` decides.

        Raises:
            EstimationError: a field that is missing or contradicts `applicable`.
        """
        field = "startup_budget_diagnostic"
        if not isinstance(record, Mapping):
            raise EstimationError(offender, field, record, "an object")
        total = record.get("budget_plus_actor_mib")
        failure = record.get("predicted_startup_budget_failure")
        if not require_boolean(record.get("applicable"), offender, f"{field}.applicable"):
            if total is not None or failure is not None:
                raise EstimationError(
                    offender, field, dict(record), "null results where the check doesn't apply"
                )
            return cls(StartupBasis.OFFLOADED_ACTOR, None, None)
        return cls(
            StartupBasis.RESIDENT_ACTOR,
            require_number(total, offender, f"{field}.budget_plus_actor_mib"),
            require_boolean(failure, offender, f"{field}.predicted_startup_budget_failure"),
        )


def startup_budget(settings: Settings, architecture: Architecture) -> StartupBudget:
    """The startup check of one configuration.

    Raises:
        EstimationError: a shape that can't exist.
    """
    _shape(settings, architecture)
    if settings.parameter_offload:
        return StartupBudget(StartupBasis.OFFLOADED_ACTOR, None, None)
    total = (
        _actor_shard_bytes(settings, architecture) / BYTES_PER_MIB
        + settings.vllm_gpu_memory_utilization * settings.device_capacity_mib
    )
    return StartupBudget(StartupBasis.RESIDENT_ACTOR, total, total > settings.device_capacity_mib)
