"""The Celery application. Embedded, its broker is a folder under ``DATA_DIR``; in production it is Redis.

Messages are JSON and carry ids only: what a task works on stands in the database.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rlvram_site.settings")

from celery import Celery
from celery.signals import worker_ready
from django.conf import settings
from kombu import Queue

from rlvram_site import redis_broker

redis_broker.use()
HOUR = 3600
EMBEDDED_BROKER = settings.BROKER_URL.startswith("filesystem:")


def _transport_options() -> dict[str, Any]:
    if not EMBEDDED_BROKER:
        # Redis hands an unacknowledged message to another worker after this time (s): longer than any job.
        return {
            "visibility_timeout": settings.BROKER_VISIBILITY_SECONDS,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
        }
    root = settings.DATA_DIR / "broker"
    folders = {name: root / name for name in ("messages", "control", "taken", "damaged")}
    for folder in folders.values():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "data_folder_in": str(folders["messages"]),
        "data_folder_out": str(folders["messages"]),
        "control_folder": str(folders["control"]),
        "processed_folder": str(folders["taken"]),
        "damaged_folder": str(folders["damaged"]),
    }


app = Celery("rlvram_site")
app.conf.update(
    broker_url=settings.BROKER_URL,
    broker_transport_options=_transport_options(),
    **({"broker_transport": "rlvram_site.folder_broker:Transport"} if EMBEDDED_BROKER else {}),
    broker_connection_retry_on_startup=True,
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    # A worker serves both unless it is told otherwise (--queues); numerics takes long and much memory.
    task_queues=[Queue("default"), Queue("numerics")],
    task_default_queue="default",
    task_time_limit=HOUR,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    # No file of its own that a full disk could spoil: what must not be missed is asked for when it is due.
    beat_scheduler="celery.beat:Scheduler",
    timezone="UTC",
    beat_schedule={
        "find what is new": {"task": "search.follow", "schedule": 60, "options": {"expires": 60}},
        "check the ledger": {"task": "ledger.check_when_due", "schedule": HOUR},
        "ask witnesses": {"task": "witness.ask", "schedule": 60, "options": {"expires": 60}},
        "check evidence": {"task": "evidence.check_when_due", "schedule": HOUR, "options": {"expires": HOUR}},
        "remove leftovers": {"task": "evidence.collect", "schedule": HOUR, "options": {"expires": HOUR}},
        **(
            {
                "read what is followed": {
                    "task": "admission.sync_due",
                    "schedule": 60,
                    "options": {"expires": 60},
                }
            }
            if settings.FORGE_SYNC_SECONDS
            else {}
        ),
        "tell what changed": {"task": "notices.tell", "schedule": 30, "options": {"expires": 30}},
        "take jobs back": {
            "task": "jobs.take_back",
            "schedule": settings.JOB_TAKE_BACK_SECONDS,
            # While no worker runs, one message is enough.
            "options": {"expires": settings.JOB_TAKE_BACK_SECONDS},
        },
    },
)
app.set_default()
app.autodiscover_tasks()


@worker_ready.connect
def _check_at_start(**kwargs: Any) -> None:
    # A site that runs for an hour a day never meets a nightly schedule.
    for task in ("ledger.check_when_due", "jobs.take_back", "evidence.check_when_due", "evidence.collect"):
        app.send_task(task)
