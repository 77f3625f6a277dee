"""When something became known. Imported material keeps its stated times; what was recorded here has ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from functools import cached_property

from rlvram_site.ledger.models import LedgerRecord
from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Seal, Study


class KnownTimes:
    """Stated times of one study's rows, with its allocations loaded once.

    ``pairs`` are the only ones whose allocations are asked for; by default all.
    """

    def __init__(self, study: Study, pairs: Collection[str] | None = None) -> None:
        self._study = study
        allocations = Allocation.objects.filter(study=study).exclude(ended_at=None)
        if pairs is not None:
            allocations = allocations.filter(pair_id__in=pairs)
        self._ends = dict(allocations.values_list("pair_id", "ended_at"))

    @cached_property
    def _untimed(self) -> dict[int, dt.datetime]:
        """An event without a time stands where its source has it: after the event or seal before it."""
        study = self._study
        before = Protocol.objects.filter(study=study).values_list("frozen_at", flat=True).first()
        before = (
            Seal.objects.filter(study=study).values_list("sealed_at", flat=True).order_by("pk").first()
            or before
        )
        places = {}
        events = Event.objects.filter(study=study).order_by("position")
        for pk, ended_at, started_at in events.values_list("pk", "ended_at", "started_at"):
            stated = ended_at or started_at
            if stated is None and before is not None:
                places[pk] = before
            before = stated or before
        return places

    def at(self, row: LedgerRecord) -> dt.datetime:
        """The moment at which ``row`` became known.

        An attempt's own end, else the end of its pair's allocation; a protocol's, seal's or amendment's
        stated time; an event's end or start, or the place that its source gives it. Anything else counts from
        when it was recorded here, and so does a corrected entry: until then the wrong one was believed.
        """
        if (stated := self.stated(row)) is not None:
            return stated
        return (self._untimed.get(row.pk) if isinstance(row, Event) else None) or row.recorded_at

    def stated(self, row: LedgerRecord) -> dt.datetime | None:
        """The stated time alone; None where the source states none."""
        if isinstance(row, Attempt):
            if row.supersedes_id is not None:
                return None
            return row.ended_at or (self._ends.get(row.slot.pair_id) if row.slot else None) or row.started_at
        if isinstance(row, NonLaunch):
            return self._ends.get(row.slot.pair_id)
        if isinstance(row, Protocol):
            return row.frozen_at
        if isinstance(row, Amendment):
            return row.amended_at
        if isinstance(row, Seal):
            return row.sealed_at
        if isinstance(row, Event | Allocation):
            return row.ended_at or row.started_at
        if isinstance(row, Exclusion):
            return None
        raise TypeError(f"{type(row).__name__} has no moment")
