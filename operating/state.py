"""What state the parts of the site are in: database, broker, workers, clock, disk, ledger, queue, backups.

Health checks, the operator's page and the measurements all ask here.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from operating.models import Backup, Heartbeat
from rlvram_site.celery import app
from rlvram_site.disk import shortage
from rlvram_site.ledger.checks import last_check
from rlvram_site.ledger.triggers import missing
from studies.models import Host, Job
from studies.models.hosts import SEEN_WITHIN
from studies.services.outcomes.evidence_checks import standing

_log = logging.getLogger(__name__)

WORKER_SILENT = dt.timedelta(seconds=75)
CLOCK_SILENT = dt.timedelta(seconds=max(75, 3 * settings.JOB_TAKE_BACK_SECONDS))
BACKUP_OLD = dt.timedelta(days=2)
_BROKER_SECONDS = 5.0


@dataclass(frozen=True)
class Part:
    """One part of the site: whether it works, and one sentence without names of machines or people."""

    name: str
    ok: bool
    sentence: str


def parts() -> list[Part]:
    """Every part that the site needs; workers and beat are known through the database."""
    database = _database()
    if database.ok:
        try:
            return [database, _broker(), _workers(), _clock(), _disk()]
        except DatabaseError:
            _log.exception("the database lacks a table, or ended meanwhile")
            database = Part("database", False, "lacks tables of this version, or ended meanwhile")
    unknown = "not known without the database"
    return [database, _broker(), *(Part(name, False, unknown) for name in ("workers", "beat")), _disk()]


def _database() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        _log.exception("the database does not answer")
        return Part("database", False, "does not answer")
    return Part("database", True, "answers")


_broker_seen: tuple[float, bool] = (0.0, False)


def _broker() -> Part:
    """Asked at most every few seconds: the page is open to everybody."""
    global _broker_seen
    if not _broker_seen[0] or time.monotonic() - _broker_seen[0] > _BROKER_SECONDS:
        _broker_seen = (time.monotonic(), _broker_answers())
    answers = _broker_seen[1]
    return Part("broker", answers, "answers" if answers else "does not answer")


def _broker_answers() -> bool:
    if settings.BROKER_URL.startswith("filesystem:"):
        return os.access(settings.DATA_DIR / "broker", os.W_OK) or not (settings.DATA_DIR / "broker").exists()
    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=3)
            broker.default_channel.client.ping()
    except Exception:  # whatever the transport raises, it does not answer
        return False
    return True


def _workers() -> Part:
    """GPU hosts are not counted: they serve their own queues."""
    here = Heartbeat.objects.filter(kind="worker", heard_at__gte=timezone.now() - WORKER_SILENT).count()
    return Part("workers", here > 0, f"{here} heard of within {WORKER_SILENT.seconds} seconds")


def _clock() -> Part:
    here = Heartbeat.objects.filter(kind="beat", heard_at__gte=timezone.now() - CLOCK_SILENT).exists()
    return Part("beat", here, f"{'heard' if here else 'not heard'} of within {CLOCK_SILENT.seconds} seconds")


def disk_free_bytes() -> int:
    """Bytes that can still be written where the site keeps its data."""
    folder = Path(settings.DATA_DIR)
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _disk() -> Part:
    gib = f"{disk_free_bytes() / 2**30:.1f} GiB free"
    if short := shortage():
        # Whose folder it is, is nobody's business: the page is open to everybody.
        return Part("disk", False, f"short: {short.partition(' has ')[2]}")
    return Part("disk", True, gib)


def ledger() -> Part:
    """What the last daily walk over the ledger found, and whether the triggers are in place now."""
    check, problems = last_check(), missing()
    if problems:
        return Part("ledger", False, f"{len(problems)} triggers are missing or changed")
    if check is None:
        return Part("ledger", False, "not checked yet")
    when = f"{check.finished_at:%Y-%m-%d %H:%M} UTC"
    if not check.passed:
        return Part("ledger", False, f"{len(check.problems)} problems found on {when}")
    return Part("ledger", True, f"{check.links} links in {check.streams} streams whole on {when}")


def evidence() -> Part:
    """How recorded evidence was found when each file was last checked."""
    found = standing()
    if not found.passed:
        return Part("evidence", False, f"{found.damaged} files damaged, {found.missing} missing")
    rest = f"{found.unchecked} of them not checked yet" if found.unchecked else "whole when last checked"
    return Part("evidence", True, f"{found.files} files, {rest}" if found.files else "none is stored yet")


def backup() -> Part:
    """Whether the last backup is young and was of a whole site."""
    last = Backup.objects.first()
    if last is None:
        return Part("backup", False, "none was made yet")
    when = f"the last one on {last.finished_at:%Y-%m-%d %H:%M} UTC"
    if last.problem:
        return Part("backup", False, f"{when}: {last.problem}")
    return Part("backup", timezone.now() - last.finished_at < BACKUP_OLD, when)


@dataclass(frozen=True)
class Queue:
    """Jobs of one queue. Times are None where there is no such job."""

    name: str
    waiting: int
    running: int
    oldest_waiting: dt.datetime | None
    next_lease: dt.datetime | None
    lapsed: int

    @property
    def oldest_seconds(self) -> float:
        """How long the oldest job has been waiting, seconds; 0 if none waits."""
        return (
            max(0.0, (timezone.now() - self.oldest_waiting).total_seconds()) if self.oldest_waiting else 0.0
        )


def queues() -> list[Queue]:
    """Queues with jobs that have not ended."""
    waiting, running = Q(state=Job.State.QUEUED), Q(state=Job.State.RUNNING)
    rows = (
        Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])
        .order_by("queue")
        .values("queue")
        .annotate(
            waiting=Count("pk", filter=waiting), running=Count("pk", filter=running),
            oldest_waiting=Min("created_at", filter=waiting), next_lease=Min("lease_until", filter=running),
            silent=Count("pk", filter=running & Q(lease_until__lt=timezone.now())),
        )
    )  # fmt: skip
    return [
        Queue(
            row["queue"],
            row["waiting"],
            row["running"],
            row["oldest_waiting"],
            row["next_lease"],
            row["silent"],
        )
        for row in rows
    ]


def hosts() -> tuple[int, int]:
    """How many GPU hosts were heard of lately, and how many there are."""
    since = timezone.now() - SEEN_WITHIN
    found = Host.objects.aggregate(all=Count("pk"), here=Count("pk", filter=Q(last_seen_at__gte=since)))
    return found["here"], found["all"]


def last_heard() -> dt.datetime | None:
    """When any worker or clock was last heard of."""
    return Heartbeat.objects.aggregate(last=Max("heard_at"))["last"]
