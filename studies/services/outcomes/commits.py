"""Attempts by the commit that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.fields.json import KT

from studies.models import Attempt, Study
from studies.services.outcomes.slots import AttemptRole, attempt_states
from studies.services.outcomes.verdict import GRAVITY, state_of

CURRENT = Q(superseded_by__isnull=True)


def commits_of(study: Study) -> QuerySet[Any, Any]:
    """Each commit with its repository, how its attempts ended, and the time of the last; newest first."""
    named = Attempt.objects.filter(CURRENT, study=study).exclude(execution_commit="")
    return (
        named.order_by()
        .values("execution_commit", repository=KT("facts__repository"))
        .annotate(
            attempts=Count("pk"),
            **{
                kind: Count("pk", filter=Q(outcome=kind))
                for kind in ("completed", "memory_failure", "unresolved")
            },
            last=Max("recorded_at"),
            newest=Max("pk"),
        )
        .order_by("-newest")
    )


def attempts_of(study: Study, commit: str) -> QuerySet[Attempt]:
    """The attempts of one commit, newest first."""
    light = Attempt.objects.defer("evidence", "derivation", "texts")
    rows = light.filter(study=study, execution_commit=commit).select_related("slot__configuration")
    return rows.order_by("-pk")


@dataclass(frozen=True)
class Status:
    """How a commit stands: its gravest state that counts, and how many attempts it has."""

    commit: str
    state: str
    attempts: int


MOST_JUDGED = 200


def status_of(study: Study, commit: str = "") -> Status | None:
    """How a commit, by default the newest, stands; None without any attempt of it.

    Unresolved only if nothing else is known. An excluded attempt says nothing.
    """
    if not commit:
        newest = commits_of(study).first()
        if newest is None:
            return None
        commit = newest["execution_commit"]
    rows = list(attempts_of(study, commit)[:MOST_JUDGED])
    if not rows:
        return None
    states = attempt_states(rows)
    counted = [
        row
        for row in rows
        if states[row.pk].exclusion is None and states[row.pk].role != AttemptRole.SUPERSEDED
    ]
    found = {state_of(row) for row in counted}
    known = [state for state in found if state in GRAVITY]
    return Status(commit, max(known, key=GRAVITY.__getitem__) if known else "unresolved", len(rows))
