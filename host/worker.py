"""The worker of one GPU host: takes jobs from its queue, runs their slots, and tells the site."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from celery import Celery
from kombu import Queue

from host.devices import devices, driver_version
from host.errors import AlreadyLaunched, DeviceError, OrderError
from host.order import Order
from host.running import run_slot
from host.sending import send_run, unsent
from host.site import NotHeld, SiteClient
from host.upload import BadInput, Refused, Unreachable

TASK = "gpu.run_slots"
WEEK = 7 * 24 * 3600
LOG_LINES = 200


def describe() -> dict[str, Any]:
    """This machine as the site registers it."""
    with devices() as found:
        return {
            "hostname": socket.gethostname(),
            "driver": driver_version(),
            "devices": [
                {
                    "uuid": item.uuid,
                    "ordinal": item.ordinal,
                    "name": item.name,
                    "capacity_mib": item.capacity_mib,
                }
                for item in found
            ],
        }  # fmt: skip


class Reporter:
    """Keeps a claim alive from a thread of its own while slots run."""

    def __init__(self, site: SiteClient, job: int, claim: Mapping[str, Any], total: int) -> None:
        self.site, self.job, self.total = site, job, total
        self.fence = claim["fence"]
        self.every = claim["lease_seconds"] / 4
        self.done, self.slot, self.sentence = 0, "", ""
        self.memory: Mapping[str, int] = {}
        self.lines: list[str] = []
        self.stop_asked = self.lost = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)

    def report(self) -> dict[str, Any]:
        return {
            "fence": self.fence, "done": self.done, "total": self.total, "sentence": self.sentence[:300],
            "slot": self.slot, "memory_mib": dict(self.memory), "log": "\n".join(self.lines[-LOG_LINES:]),
        }  # fmt: skip

    def say(self, sentence: str) -> None:
        self.sentence = sentence
        self.lines.append(sentence)

    def watch(self, memory: Mapping[str, int]) -> None:
        self.memory = memory

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self.every):
            try:
                self.stop_asked = self.site.beat(self.job, self.report())
            except NotHeld:
                self.lost = True
                return
            except (Refused, Unreachable):
                # The next one may reach it; the run itself does not depend on it.
                continue


def run_orders(message: Mapping[str, Any], home: Path, site: SiteClient, key: str) -> dict[str, Any]:
    """Run a job's slots in their order; returns what is told to the site, too.

    A job that somebody else holds is left alone. A slot that was launched before is not launched again.
    """
    job, orders = message["job"], message["orders"]
    try:
        claim = site.claim(job)
    except NotHeld:
        return {"job": job, "held": False}
    results: list[dict[str, Any]] = []
    with Reporter(site, job, claim, len(orders)) as reporter:
        for number, sent in enumerate(orders):
            if reporter.stop_asked or reporter.lost:
                break
            reporter.slot, reporter.done = str(sent.get("slot", "")), number
            reporter.say(f"running {reporter.slot}")
            results.append(_one(sent, home, site, key, reporter))
            reporter.done = number + 1
        reporter.slot, reporter.memory = "", {}
    report = {**reporter.report(), "results": results, "cancelled": reporter.stop_asked}
    if not reporter.lost:
        try:
            site.end(job, report)
        except NotHeld:
            return {"job": job, "held": False, "results": results}
    return {"job": job, "held": not reporter.lost, "results": results}


def _one(
    sent: Mapping[str, Any], home: Path, site: SiteClient, key: str, reporter: Reporter
) -> dict[str, Any]:
    slot = str(sent.get("slot", ""))
    try:
        run = run_slot(Order.from_json(sent), home, reporter.watch)
    except (OrderError, AlreadyLaunched, DeviceError) as error:
        reporter.say(f"{slot}: not launched: {error}")
        return {"slot": slot, "problem": str(error)}
    result = {"slot": slot, "invocation": run.invocation, "problem": ""}
    try:
        answer = send_run(run.folder, site.url, key)
    except (Refused, Unreachable, BadInput) as error:
        reporter.say(f"{slot}: ran, and is uploaded later: {error}")
        return {**result, "upload": str(error)[:300]}
    reporter.say(f"{slot}: {answer.get('outcome')}")
    return {**result, "outcome": answer.get("outcome"), "diagnosis": answer.get("diagnosis")}


def broker_settings(broker: str) -> dict[str, Any]:
    """Celery's settings for a Redis address, or for the folder of an embedded site's broker."""
    folder = Path(broker)
    if "://" not in broker and folder.is_dir():
        messages, control = str(folder / "messages"), str(folder / "control")
        options = {"data_folder_in": messages, "data_folder_out": messages, "control_folder": control}
        return {"broker_url": "filesystem://localhost", "broker_transport_options": options}
    if not broker.startswith(("redis://", "rediss://")):
        raise BadInput(
            f"--broker is {broker!r}, expected redis://… or the folder of an embedded site's broker"
        )
    # A run may take days; until then the message is nobody else's.
    return {"broker_url": broker, "broker_transport_options": {"visibility_timeout": WEEK}}


def serve(name: str, broker: str, home: Path, site: SiteClient, key: str) -> int:
    """Register, send what an earlier life left unsent, and work until asked to stop."""
    options = broker_settings(broker)
    site.register(describe())
    for folder in unsent(home):
        send_run(folder, site.url, key)
    app = Celery("rlvram_host")
    app.conf.update(
        **options,
        accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        task_ignore_result=True,
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        task_queues=[Queue(f"gpu.{name}")],
        task_default_queue=f"gpu.{name}",
    )

    @app.task(name=TASK)
    def run(message: dict[str, Any]) -> dict[str, Any]:
        return run_orders(message, home, site, key)

    print(f"rlvram-host: {name} waits for slots", flush=True)
    arguments: Sequence[str] = [
        "--quiet", "worker", "--pool", "solo", "--hostname", f"gpu-{name}@%h", "--loglevel", "warning",
        "--without-gossip", "--without-mingle",
    ]  # fmt: skip
    app.worker_main(arguments)
    return 0
