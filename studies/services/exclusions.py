"""Excluding an attempt and lifting that again: each is a record of its own that points at the one before."""

from __future__ import annotations

from django.db import transaction

from rlvram_site.ledger.chain import lock_stream, record
from studies.models import Attempt, Exclusion
from studies.services.eligibility import standing_exclusion
from studies.services.errors import ServiceError


class ExclusionConflict(ServiceError):
    """The attempt is already in the wanted state for another reason; nothing was changed."""


def exclude(attempt: Attempt, *, reason: str, author: str) -> tuple[Exclusion, bool]:
    """The attempt no longer counts. The same reason again finds the same record: ``(exclusion, False)``.

    Raises ``ExclusionConflict`` if it is excluded for another reason.
    """
    return _record(attempt, reason, author, lifted=False)


def lift(attempt: Attempt, *, reason: str, author: str) -> tuple[Exclusion, bool]:
    """The attempt counts again. Raises ``ExclusionConflict`` if nothing stands against it."""
    return _record(attempt, reason, author, lifted=True)


def newest_exclusion(attempt: Attempt) -> Exclusion | None:
    """The newest record about whether the attempt counts, also if it was made of an entry it supersedes."""
    chain: list[Attempt] = []
    entry: Attempt | None = attempt
    while entry is not None:
        chain.append(entry)
        entry = entry.supersedes
    return Exclusion.objects.filter(attempt__in=chain).order_by("-pk").first()


def _record(attempt: Attempt, reason: str, author: str, *, lifted: bool) -> tuple[Exclusion, bool]:
    with transaction.atomic():
        lock_stream(attempt.study.stream)
        newest = newest_exclusion(attempt)
        standing = standing_exclusion([newest] if newest else [])
        if newest is not None and newest.lifted == lifted and newest.reason == reason:
            return newest, False
        if lifted and standing is None:
            raise ExclusionConflict(f"{attempt} is not excluded, so there is nothing to lift")
        if not lifted and standing is not None:
            raise ExclusionConflict(
                f"{attempt} is already excluded ({standing.reason}), expected it to be lifted first"
            )
        row = Exclusion(
            study=attempt.study,
            attempt=attempt,
            reason=reason,
            author=author,
            lifted=lifted,
            supersedes=newest,
        )
        record(row)
        return row, True
