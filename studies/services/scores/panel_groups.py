"""A large panel by group: workload, level and GPU count, the largest groups first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, Sum

from rlvram_site.marks import MARKS, UNSCORED_APPROVALS
from studies.models import GroupCount
from studies.services.scores.panel_lines import PanelNumbers

KEY = ("workload_id", "level", "gpu_count")
MOST_CELLS = 300
"""A panel of more cells is shown by group."""


@dataclass
class PanelGroup:
    """One group. ``observed`` counts its configurations by label or unresolved, ``cells`` by method and
    state."""

    workload_id: str
    workload_name: str
    level: str
    gpu_count: int
    observed: Counter[str] = field(default_factory=Counter)
    cells: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.observed.total()

    @property
    def words(self) -> str:
        """``Workload · level · 4 GPUs``."""
        gpus = "GPU" if self.gpu_count == 1 else "GPUs"
        return f"{self.workload_name} · {self.level} · {self.gpu_count} {gpus}"

    @property
    def approvals(self) -> list[tuple[str, str]]:
        """By method what it approves: ``12: 3 useful, 5 failed``."""
        return [(method, _approved(counts)) for method, counts in self.cells.items()]

    @property
    def query(self) -> str:
        """What narrows the list of configurations to this group."""
        return urlencode({"workload": self.workload_id, "level": self.level, "gpus": self.gpu_count})


APPROVED = ("useful", "approved_above_margin", "approved_failed", *UNSCORED_APPROVALS)


def _approved(counts: Counter[str]) -> str:
    total = sum(counts[state] for state in APPROVED)
    parts = [f"{counts[state]} {MARKS[state].short}" for state in APPROVED if counts[state]]
    return f"{total}: {', '.join(parts)}" if total else "none"


def is_large(panel: PanelNumbers) -> bool:
    """Whether the panel has too many cells to show each."""
    return panel.planned * max(1, len(panel.methods)) > MOST_CELLS


def group_names(panel: PanelNumbers) -> QuerySet:
    """Workload, level and GPU count of each group with its number of configurations, counted by the database.

    The largest first, then in the panel's order.
    """
    observed = GroupCount.objects.filter(study=panel.study, prediction_set=None)
    totals = observed.values(*KEY).annotate(total=Sum("number"))
    return totals.order_by("-total", *KEY)


def groups_called(panel: PanelNumbers, names: Iterable[Mapping[str, Any]]) -> list[PanelGroup]:
    """These groups of the panel, in the order of ``names``; only their counts are read."""
    keys = [tuple(name[column] for column in KEY) for name in names]
    if not keys:
        return []
    chosen = reduce(or_, (Q(**dict(zip(KEY, key, strict=True))) for key in keys))
    own = Q(prediction_set=None) | Q(prediction_set=panel.prediction_set)
    found: dict[tuple, PanelGroup] = {}
    for row in GroupCount.objects.filter(own, chosen, study=panel.study).order_by("pk"):
        key = (row.workload_id, row.level, row.gpu_count)
        group = found.setdefault(
            key, PanelGroup(row.workload_id, row.workload_name, row.level, row.gpu_count)
        )
        counts = group.cells.setdefault(row.method, Counter()) if row.method else group.observed
        counts[row.state] += row.number
    for group in found.values():
        group.cells = {method: group.cells[method] for method in panel.methods if method in group.cells}
    return [found[key] for key in keys if key in found]
