"""The sentences that open the pages of single records, and the words for volumes. Nothing is decided here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rlvram_site.marks import MARKS
from rlvram_site.templatetags.display import mib_margin
from studies.estimation.labels import Label, Resolution
from studies.models import Configuration, PoolOutcome
from studies.services.panel import Panel, PanelRow
from studies.words import count_word, counted, label_words, listed, method_words, sentence

_FEATURES = {
    "actor_shards_gib": "actor shards",
    "adapter_optimizer_gib": "adapter and optimizer",
    "generation_budget_gib": "generation budget",
    "generation_replica_gib": "generation replica",
    "largest_unit_proxy_gib": "largest unit",
    "checkpoint_boundary_volume_gib": "checkpoint boundaries",
    "vocabulary_output_volume_gib": "vocabulary output",
    "resident_actor_shards_gib": "resident actor shards",
}


def feature_words(name: str) -> str:
    """A volume's protocol name in words; an unknown name without its underscores."""
    return _FEATURES.get(name, name.replace("_", " "))


def planned_sentence(row: PanelRow) -> str:
    """What a planned configuration's slots established, and what each method's word on it was worth."""
    return f"{_resolution_clause(row.resolution, row.configuration)} {_methods_clause(row.cells)}".strip()


def _resolution_clause(resolution: Resolution, configuration: Configuration) -> str:
    planned = len(resolution.planned_seeds)
    if resolution.label is None:
        missing = len(resolution.unresolved_seeds)
        known = []
        if resolution.known_memory_failure:
            known.append("a memory failure is already known")
        if resolution.known_margin_exceedance:
            known.append("a peak above the margin is already known")
        tail = f", though {listed(known)}" if known else ""
        return f"Unresolved: {_share(missing, planned)} established nothing{tail}."
    word = sentence(label_words(resolution.label))
    if resolution.label is Label.MEMORY_FAILURE:
        failed = planned - resolution.completed_processes
        return f"{word}: {_share(failed, planned)} ended in a diagnosed memory failure."
    peak = _peak(resolution.completed_peak_mib, configuration)
    return f"{word}: all slots completed, the largest peak {peak}."


def _share(part: int, whole: int) -> str:
    """``all three slots``, ``two of three slots``."""
    return (
        f"all {count_word(whole)} slots"
        if part == whole
        else f"{count_word(part)} of {count_word(whole)} slots"
    )


def _peak(peak_mib: float | None, configuration: Configuration) -> str:
    return (
        f"{mib_margin(peak_mib, configuration.margin_limit_mib)} the margin"
        if peak_mib is not None
        else "unknown"
    )


def _methods_clause(cells: Mapping[str, str]) -> str:
    by_state: dict[str, list[str]] = {}
    for method, state in cells.items():
        by_state.setdefault(state, []).append(method_words(method))
    return " ".join(f"{sentence(listed(names))}: {MARKS[state].word}." for state, names in by_state.items())


def pool_sentence(configuration: Configuration, outcome: PoolOutcome | None) -> str:
    """What was measured of a pool configuration."""
    if outcome is None:
        return "Nothing is recorded about what was measured here."
    word = sentence(outcome.get_observed_state_display())
    counts = (
        f"{outcome.completed_eligible_processes} of {outcome.eligible_processes} eligible processes completed"
    )
    peak = outcome.max_completed_run_peak_mib
    if peak is None:
        return f"{word}: {counts}; there is no completed peak."
    return f"{word}: {counts}, the largest peak {_peak(peak, configuration)}."


def outcomes_sentence(panel: Panel) -> str:
    """What became of the planned slots: outcomes first, then why the others are unresolved."""
    slots = panel.slots
    if not slots:
        return "No seed slot is planned yet."
    states = Counter(slot.state(panel.margin_mib) for slot in slots)
    reasons = Counter(slot.reason for slot in slots if not slot.resolved)
    completed = states["within_margin"] + states["above_margin"]
    established = [
        counted(states["memory_failure"], "diagnosed memory failure"),
        f"{count_word(completed)} completed" if completed else "no completion",
    ]
    opening = f"Of {len(slots)} planned slots {_launched(panel)} were launched: {listed(established)}"
    if not reasons:
        return f"{opening}; none is unresolved."
    verb = "is" if reasons.total() == 1 else "are"
    why = ", ".join(f"{number} × {reason}" for reason, number in reasons.most_common())
    return f"{opening}; {reasons.total()} {verb} unresolved: {why}."


def _launched(panel: Panel) -> int:
    return sum(bool(slot.attempts) for slot in panel.slots)
