"""The worker of one GPU host: takes jobs from the site, runs their slots, and tells what happened."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host.devices import devices, driver_version, of_this_host
from host.errors import (
    AlreadyLaunched,
    BadInput,
    DeviceBusy,
    DeviceError,
    NotHeld,
    NotStarted,
    OrderError,
    Refused,
    Unreachable,
)
from host.order import Order
from host.programs import Programs
from host.running import Manner, run_slot
from host.runs import LAUNCHED, end_leftovers, last_run
from host.sending import send_run, set_aside, unsent
from host.site import SiteClient

LOG_LINES = 200
NOT_LAUNCHED = (OrderError, AlreadyLaunched, DeviceError, DeviceBusy, NotStarted)


@dataclass
class Host:
    """This machine as the site knows it, and how it runs programs.

    ``at_a_time`` slots run at once, on disjoint devices. ``every_seconds`` it asks the site for a job.
    """

    site: SiteClient
    home: Path
    programs: Programs
    manner: Manner
    at_a_time: int = 1
    every_seconds: float = 5.0
    stopping: threading.Event = field(default_factory=threading.Event)

    def describe(self) -> dict[str, Any]:
        """This machine as the site registers it."""
        with devices() as found:
            mine = of_this_host(found, self.manner.pool.only)
            return {
                "hostname": socket.gethostname(),
                "machine": machine_id(),
                "driver": driver_version(),
                "programs": sorted(self.programs.commands),
                "set_aside": [
                    {"invocation": run.invocation, "reason": run.not_sent} for run in set_aside(self.home)
                ][-50:],
                "devices": [
                    {
                        "uuid": item.uuid,
                        "ordinal": item.ordinal,
                        "name": item.name,
                        "capacity_mib": item.capacity_mib,
                    }
                    for item in mine
                ],
            }

    def begin(self) -> None:
        """End what an earlier life left running, send what it left unsent, and register."""
        end_leftovers(self.home)
        for run in unsent(self.home):
            try:
                send_run(run, self.site.web)
            except (BadInput, NotHeld) as error:
                print(f"rlvram-host: {run.invocation} was set aside: {error}", flush=True)
            except Refused as error:
                if not run.not_sent:
                    raise
                print(f"rlvram-host: {run.invocation} was set aside: {error}", flush=True)
        self.site.register(self.describe())

    def serve(self, name: str, *, once: bool = False) -> int:
        """Work until asked to stop, or for one job."""
        self.begin()
        print(f"rlvram-host: {name} waits for slots", flush=True)
        changed = False
        while not self.stopping.is_set():
            try:
                if changed:
                    self.site.register(self.describe())
                    changed = False
                    if once:
                        return 0
                claim = self.site.next_job()
            except Unreachable as error:
                print(f"rlvram-host: {error}", flush=True)
                claim = None
            if claim is not None:
                run_job(claim, self)
                changed = True
                continue
            self.stopping.wait(self.every_seconds)
        return 0


def machine_id() -> str:
    """Tells this machine from another one of the same name, without saying which it is."""
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            text = Path(place).read_text().strip()
        except OSError:
            continue
        if text:
            return hashlib.sha256(f"rlvram-host {text}".encode()).hexdigest()[:32]
    return ""


class Reporter:
    """Keeps a claim alive from a thread of its own while slots run."""

    def __init__(self, site: SiteClient, claim: Mapping[str, Any], total: int) -> None:
        self.site, self.job, self.total = site, claim["job"], total
        self.fence = claim["fence"]
        self.every = claim["lease_seconds"] / 4
        self.stop_asked = self.lost = False
        self._lock = threading.Lock()
        self._done, self._slots, self._sentence = 0, [], ""  # type: tuple[int, list[str], str]
        self._memory: dict[str, int] = {}
        self._lines: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)

    def report(self) -> dict[str, Any]:
        with self._lock:
            return {
                "fence": self.fence, "done": self._done, "total": self.total,
                "sentence": self._sentence[:300], "slot": ", ".join(self._slots)[:200],
                "memory_mib": dict(self._memory), "log": "\n".join(self._lines[-LOG_LINES:])[-60_000:],
            }  # fmt: skip

    def say(self, sentence: str) -> None:
        with self._lock:
            self._sentence = sentence
            self._lines.append(sentence)

    def begin(self, slot: str) -> None:
        self.say(f"running {slot}")
        with self._lock:
            self._slots.append(slot)

    def end(self, slot: str) -> None:
        with self._lock:
            self._done += 1
            if slot in self._slots:
                self._slots.remove(slot)
            if not self._slots:
                self._memory = {}

    def watch(self, memory: Mapping[str, int]) -> None:
        with self._lock:
            self._memory |= memory

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


def run_job(claim: Mapping[str, Any], host: Host) -> list[dict[str, Any]]:
    """Run a job's slots in their order, some at once if the host may; returns what the site was told."""
    orders: Sequence[Mapping[str, Any]] = claim["orders"]
    results: list[dict[str, Any] | None] = [None] * len(orders)
    with Reporter(host.site, claim, len(orders)) as reporter:

        def one(place: int) -> None:
            if reporter.stop_asked or reporter.lost or host.stopping.is_set():
                return
            slot = str(orders[place].get("slot", ""))
            reporter.begin(slot)
            results[place] = _one(orders[place], host, reporter)
            reporter.end(slot)

        with ThreadPoolExecutor(max_workers=host.at_a_time, thread_name_prefix="slot") as workers:
            for done in [workers.submit(one, place) for place in range(len(orders))]:
                done.result()
    told = [item for item in results if item is not None]
    left = len(told) < len(orders)
    report = {**reporter.report(), "results": told, "cancelled": reporter.stop_asked and left}
    if not reporter.lost and (not left or reporter.stop_asked):
        try:
            host.site.end(claim["job"], report)
        except (NotHeld, Unreachable) as error:
            # The lease ends, the job comes back, and its runs are told from their folders then.
            print(f"rlvram-host: job {claim['job']}: {error}", flush=True)
    return told


def _one(sent: Mapping[str, Any], host: Host, reporter: Reporter) -> dict[str, Any]:
    """Run one slot, unless an earlier life of this host did, and upload it; what is known of it then."""
    slot = str(sent.get("slot", ""))
    try:
        order = Order.from_json(sent, from_site=True)
        command = host.programs.command(order)
        earlier = last_run(host.home, order.study, order.slot)
        if earlier is not None and earlier.job == reporter.job:
            run = earlier
        else:
            run = run_slot(order, command, host.home, host.manner, job=reporter.job, watch=reporter.watch)
    except NOT_LAUNCHED as error:
        reporter.say(f"{slot}: not launched: {error}")
        return {
            "slot": slot, "launched": False, "ended": False, "uploaded": False, "recorded": False,
            "problem": str(error)[:500],
        }  # fmt: skip
    if run.state == LAUNCHED:
        problem = "goes on in another process of this host, which uploads it"
        reporter.say(f"{slot}: {problem}")
        return {**run.result(), "problem": problem}
    if run.answer is None:
        try:
            send_run(run, host.site.web)
        except (Refused, Unreachable, BadInput) as error:
            reporter.say(f"{slot}: ran, and was not taken: {error}")
            return {**run.result(), "problem": str(error)[:500]}
    result = run.result()
    reporter.say(f"{slot}: {result.get('outcome')}")
    return result
