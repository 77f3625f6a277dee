"""How often a slot may be tried. The only place where that is decided; labels, hosts and pages all ask it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_whole

PROTOCOL_KEYS = ("resource_cap", "launches_per_slot")
"""The keys of a protocol that the rule reads."""


@dataclass(frozen=True)
class SlotTries:
    """A protocol's rule for one slot.

    Attributes:
        permitted: attempts of one slot that may count, in the order in which they were recorded; None
            without a limit.
        never_launched_uses_one: whether a claim that never became an invocation uses up one of them.
    """

    permitted: int | None = None
    never_launched_uses_one: bool = False

    def used(self, attempts: int, *, never_launched: bool) -> int:
        """How many tries are spent after so many attempts, entries that a later one corrects left out."""
        return attempts + (never_launched and self.never_launched_uses_one)

    def permits(self, number: int) -> bool:
        """Whether the try with this number, from 1, may count."""
        return self.permitted is None or number <= self.permitted

    def left(self, used: int) -> int | None:
        """How many more may count after so many; None without a limit."""
        return None if self.permitted is None else max(self.permitted - used, 0)


def slot_tries(protocol: Mapping[str, object]) -> SlotTries:
    """The rule that a protocol states.

    ``resource_cap.retries`` is how many attempts may follow the first one. ``launches_per_slot`` is the same
    rule counted from one, for a protocol without the former. ``resource_cap.requeue`` false says that a
    claim is spent even if nothing was launched; otherwise the slot may still be launched.

    Raises:
        EstimationError: a number that is none or out of range, a flag that is none, or two numbers that
            contradict each other.
    """
    cap = protocol.get("resource_cap")
    cap = cap if isinstance(cap, Mapping) else {}
    retries, requeue = cap.get("retries"), cap.get("requeue")
    permitted = None if retries is None else 1 + require_whole(retries, "protocol", "resource_cap.retries", 0)
    launches = protocol.get("launches_per_slot")
    if launches is not None:
        stated = require_whole(launches, "protocol", "launches_per_slot", 1)
        if permitted is not None and stated != permitted:
            raise EstimationError(
                "protocol",
                "launches_per_slot",
                launches,
                f"{permitted}, because resource_cap.retries is {retries}; or leave it out",
            )
        permitted = stated
    if requeue is not None and not isinstance(requeue, bool):
        raise EstimationError("protocol", "resource_cap.requeue", requeue, "true or false")
    return SlotTries(permitted, never_launched_uses_one=requeue is False)
