"""Excluding an attempt and lifting that again: each is a record of its own that points at the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from rlvram_site.ledger.chain import lock_stream, record
from studies.models import Attempt, Exclusion
from studies.services.errors import ServiceError, UploadProblem, UploadRefused
from studies.services.outcomes.attempts import (
    PLAIN_COLUMNS,
    AttemptUpload,
    declaration_problems,
    record_attempts,
)
from studies.services.outcomes.slots import newest_exclusion, standing_exclusion


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


def exclusion_problem(attempt: Attempt, *, lifted: bool) -> str:
    """Why an exclusion, or the lifting of one, can't be recorded now; empty if it can."""
    return _problem(attempt, newest_exclusion(_said_of(attempt)), lifted)


def _problem(attempt: Attempt, newest: Exclusion | None, lifted: bool) -> str:
    standing = standing_exclusion([newest] if newest else [])
    if lifted and standing is None:
        return f"{attempt} is not excluded, so there is nothing to lift"
    if not lifted and standing is not None:
        return f"{attempt} is already excluded ({standing.reason}), expected it to be lifted first"
    return ""


def _said_of(attempt: Attempt) -> QuerySet[Exclusion]:
    """Everything recorded about whether the attempt counts, also of the entries that it supersedes."""
    chain: list[Attempt] = []
    entry: Attempt | None = attempt
    while entry is not None:
        chain.append(entry)
        entry = entry.supersedes
    return Exclusion.objects.filter(attempt__in=chain)


def _record(attempt: Attempt, reason: str, author: str, *, lifted: bool) -> tuple[Exclusion, bool]:
    with transaction.atomic():
        lock_stream(attempt.study.stream)
        newest = newest_exclusion(_said_of(attempt))
        if newest is not None and newest.lifted == lifted and newest.reason == reason:
            return newest, False
        if problem := _problem(attempt, newest, lifted):
            raise ExclusionConflict(problem)
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


_KEPT = ("started_at", "ended_at", "exit_code", "job_id", "execution_commit", *PLAIN_COLUMNS)


def correct_attempt(
    wrong: Attempt, *, invocation_id: str, declared: Mapping[str, Any], reason: str
) -> Attempt:
    """Record a declared outcome that supersedes ``wrong``; times, device seconds and facts are taken over.

    ``declared`` is as in an upload: outcome, source, and diagnosis, reason, peak_mib (MiB) where they apply.
    Raises ``UploadRefused`` by field for an outcome that can't be declared or a place that can't be taken.
    """
    if problems := declaration_problems(declared):
        raise UploadRefused([UploadProblem(0, name, text) for name, text in problems.items()])
    values: dict[str, Any] = {
        name: value for name in _KEPT if (value := getattr(wrong, name)) not in (None, "")
    }
    if wrong.exit_signal is not None:
        values["signal"] = wrong.exit_signal
    if slot := wrong.slot.experiment_id if wrong.slot else wrong.slot_name:
        values["slot"] = slot
        if wrong.slot is None:
            values["unplanned"] = True
    values |= {
        "invocation_id": invocation_id, "facts": wrong.facts, "declared": dict(declared),
        "supersedes": wrong.invocation_id, "supersedes_reason": reason,
    }  # fmt: skip
    recorded = record_attempts(wrong.study, [AttemptUpload(values)])[0]
    return recorded.row or Attempt.objects.get(pk=recorded.attempt_id)
