"""What a prediction and what is known of its target say together."""

from __future__ import annotations

from studies.estimation.labels import UNDECIDED, Label, Resolution, is_unscored_approval


def cell_state(predicted: str, resolution: Resolution) -> str:
    """What a prediction and what is known of its target say together: a key of ``MARKS``."""
    if predicted == UNDECIDED:
        if resolution.label is None:
            return "undecided_unscored"
        return "undecided_usable" if resolution.label is Label.WITHIN_MARGIN else "undecided_other"
    approves = Label(predicted).approves
    if is_unscored_approval(approves, resolution):
        if resolution.known_memory_failure:
            return "approved_unscored_known_failure"
        if resolution.known_margin_exceedance:
            return "approved_unscored_known_exceedance"
        return "approved_unscored"
    if resolution.label is None:
        return "rejected_unscored"
    usable = resolution.label is Label.WITHIN_MARGIN
    if not approves:
        return "rejected_usable" if usable else "rejected_rightly"
    if usable:
        return "useful"
    return "approved_failed" if resolution.label is Label.MEMORY_FAILURE else "approved_above_margin"
