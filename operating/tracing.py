"""What Celery's processes tell: ids that go with a message into the lines of its job, and that they live."""

from __future__ import annotations

import logging
import platform
import threading
import time
from typing import Any

from celery import signals
from django.db import DatabaseError, connection
from django.utils import timezone

from host.version import product_version
from operating.logs import job_id, request_id

EVERY_SECONDS = 20
_HEADER = "rlvram_request_id"
_log = logging.getLogger(__name__)
_tokens: dict[str, Any] = {}


def connect() -> None:
    """Listen to Celery; in a process that is neither worker nor clock most of it never happens."""
    signals.before_task_publish.connect(_send_id, weak=False)
    signals.task_prerun.connect(_take_id, weak=False)
    signals.task_postrun.connect(_drop_id, weak=False)
    # Logging stays as the settings have it, instead of Celery's own.
    signals.setup_logging.connect(lambda **kwargs: None, weak=False)
    signals.worker_ready.connect(_worker_starts, weak=False)
    signals.beat_init.connect(_clock_starts, weak=False)
    signals.beat_embedded_init.connect(_clock_starts, weak=False)


def _send_id(headers: dict[str, Any] | None = None, **kwargs: Any) -> None:
    if headers is not None and (current := request_id.get()):
        headers[_HEADER] = current


def _take_id(task_id: str, task: Any, args: Any = (), **kwargs: Any) -> None:
    from studies.jobs.values import TASK

    job = str(args[0]) if task.name == TASK and args else task.name
    given = getattr(task.request, _HEADER, None) or ""
    _tokens[task_id] = (request_id.set(str(given)), job_id.set(job))


def _drop_id(task_id: str, **kwargs: Any) -> None:
    if tokens := _tokens.pop(task_id, None):
        request_id.reset(tokens[0])
        job_id.reset(tokens[1])


def say_alive(kind: str, name: str) -> None:
    """Remember that this process lives. Nothing stays open: a worker forks, and would share it."""
    from operating.models import Heartbeat

    try:
        Heartbeat.objects.update_or_create(
            name=f"{kind} {name}"[:200],
            defaults={"kind": kind, "heard_at": timezone.now(), "version": product_version()},
        )
    except DatabaseError:
        _log.warning("the database does not take a sign of life", exc_info=True)
    finally:
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()  # type: ignore[attr-defined]


def _worker_starts(sender: Any = None, **kwargs: Any) -> None:
    """A thread of the worker's first process: its children may be busy with one job for an hour."""
    name, ended = str(getattr(sender, "hostname", "") or platform.node()), threading.Event()

    def live() -> None:
        while True:
            say_alive("worker", name)
            if ended.wait(EVERY_SECONDS):
                return

    def end(**kwargs: Any) -> None:
        from operating.models import Heartbeat

        ended.set()
        try:
            Heartbeat.objects.filter(name=f"worker {name}"[:200]).delete()
        except DatabaseError:
            _log.warning("the database does not take a farewell", exc_info=True)

    signals.worker_shutting_down.connect(end, weak=False)
    threading.Thread(target=live, name="sign of life", daemon=True).start()


def _clock_starts(**kwargs: Any) -> None:
    """The clock lives while it sends: a thread of its own would go on if it hung."""
    last = 0.0

    def sent(**kwargs: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_SECONDS or not last:
            last = time.monotonic()
            say_alive("beat", platform.node())

    signals.before_task_publish.connect(sent, weak=False)
