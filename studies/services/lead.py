"""How long before the first launch a study was sealed, and whose clocks say so."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from studies.models import Allocation, Attempt, Seal, Study
from studies.services.whose_word import Word, seal_word


@dataclass(frozen=True)
class Lead:
    """The seal's time and that of the first launch.

    Attributes:
        sealed_at: as the seal states it.
        word: whose word that is.
        launched_at: the earliest start that a record of this study states.
        launch: what states it: a scheduler's allocation, or an attempt.
    """

    sealed_at: dt.datetime
    word: Word
    launched_at: dt.datetime
    launch: Allocation | Attempt

    @property
    def between(self) -> dt.timedelta:
        """From the seal to the launch; negative where the clocks say that the launch came first."""
        return self.launched_at - self.sealed_at

    @property
    def before(self) -> bool:
        """Whether the seal came first by these clocks."""
        return self.between >= dt.timedelta(0)

    @property
    def length(self) -> str:
        """``20 min 22 s``, whichever came first."""
        return duration(abs(self.between))

    @property
    def launch_words(self) -> str:
        """Which launch it was."""
        if isinstance(self.launch, Allocation):
            return f"job {self.launch.job_id}"
        return self.launch.invocation_id

    @property
    def launch_clock(self) -> str:
        """Whose clock timed the launch."""
        if isinstance(self.launch, Allocation):
            return "the scheduler's, in its record of that job"
        return "that of the host it ran on, in the attempt's own record"

    @property
    def seal_clock(self) -> str:
        """Whose clock timed the seal."""
        return "this site's" if self.word.checked else f"its source's ({self.word.source})"


def duration(length: dt.timedelta) -> str:
    """``20 min 22 s``, ``3 d 4 h``: the two largest units, what is left over cut off."""
    seconds = int(length.total_seconds())
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        number, seconds = divmod(seconds, size)
        if number or (parts and len(parts) < 2) or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def lead(study: Study, seal: Seal | None) -> Lead | None:
    """The lead of a seal over the study's first launch; None without a seal or a launch with a time.

    An allocation's start is the scheduler's clock, an attempt's that of its host; the earlier one counts.
    """
    if seal is None:
        return None
    started: list[Allocation | Attempt | None] = [
        Allocation.objects.filter(study=study, started_at__isnull=False).order_by("started_at", "pk").first(),
        Attempt.objects.filter(study=study, started_at__isnull=False).order_by("started_at", "pk").first(),
    ]
    launches = {row.started_at: row for row in started if row is not None and row.started_at is not None}
    if not launches:
        return None
    at = min(launches)
    return Lead(seal.sealed_at, seal_word(seal), at, launches[at])
