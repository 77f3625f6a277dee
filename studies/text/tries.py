"""How often a slot was tried, whether it may be tried again, and what would resolve a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from studies.services.outcomes.slots import SlotState
from studies.services.scores.panel import PanelRow
from studies.services.scores.panel_lines import PanelLine, SlotLine
from studies.text.words import count_word, counted, listed, sentence

OUTCOME_WANTED = "a completed run with its peak, or a diagnosed memory failure"


def tries_sentence(slot: SlotState) -> str:
    """``One of one permitted attempt is used, so nothing can resolve this slot any more.``"""
    permitted = slot.tries.permitted
    if permitted is None:
        used = f"{sentence(counted(slot.tries_used, 'attempt'))} so far, and the protocol sets no limit"
    else:
        verb = "is" if slot.tries_used == 1 else "are"
        chances = counted(permitted, "permitted attempt")
        used = f"{sentence(count_word(slot.tries_used))} of {chances} {verb} used"
    if slot.resolved:
        return f"{used}; the slot has its outcome, so no further one counts."
    if slot.one_more_may_count:
        return f"{used}, so one more may count."
    return f"{used}, so nothing can resolve this slot any more."


def what_would_resolve(row: PanelRow | PanelLine) -> str:
    """What would give an unresolved configuration its label, or why nothing can any more."""
    missing = row.unresolved_slots
    spent = [slot for slot in missing if not slot.one_more_may_count]
    if not spent:
        return f"{sentence(counted(len(missing), 'more eligible outcome'))}: {OUTCOME_WANTED}"
    permitted = spent[0].tries.permitted or 0
    chances = "the one attempt" if permitted == 1 else f"all {counted(permitted, 'attempt')}"
    return f"Nothing can resolve it any more: {_seeds(spent)} used {chances} that the protocol permits"


def _seeds(slots: Sequence[SlotState | SlotLine]) -> str:
    names = listed([str(slot.slot.seed) for slot in slots])
    return f"seed {names} has" if len(slots) == 1 else f"seeds {names} have each"
