"""The daily walk over the whole ledger, and what it found."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable

from django.utils import timezone

from rlvram_site.ledger import triggers
from rlvram_site.ledger.chain import Head
from rlvram_site.ledger.models import LedgerCheck
from rlvram_site.ledger.verify import derived_problems, extends, unchained, verify_streams

_also: list[Callable[[], Iterable[str]]] = []
EVERY = dt.timedelta(days=1)


def check_also(check: Callable[[], Iterable[str]]) -> None:
    """Have the daily check ask ``check``, too, for sentences about what does not hold."""
    if check not in _also:
        _also.append(check)


def last_check() -> LedgerCheck | None:
    """The newest finished check."""
    return LedgerCheck.objects.order_by("-pk").first()


def check_is_due() -> bool:
    """True when no check was made within the last day."""
    last = last_check()
    return last is None or timezone.now() - last.finished_at >= EVERY


def check_ledger() -> LedgerCheck:
    """Walk every chain, compare with the heads of the check before, and keep the result.

    Comparing finds what a chain by itself cannot show: links cut off at its end.
    """
    started_at = timezone.now()
    before = last_check()
    reports = list(verify_streams())
    problems = [f"{report.head.stream}: {report.problem}" for report in reports if not report.ok]
    problems += [f"guard: {problem}" for problem in triggers.missing()]
    problems += [f"{row.stream}: {row.record} was inserted outside the ledger" for row in unchained()]
    problems += derived_problems(reports)
    if all(report.ok for report in reports):
        problems += [problem for check in _also for problem in check()]
    if before:
        for stream, (sequence, sha256) in before.heads.items():
            if problem := extends(Head(stream, sequence, sha256)):
                problems.append(f"{stream}: {problem}")
    heads = {report.head.stream: [report.head.sequence, report.head.sha256] for report in reports}
    if before and problems:
        # Keep comparing with the longest history that was seen, not with what is left of it.
        heads |= before.heads
    return LedgerCheck.objects.create(
        started_at=started_at,
        finished_at=timezone.now(),
        streams=len(reports),
        links=sum(report.head.sequence for report in reports),
        problems=problems,
        heads=heads,
    )
