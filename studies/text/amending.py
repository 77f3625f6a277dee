"""What the word for an amendment follows from, and what would have made it another."""

from __future__ import annotations

from studies.services.plan.amendments import AmendmentEffect, AmendmentWord


def what_decides(change: AmendmentEffect) -> str:
    """Where in the ledger it stands, and from which place on it would have been a deviation."""
    here = f"it is record {change.place} of this study's ledger"
    if change.first_outcome is None:
        return f"{here}, and no outcome of a target is recorded yet. After one it would be a deviation."
    first = (
        "the first outcome of a target, a completed run or a diagnosed memory failure, is record "
        f"{change.first_outcome}"
    )
    if change.word is AmendmentWord.DEVIATION:
        return (
            f"{here}; {first}. It came after, so it is one. Recorded before, it would have been an amendment."
        )
    launch = f"the first launch is record {change.first_launch}, " if change.first_launch is not None else ""
    return (
        f"{here}, {launch}{first}. After record {change.first_outcome} the same change would have been a "
        "deviation, whatever date it gave itself."
    )
