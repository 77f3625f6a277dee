"""Correcting a wrong entry by hand: a declared outcome in its place, with what was right about it kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studies.models import Attempt
from studies.services.attempts import PLAIN_COLUMNS, AttemptUpload, Problem, UploadRefused, record_attempts
from studies.services.declarations import declaration_problems

_KEPT = ("started_at", "ended_at", "exit_code", "job_id", "execution_commit", *PLAIN_COLUMNS)


def correct_attempt(
    wrong: Attempt, *, invocation_id: str, declared: Mapping[str, Any], reason: str
) -> Attempt:
    """Record a declared outcome that supersedes ``wrong``; times, device seconds and facts are taken over.

    ``declared`` is as in an upload: outcome, source, and diagnosis, reason, peak_mib (MiB) where they apply.
    Raises ``UploadRefused`` by field for an outcome that can't be declared or a place that can't be taken.
    """
    if problems := declaration_problems(declared):
        raise UploadRefused([Problem(0, name, text) for name, text in problems.items()])
    values: dict[str, Any] = {
        name: value for name in _KEPT if (value := getattr(wrong, name)) not in (None, "")
    }
    if wrong.exit_signal is not None:
        values["signal"] = wrong.exit_signal
    if slot := wrong.slot.experiment_id if wrong.slot else wrong.slot_name:
        values["slot"] = slot
    values |= {
        "invocation_id": invocation_id, "facts": wrong.facts, "declared": dict(declared),
        "supersedes": wrong.invocation_id, "supersedes_reason": reason,
    }  # fmt: skip
    recorded = record_attempts(wrong.study, [AttemptUpload(values)])[0]
    return recorded.row or Attempt.objects.get(pk=recorded.attempt_id)
