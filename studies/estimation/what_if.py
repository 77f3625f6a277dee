"""One configuration that nobody has planned: what each method says of it, and what would have to change.

Nothing here is fitted or recorded; it asks fitted methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from studies.estimation.errors import EstimationError
from studies.estimation.methods import Method, Prediction
from studies.estimation.pool import Pool, PoolConfiguration, Target, feature_matrix
from studies.estimation.reasons import Reasons
from studies.estimation.volumes import Settings, component_volumes

MOST_NEIGHBOURS = 5
_HALVED = ("actor_micro_batch", "rollout_logprob_micro_batch", "ref_logprob_micro_batch",
           "max_response_length", "max_prompt_length", "max_model_len")  # fmt: skip
_DOUBLED = ("gpu_count", "rollout_tp_size")
_SWITCHED = ("parameter_offload", "optimizer_offload")
_MOST_GPUS = 1024


@dataclass(frozen=True)
class Answer:
    """What one fitted method says of the question.

    Attributes:
        prediction: None where the method refuses; then `refused` says why.
        reasons: the method's own.
        changes: for each single setting, the nearest value with which the method approves.
    """

    method: str
    development: bool
    prediction: Prediction | None
    reasons: Reasons | None
    refused: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Change:
    """One setting changed alone, and the peak that the method then predicts, MiB, where it has one."""

    field: str
    before: float | bool
    after: float | bool
    peak_mib: float | None


@dataclass(frozen=True)
class Reach:
    """One volume against the fitting pool, GiB: inside what was measured, or beyond it."""

    feature: str
    gib: float
    lowest_gib: float
    highest_gib: float

    @property
    def inside(self) -> bool:
        """Whether the pool has both smaller and larger ones, or the same."""
        return self.lowest_gib <= self.gib <= self.highest_gib


@dataclass(frozen=True)
class Near:
    """A measured configuration and how far its volumes are away: 0 is the same, 1 the pool's whole range."""

    configuration: PoolConfiguration
    distance: float


@dataclass(frozen=True)
class Support:
    """How far the pool speaks of the question."""

    reaches: tuple[Reach, ...]
    nearest: tuple[Near, ...]


@dataclass(frozen=True)
class Respondent:
    """A fitted method that can be asked. `refusal` says why it gives no answer here; empty if it does."""

    method: Method
    development: bool
    refusal: str = ""

    def predict(self, target: Target) -> tuple[Prediction | None, str]:
        """The prediction and an empty text; or None and why there is none."""
        if self.refusal:
            return None, self.refusal
        try:
            [prediction] = self.method.predict([target])
        except EstimationError as error:
            return None, str(error)
        return prediction, ""


def answer(methods: Sequence[Respondent], target: Target) -> list[Answer]:
    """What each fitted method says."""
    return [_answer(item, target) for item in methods]


def _answer(asked: Respondent, target: Target) -> Answer:
    method, development = asked.method, asked.development
    prediction, refused = asked.predict(target)
    if prediction is None:
        return Answer(method.name, development, None, None, refused, ())
    changes = () if prediction.approves else tuple(_changes(method, target))
    return Answer(method.name, development, prediction, method.explain(target), "", changes)


def _changes(method: Method, target: Target) -> Iterator[Change]:
    for field, values in _candidates(target.settings):
        for value in values:
            try:
                settings = replace(target.settings, **{field: value})  # type: ignore[arg-type]
                [prediction] = method.predict([replace(target, settings=settings)])
            except EstimationError:
                continue  # a shape that can't exist, or one that the method has no answer for
            if prediction.approves:
                before = getattr(target.settings, field)
                yield Change(field, before, value, prediction.predicted_peak_mib)
                break


def _candidates(settings: Settings) -> Iterator[tuple[str, Iterable[float | bool]]]:
    """Each setting with its other values, the nearest first, in the direction that can need less memory."""
    for field in _DOUBLED:
        yield field, _doublings(getattr(settings, field), _MOST_GPUS)
    for field in _HALVED:
        yield field, _halvings(getattr(settings, field))
    share = round(settings.vllm_gpu_memory_utilization * 100)
    yield "vllm_gpu_memory_utilization", (step / 100 for step in range(share - 1, 0, -1))
    for field in _SWITCHED:
        if not getattr(settings, field):
            yield field, (True,)


def _doublings(start: int, most: int) -> Iterator[int]:
    value = start * 2
    while 0 < value <= most:
        yield value
        value *= 2


def _halvings(start: int) -> Iterator[int]:
    value = start // 2
    while value > 0:
        yield value
        value //= 2


def support(pool: Pool, features: Sequence[str], target: Target) -> Support:
    """Where the target lies in the pool, by the volumes called `features`."""
    measured = feature_matrix(pool.configurations, features)
    own = feature_matrix([target], features)[0]
    lowest, highest = measured.min(axis=0), measured.max(axis=0)
    width = np.where(highest > lowest, highest - lowest, 1.0)
    distances = np.sqrt((((measured - own) / width) ** 2).mean(axis=1))
    order = np.lexsort(([item.configuration_id for item in pool.configurations], distances))
    return Support(
        tuple(
            Reach(name, float(own[place]), float(lowest[place]), float(highest[place]))
            for place, name in enumerate(features)
        ),
        tuple(Near(pool.configurations[place], float(distances[place])) for place in order[:MOST_NEIGHBOURS]),
    )


@dataclass(frozen=True)
class Sizes:
    """What calculators by model name give: bytes of a model by the type of its elements."""

    name: str
    bytes_per_element: float

    def weights_gib(self, elements: int) -> float:
        """The weights alone, GiB."""
        return elements * self.bytes_per_element / 2**30


BY_TYPE = (
    Sizes("float32", 4),
    Sizes("bfloat16 or float16", 2),
    Sizes("int8 or float8", 1),
    Sizes("int4", 0.5),
)


@dataclass(frozen=True)
class Offload:
    """One way of offloading: what stays on each device, what all devices move to the host, who approves.

    Attributes:
        resident_gib: actor shards and adapter optimizer on one device, GiB.
        host_gib: what the host holds of both for all devices together, GiB.
    """

    parameters: bool
    optimizer: bool
    resident_gib: float
    host_gib: float
    approving: tuple[str, ...]


_MOVABLE = ("resident_actor_shards_gib", "adapter_optimizer_gib")


def offloads(methods: Sequence[Respondent], target: Target) -> list[Offload]:
    """Each of the four ways, everything on the device first."""
    found = []
    whole = _movable_gib(target, parameters=False, optimizer=False)
    for parameters in (False, True):
        for optimizer in (False, True):
            settings = replace(target.settings, parameter_offload=parameters, optimizer_offload=optimizer)
            resident = _movable_gib(target, parameters=parameters, optimizer=optimizer)
            said = (
                (item.method.name, item.predict(replace(target, settings=settings))[0]) for item in methods
            )
            approving = tuple(name for name, prediction in said if prediction and prediction.approves)
            moved = (whole - resident) * settings.gpu_count
            found.append(Offload(parameters, optimizer, resident, moved, approving))
    return found


def _movable_gib(target: Target, *, parameters: bool, optimizer: bool) -> float:
    settings = replace(target.settings, parameter_offload=parameters, optimizer_offload=optimizer)
    return sum(component_volumes(settings, target.architecture, _MOVABLE))
