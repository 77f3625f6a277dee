"""Keeping what was refused: whoever tries to change a study after the fact leaves a trace of it."""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.utils import timezone

from rlvram_site.ledger.chain import record
from studies.estimation.errors import EstimationError
from studies.models import Refusal, Study
from studies.services.errors import ServiceError

SAME = dt.timedelta(hours=1)
"""The same refusal within this time is the same attempt: a program that tries again."""

MOST_A_DAY = 200
"""Refusals of one study that are kept in 24 hours. More is a flood, and goes to the log alone."""

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")
_log = logging.getLogger(__name__)


def keep_refusal(study: Study, what: Refusal.What, reason: str) -> Refusal | None:
    """Record a refusal, unless it stands already or is one of too many; returns what was recorded."""
    now, reason = timezone.now(), reason[:500]
    recent = Refusal.objects.filter(study=study, recorded_at__gt=now - dt.timedelta(days=1))
    if recent.filter(what=what, reason=reason, recorded_at__gt=now - SAME).exists():
        return None
    if recent.count() >= MOST_A_DAY:
        _log.warning("refused in study %s, one of too many to keep: %s: %s", study.slug, what, reason)
        return None
    row = Refusal(study=study, what=what, reason=reason)
    record(row)
    return row


def refusals_kept(
    what: Refusal.What, *kinds: type[Exception]
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """For a service whose first argument is a study, or has one: what it refuses is kept, and raised again.

    ``kinds`` are the errors that count, by default whatever a person is told. The record stands outside the
    service's own transaction, which is rolled back; inside of a caller's it goes with that.
    """
    counted = kinds or (ServiceError, EstimationError)

    def decorate(service: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @functools.wraps(service)
        def kept(subject: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return service(subject, *args, **kwargs)
            except counted as error:
                of: Any = subject
                keep_refusal(of if isinstance(of, Study) else of.study, what, str(error))
                raise

        return kept

    return decorate
