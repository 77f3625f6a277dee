"""What is known of an unresolved configuration already, and what it can no longer become."""

from __future__ import annotations

from studies.estimation.labels import Label, Resolution, SlotOutcome, exceeds_margin
from studies.text.words import count_word, counted, label_words, listed


def known_already(outcomes: list[SlotOutcome], margin_mib: float) -> str:
    """``two failures known``, counted over the slots; empty when no slot established anything bad."""
    failures = sum(outcome.kind == "memory_failure" for outcome in outcomes)
    above = sum(
        outcome.peak_mib is not None and exceeds_margin(outcome.peak_mib, margin_mib) for outcome in outcomes
    )
    parts = [counted(failures, "failure")] if failures else []
    if above:
        parts.append(counted(above, "peak above the margin", "peaks above the margin"))
    return f"{listed(parts)} known" if parts else ""


def can_only_become(resolution: Resolution) -> str:
    """``can only become a memory failure``; empty while every label is still possible."""
    if len(resolution.possible) == len(Label):
        return ""
    names = [_with_article(label) for label in resolution.possible]
    return f"can only become {' or '.join(names)}"


def _with_article(label: Label) -> str:
    words = label_words(label)
    return f"a {words}" if label is Label.MEMORY_FAILURE else words


def certain_sentence(failing: int, exceeding: int, total: int) -> str:
    """What is certain of ``total`` unscored approvals: ``failing`` have a known failure, ``exceeding`` no
    failure and a peak above the margin. Empty when nothing is."""
    if not failing + exceeding:
        return ""
    parts = []
    if failing:
        failed = "a memory failure" if failing == 1 else "memory failures"
        parts.append(f"{count_word(failing)} can only become {failed}")
    if exceeding:
        parts.append(f"{count_word(exceeding)} can only end above the margin or as a memory failure")
    left = total - failing - exceeding
    rest = f"; of the other {count_word(left)} nothing is known" if left else ""
    return (
        f"Certain already: of these {count_word(total)} {listed(parts)}, so none of those can become a "
        f"useful approval{rest}."
    )
