"""Which of the site's marks an approval or rejection gets, from what is known of its target."""

from __future__ import annotations

from studies.estimation.labels import Label, Resolution


def approval_state(approves: bool, resolution: Resolution) -> str:
    """A key of ``rlvram_site.marks.MARKS``.

    An approval of an unresolved target is never a success; a failure or an exceedance already known of it
    is part of the state. A failure goes before an exceedance.
    """
    if resolution.label is None:
        if not approves:
            return "rejected_unscored"
        if resolution.known_memory_failure:
            return "approved_unscored_known_failure"
        if resolution.known_margin_exceedance:
            return "approved_unscored_known_exceedance"
        return "approved_unscored"
    if not approves:
        return "rejected_usable" if resolution.label is Label.WITHIN_MARGIN else "rejected_rightly"
    return {
        Label.WITHIN_MARGIN: "useful",
        Label.ABOVE_MARGIN: "approved_above_margin",
        Label.MEMORY_FAILURE: "approved_failed",
    }[resolution.label]
