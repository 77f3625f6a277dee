"""A large panel by group: workload, level and GPU count, the largest groups first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlencode

from rlvram_site.marks import MARKS, UNSCORED_APPROVALS
from studies.services.scores.panel_lines import PanelNumbers

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


def panel_groups(panel: PanelNumbers) -> list[PanelGroup]:
    """The panel's groups, the largest first, then in the panel's order."""
    found: dict[tuple[str, str, int], PanelGroup] = {}
    for row in panel.groups:
        key = (row.workload_id, row.level, row.gpu_count)
        group = found.setdefault(
            key, PanelGroup(row.workload_id, row.workload_name, row.level, row.gpu_count)
        )
        counts = group.cells.setdefault(row.method, Counter()) if row.method else group.observed
        counts[row.state] += row.number
    for group in found.values():
        group.cells = {method: group.cells[method] for method in panel.methods if method in group.cells}
    return [group for _, group in sorted(found.items(), key=lambda item: (-item[1].total, item[0]))]
