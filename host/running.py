"""One slot from the idle check to a complete run directory."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host.devices import Device, NVMLError, busy, driver_version
from host.errors import AlreadyLaunched, DeviceError, NotStarted
from host.keys import KEY, KEY_FILE
from host.kinds import SACCT_FIELDS
from host.launches import check_launch, note_launch, set_aside
from host.locks import lock
from host.order import Order, filled
from host.pool import DevicePool
from host.processes import Program, adopt_orphans, start
from host.runs import ENDED, Run, now, write_json
from host.sampler import Sampler

IDLE_SECONDS = 30.0
"""How long devices may take to become idle after the last process has gone."""

LOOK_SECONDS = 0.05
SACCT_SECONDS = 60
Watch = Callable[[Mapping[str, int]], None]


@dataclass(frozen=True)
class Manner:
    """How this host runs programs.

    Attributes:
        pool: its devices.
        by_ordinal: programs see their devices by ordinal, as some engines need it, instead of by UUID.
        user: runs programs as this user; empty: as the host itself.
    """

    pool: DevicePool = field(default_factory=DevicePool)
    by_ordinal: bool = False
    user: str = ""


def run_slot(
    order: Order, command: Sequence[str], home: Path, manner: Manner, *, job: int | None = None,
    watch: Watch = lambda memory: None,
) -> Run:  # fmt: skip
    """Launch an order once and watch it to its end; everything lands in a folder below ``home``.

    ``watch`` is told the last sample by UUID (MiB), about once a second.

    Raises, and then nothing was launched:
        AlreadyLaunched: the launch ledger has the slot.
        DeviceError: NVML cannot be read, or an ordered device is not on this machine.
        DeviceBusy: the devices did not become free in time.
        NotStarted: the program could not be started.
    """
    adopt_orphans()
    check_launch(home, order.study, order.slot, order.launches_allowed)
    with manner.pool.take(order) as task:
        token = secrets.token_hex(6)
        folder = home / "runs" / token
        folder.mkdir(parents=True)
        run = Run.new(order, folder, token, job)
        held = lock(folder)
        try:
            _prepare(run, order, command, task)
            _launch(order, command, run, task, manner, home, watch)
            run.note()
        except (AlreadyLaunched, DeviceError, NotStarted):
            shutil.rmtree(folder)
            raise
        finally:
            held.close()
    return run


def _prepare(run: Run, order: Order, command: Sequence[str], task: Sequence[Device]) -> None:
    run.record = _known(order, command, task)
    shown = {name: value for name, value in vars(order).items() if name != "command"}
    write_json(run.folder / "order.json", {**shown, "command": list(command)})
    write_json(run.folder / "settings.json", {**order.settings, "seed": order.seed})
    write_json(run.folder / "device_map.json", {"uuids": [device.uuid for device in task]})


def _launch(
    order: Order,
    command: Sequence[str],
    run: Run,
    task: Sequence[Device],
    manner: Manner,
    home: Path,
    watch: Watch,
) -> None:
    token = run.token
    memory, host = (run.folder / f"{name}-memory-{token}.csv" for name in ("gpu", "host"))
    program: Program | None = None
    sampler = Sampler(
        task, memory, host, order.interval_ms, lambda pid: program is not None and program.has(pid)
    )
    # The devices have been read once more before the launch is spent.
    with (run.folder / f"training-{token}.log").open("wb") as log, sampler:
        number = note_launch(
            home, order.study, order.slot, order.launches_allowed,
            {"token": token, "at": now(), "host": socket.gethostname(), "job": run.job},
        )  # fmt: skip
        run.record["facts"]["launch"] = number
        run.record["started_at"] = now()
        run.note()
        began = time.monotonic()
        work = _working_folder(run, manner)
        words = filled(
            command, seed=str(order.seed), settings_file=str(run.folder / "settings.json"),
            run_directory=str(work),
        )  # fmt: skip
        try:
            program = start(
                words, token, folder=work, log=log, environment=_environment(order, run, task, manner),
                user=manner.user,
            )  # fmt: skip
        except NotStarted:
            set_aside(home, order.study, order.slot, number, token)
            raise
        timed_out = False
        try:
            sampler.begin()
            timed_out = _wait(program, order.timeout_seconds, lambda: watch(sampler.now))
        finally:
            # Also when this process itself is asked to end: nothing goes on unwatched.
            program.ask_to_end()
            program.wait()
    _ended(order, run, task, program, sampler, timed_out, time.monotonic() - began)


def _ended(
    order: Order,
    run: Run,
    task: Sequence[Device],
    program: Program,
    sampler: Sampler,
    timed_out: bool,
    seconds: float,
) -> None:
    """What is known once nothing of the run is there any more. A device lost by then hides none of it."""
    facts, code = run.record["facts"], program.exit_code
    # At its limit the whole tree is still there, which is no surprise.
    facts["left_behind"] = [] if timed_out else program.left
    facts["not_idle_afterwards"] = _until_idle(task, order.idle_mib)
    if sampler.problem:
        facts["sampling"] = sampler.problem
    run.record |= {"ended_at": now(), "elapsed_seconds": round(seconds, 3), "exit_code": code}
    if code < 0:
        run.record["signal"] = -code
    if sampler.foreign:
        run.record["other_processes"] = sorted(sampler.foreign.values())
    _scheduler_records(run.folder)
    write_json(
        run.folder / f"trial-{run.token}.json",
        {
            "exit_code": code, "timed_out": timed_out, "requested_steps": order.requested_steps,
            "job_id": os.environ.get("SLURM_JOB_ID"), "started_at": run.record["started_at"],
            "ended_at": run.record["ended_at"], "left_behind": facts["left_behind"],
        },
    )  # fmt: skip
    run.state = ENDED


def _working_folder(run: Run, manner: Manner) -> Path:
    """Where the program works. Another user gets a folder inside: the run's own notes stay the host's."""
    if not manner.user:
        return run.folder
    work = run.folder / "work"
    if not work.exists():
        work.mkdir()
        shutil.chown(work, manner.user)
    return work


def _wait(program: Program, limit_seconds: float, tell: Callable[[], None]) -> bool:
    """Wait for the program. True: it was still running at its limit."""
    end = time.monotonic() + limit_seconds
    tell_at = 0.0
    while program.running():
        moment = time.monotonic()
        if moment >= end:
            return True
        if moment >= tell_at:
            tell()
            tell_at = moment + 1
        time.sleep(LOOK_SECONDS)
    return False


def _until_idle(task: Sequence[Device], idle_mib: int) -> list[str]:
    """Wait for the devices to become idle; who is not by then, in words."""
    end = time.monotonic() + IDLE_SECONDS
    try:
        while occupied := [reason for device in task if (reason := busy(device, idle_mib))]:
            if time.monotonic() >= end:
                return [reason.replace("before the start", "after the end") for reason in occupied]
            time.sleep(0.1)
    except NVMLError as error:
        return [f"the devices can't be read any more: {error}"]
    return []


def _scheduler_records(folder: Path) -> None:
    """What Slurm has of this allocation, if there is one; why not, if it cannot be had."""
    job, sacct = os.environ.get("SLURM_JOB_ID"), shutil.which("sacct")
    if not job or not sacct:
        return
    command = [sacct, "-P", "-n", "-j", job, f"--format={','.join(SACCT_FIELDS)}"]
    try:
        done = subprocess.run(  # noqa: S603 - the scheduler's own program with a job's number
            command, capture_output=True, text=True, timeout=SACCT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        (folder / "sacct-problem.txt").write_text(f"{error}\n")
        return
    if done.stdout.strip():
        (folder / "sacct.txt").write_text(done.stdout)
    else:
        (folder / "sacct-problem.txt").write_text(done.stderr or "sacct printed nothing\n")


def _environment(order: Order, run: Run, task: Sequence[Device], manner: Manner) -> dict[str, str]:
    settings = {
        f"RLVRAM_SETTING_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in order.settings.items()
    }
    visible = [str(device.ordinal) if manner.by_ordinal else device.uuid for device in task]
    ordinals = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if manner.by_ordinal else {}
    return {
        # The key of the site is the host's, not the program's.
        **{name: value for name, value in os.environ.items() if name not in (KEY, KEY_FILE)},
        **settings,
        **ordinals,
        "RLVRAM_SEED": str(order.seed),
        "RLVRAM_SETTINGS_FILE": str(run.folder / "settings.json"),
        "RLVRAM_RUN_DIRECTORY": str(_working_folder(run, manner)),
        "CUDA_VISIBLE_DEVICES": ",".join(visible),
    }


def _known(order: Order, command: Sequence[str], task: Sequence[Device]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "slot": order.slot,
        "task_gpu_count": len(task),
        "host": {
            "hostname": socket.gethostname(),
            "driver": driver_version(),
            "device_model": task[0].name,
            "device_count": len(task),
            "device_capacity_mib": task[0].capacity_mib,
            "device_uuids": [device.uuid for device in task],
        },
        "facts": {"launched": True, "command": list(command)},
    }
    if order.requested_steps is not None:
        record["requested_steps"] = order.requested_steps
    if job := os.environ.get("SLURM_JOB_ID"):
        record["job_id"] = job
    return record
