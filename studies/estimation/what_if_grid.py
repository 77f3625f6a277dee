"""The same question over models, GPU counts and reservations: a table of answers. Nothing is recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from studies.estimation.errors import EstimationError
from studies.estimation.methods import Prediction
from studies.estimation.pool import Pool, Target, feature_matrix
from studies.estimation.volumes import Architecture, Settings
from studies.estimation.what_if import Respondent

MOST_CELLS = 500


@dataclass(frozen=True)
class Axes:
    """What is varied. Everything else stays as it was asked."""

    models: tuple[Architecture, ...]
    gpu_counts: tuple[int, ...]
    reservations: tuple[float, ...]

    def __post_init__(self) -> None:
        for field in ("models", "gpu_counts", "reservations"):
            if not getattr(self, field):
                raise EstimationError("the grid", field, [], "at least one")
        if self.cells > MOST_CELLS:
            raise EstimationError("the grid", "cells", self.cells, f"at most {MOST_CELLS}")

    @property
    def cells(self) -> int:
        """How many settings there are."""
        return len(self.models) * len(self.gpu_counts) * len(self.reservations)


@dataclass(frozen=True)
class Said:
    """One method's answer in a cell: a prediction, or why there is none."""

    method: str
    prediction: Prediction | None
    refused: str


@dataclass(frozen=True)
class Cell:
    """One setting of the grid.

    Attributes:
        rollout_tp_size: as asked, or the largest size that divides both it and the GPU count.
        outside: volumes beyond what the pool measured; None for a shape that can't exist.
        refused: why the shape can't exist; empty if it can.
    """

    model_id: str
    gpu_count: int
    reservation: float
    rollout_tp_size: int
    outside: int | None
    said: tuple[Said, ...]
    refused: str


def grid(
    methods: Sequence[Respondent], pool: Pool, features: Sequence[str], settings: Settings, axes: Axes
) -> Iterator[Cell]:
    """Every cell: models, in each the GPU counts, in each the reservations."""
    measured = feature_matrix(pool.configurations, features)
    lowest, highest = measured.min(axis=0), measured.max(axis=0)
    for model in axes.models:
        for gpu_count in axes.gpu_counts:
            size = math.gcd(settings.rollout_tp_size, gpu_count)
            for share in axes.reservations:
                own = replace(
                    settings, model_id=model.model_id, gpu_count=gpu_count, rollout_tp_size=size,
                    vllm_gpu_memory_utilization=share,
                )  # fmt: skip
                target = Target(own, model)
                try:
                    volumes = feature_matrix([target], features)[0]
                except EstimationError as error:
                    yield Cell(model.model_id, gpu_count, share, size, None, (), str(error))
                    continue
                outside = int(((volumes < lowest) | (volumes > highest)).sum())
                said = tuple(Said(item.method.name, *item.predict(target)) for item in methods)
                yield Cell(model.model_id, gpu_count, share, size, outside, said, "")
