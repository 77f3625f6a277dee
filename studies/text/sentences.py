"""The sentences that open the pages, computed from evaluations. Nothing here decides a score.

``evaluation`` is what ``studies.estimation.panel.evaluate_panel`` returns, ``scores`` what
``studies.estimation.scoring.score`` returns, both under the archive's key names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlvram_site.marks import MARKS
from rlvram_site.templatetags.display import mib_margin
from studies.estimation.labels import UNRESOLVED, Label, Resolution
from studies.models import Configuration, PoolOutcome
from studies.services.scores.panel import PanelRow
from studies.services.scores.panel_lines import SlotNumbers
from studies.text.words import (
    count_word,
    counted,
    family_words,
    label_adjective,
    label_words,
    listed,
    method_words,
    sentence,
)

_PLURAL_LABELS = {
    "within_margin": "within margin",
    "above_margin": "above margin",
    "memory_failure": "memory failures",
}


def panel_sentence(evaluation: Mapping[str, Any]) -> str:
    """What is resolved, what the methods could show on it, and who approved how much."""
    planned, resolved = evaluation["planned_configurations"], evaluation["resolved_configurations"]
    if not planned:
        return "No configuration is planned yet."
    labels = _label_counts(evaluation)
    if not resolved:
        opening = (
            f"None of the {count_word(planned)} planned configurations is resolved, so nothing is scored yet"
        )
    else:
        verb = "is" if resolved == 1 else "are"
        found = _found(labels, resolved)
        opening = f"{count_word(resolved)} of {count_word(planned)} configurations {verb} resolved, {found}"
        if not labels.get("within_margin"):
            opening += ", so no method could show a useful approval here"
    return f"{sentence(opening)}; {_approvals_clause(evaluation)}."


def _label_counts(evaluation: Mapping[str, Any]) -> dict[str, int]:
    """Resolved configurations by label. All methods have the same targets, so the first one says it."""
    for scores in evaluation["resolved_subset_metrics"].values():
        return {label: scores[f"target_{label}"] for label in _PLURAL_LABELS if scores[f"target_{label}"]}
    return {}


def _found(labels: Mapping[str, int], resolved: int) -> str:
    if len(labels) == 1:
        label = next(iter(labels))
        if resolved == 1:
            return f"a {label_words(label)}" if label == "memory_failure" else label_words(label)
        return f"all of them {_PLURAL_LABELS[label]}"
    return listed([f"{count_word(number)} {_PLURAL_LABELS[label] if number > 1 else label_words(label)}"
                   for label, number in labels.items()])  # fmt: skip


def _approvals_clause(evaluation: Mapping[str, Any]) -> str:
    """Who approved how many of all planned configurations, with the useful ones where there are any."""
    planned = evaluation["planned_configurations"]
    by_text: dict[str, list[str]] = {}
    for method, approvals in evaluation["approvals"].items():
        scores = evaluation["resolved_subset_metrics"].get(method, {})
        text = _approved_text(approvals, scores, planned)
        by_text.setdefault(text, []).append(method_words(method))
    if not by_text:
        return "no method has predicted anything"
    some = [(text, names) for text, names in by_text.items() if text != "none"]
    none = by_text.get("none", [])
    if not some:
        return f"{listed(none)} approved none of them"
    clauses = [f"{listed(names)} approved {text}" for text, names in some]
    if none:
        clauses.append(f"{listed(none)} none")
    return listed(clauses) if len(clauses) < 3 else ", ".join(clauses)


def _approved_text(approvals: Mapping[str, Any], scores: Mapping[str, Any], planned: int) -> str:
    approved, unscored = (
        approvals["full_panel_approved_configurations"],
        approvals["unscored_approved_configurations"],
    )
    if not approved:
        return "none"
    amount = f"all {count_word(planned)}" if approved == planned and planned > 1 else count_word(approved)
    parts = []
    if scores.get("approved_within_margin"):
        parts.append(f"{count_word(scores['approved_within_margin'])} useful")
    if scores.get("approved_above_margin"):
        parts.append(f"{count_word(scores['approved_above_margin'])} above margin")
    if scores.get("approved_memory_failure"):
        parts.append(f"{count_word(scores['approved_memory_failure'])} failed")
    if unscored:
        parts.append(f"{'all' if unscored == approved and approved > 1 else count_word(unscored)} unscored")
    return f"{amount} ({', '.join(parts)})" if parts else amount


def unscored_sentence(evaluation: Mapping[str, Any]) -> str:
    """How many approvals of each method are unscored, and of how many a failure is already known."""
    sentences = []
    for method, approvals in evaluation["approvals"].items():
        number = approvals["unscored_approved_configurations"]
        if not number:
            continue
        known = []
        failures = _number(approvals["unscored_approvals_with_known_failure"])
        exceedances = _number(approvals["unscored_approvals_with_known_margin_exceedance"])
        if failures:
            known.append(_known(failures, number, "failure"))
        if exceedances:
            known.append(_known(exceedances, number, "peak above the margin"))
        tail = f"; {listed(known)}" if known else ", none with a known failure"
        sentences.append(
            f"{sentence(method_words(method))} has {counted(number, 'unscored approval')}{tail}."
        )
    if sentences:
        return " ".join(sentences)
    if not any(item["full_panel_approved_configurations"] for item in evaluation["approvals"].values()):
        return "No method approved anything, so no approval is unscored."
    return "Every approval is scored: each approved configuration is resolved."


def _number(found: int | Collection[str]) -> int:
    """How many there are; an evaluation names them, a page's counts don't."""
    return found if isinstance(found, int) else len(found)


def _known(number: int, total: int, what: str) -> str:
    if number == total == 1:
        return f"a {what} is already known of it"
    return f"{count_word(number)} already {'has' if number == 1 else 'have'} a known {what}"


@dataclass(frozen=True)
class ErrorPattern:
    """The largest error of one method in one held-out family.

    ``kind`` is a key of ``rlvram_site.marks.MARKS``; ``of`` counts the family's configurations that could
    have gone wrong in this way.
    """

    method: str
    family: str
    kind: str
    count: int
    of: int
    text: str


_ERRORS = (
    ("approved_failed", "approved_memory_failure", "memory_failure", "approves"),
    ("approved_above_margin", "approved_above_margin", "above_margin", "approves"),
    ("rejected_usable", "rejected_within_margin", "within_margin", "rejects"),
)


def error_patterns(folds: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[ErrorPattern]:
    """Where each method errs most: its largest count of one error in one held-out family, if it errs at all.

    ``folds`` is scores by family and method. Counts of different families are compared, never added.
    """
    found: dict[str, ErrorPattern] = {}
    for kind, key, label, verb in _ERRORS:
        for family, by_method in folds.items():
            for method, scores in by_method.items():
                count, of = scores[key], scores[f"target_{label}"]
                if count and (method not in found or count > found[method].count):
                    noun = "setting" if kind == "rejected_usable" else "configuration"
                    things = (
                        f"{label_adjective(label)} {family_words(family)} {noun}{'' if count == 1 else 's'}"
                    )
                    text = f"{method_words(method)} {verb} {count_word(count)} {things} ({count} of {of})."
                    found[method] = ErrorPattern(method, family, kind, count, of, sentence(text))
    order = next(iter(folds.values()), {})
    return [found[method] for method in order if method in found]


_AMENDMENTS = {
    "amendment": ("amendment before launch", "amendments before launch"),
    "amendment after launch": ("amendment after launch", "amendments after launch"),
    "deviation": ("deviation", "deviations"),
}


def amendments_text(words: Iterable[str]) -> str:
    """``1 amendment before launch``; each derived word with its own count."""
    numbers = Counter(words)
    parts = [
        f"{numbers[word]} {names[numbers[word] > 1]}" for word, names in _AMENDMENTS.items() if numbers[word]
    ]
    return ", ".join(parts) or "no amendment"


def changes_sentence(studies: int, new: int, visited: bool, full: bool = False) -> str:
    """How many studies there are, what is new since the last visit; ``full``: more is new than is listed."""
    if not visited:
        if not studies and not new:
            return "Nothing is recorded on this site yet."
        if not studies:
            return "No study is recorded here yet."
        return f"{sentence(counted(studies, 'study', 'studies'))} recorded here, each counted on its own."
    if not new:
        return "Nothing was recorded since your last visit."
    return f"{sentence(counted(new, 'change'))}{' or more' if full else ''} since your last visit."


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


MOST_REASONS = 12


def outcomes_sentence(slots: Sequence[SlotNumbers]) -> str:
    """What became of the planned slots: outcomes first, then why the others are unresolved."""
    if not slots:
        return "No seed slot is planned yet."
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for item in slots:
        states[item.state] += item.number
        if item.state == UNRESOLVED:
            reasons[item.reason] += item.number
    launched = sum(item.number for item in slots if item.launched)
    completed = states["within_margin"] + states["above_margin"]
    established = [
        counted(states["memory_failure"], "diagnosed memory failure"),
        f"{count_word(completed)} completed" if completed else "no completion",
    ]
    opening = f"Of {states.total()} planned slots {launched} were launched: {listed(established)}"
    if not reasons:
        return f"{opening}; none is unresolved."
    verb = "is" if reasons.total() == 1 else "are"
    shown = reasons.most_common(MOST_REASONS)
    why = ", ".join(f"{number} × {reason.rstrip('.')}" for reason, number in shown)
    if left := reasons.total() - sum(number for _, number in shown):
        why += f", {left} × another reason"
    return f"{opening}; {reasons.total()} {verb} unresolved: {why}."
