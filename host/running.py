"""One slot from the idle check to a complete run directory."""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from host.devices import Device, busy, chosen, devices, driver_version
from host.launches import note_launch
from host.locks import lock
from host.order import Order
from host.processes import adopt_orphans, descendants, end_all, end_with_parent
from host.sampler import Sampler
from studies.evidence.scheduler import FIELDS

GRACE_SECONDS = 10.0
"""Between asking the process tree to end and killing it."""

IDLE_SECONDS = 30.0
"""How long devices may take to become idle after the last process has gone."""

NOT_STARTED = 127
"""Exit code of a command that does not exist, as a shell has it."""

LOOK_SECONDS = 0.05
SACCT_SECONDS = 60
Watch = Callable[[Mapping[str, int]], None]


@dataclass
class Run:
    """What one launch left behind.

    Attributes:
        invocation: identifies it for good.
        folder: its run directory.
        record: the fields of the attempt that do not come out of the files.
        lock: held while the run goes on, so that nobody sends it half.
    """

    invocation: str
    folder: Path
    record: dict[str, Any] = field(default_factory=dict)
    lock: IO[str] | None = None


def run_slot(order: Order, home: Path, watch: Watch = lambda memory: None) -> Run:
    """Launch an order once and watch it to its end; everything lands in a folder below ``home``.

    ``watch`` is told the last sample by UUID (MiB), about once a second.

    Raises:
        AlreadyLaunched: the launch ledger has the slot.
        DeviceError: NVML cannot be read, or an ordered device is not on this machine; nothing was launched.
    """
    adopt_orphans()
    with devices() as found:
        task = chosen(found, order.device_uuids)
        token = secrets.token_hex(6)
        number = note_launch(
            home, order.study, order.slot, order.launches_allowed,
            {"token": token, "at": _now(), "host": socket.gethostname()},
        )  # fmt: skip
        folder = home / "runs" / token
        folder.mkdir(parents=True)
        run = Run(f"{_plain(order.slot)}-{token}", folder)
        run.record = _known(order, task, number)
        run.lock = lock(folder)
        _write(folder / "order.json", order.to_json())
        _write(folder / "settings.json", {**order.settings, "seed": order.seed})
        _write(folder / "device_map.json", {"uuids": [device.uuid for device in task]})
        note = {"invocation": run.invocation, "study": order.study, "record": run.record}
        _write(folder / "upload.json", note)
        occupied = [reason for device in task if (reason := busy(device, order.idle_mib))]
        if occupied:
            run.record["other_processes"] = occupied
            run.record["facts"]["launched"] = False
        else:
            _launch(order, run, task, token, watch)
        _write(folder / "upload.json", note)
        run.lock.close()
    return run


def _launch(order: Order, run: Run, task: Sequence[Device], token: str, watch: Watch) -> None:
    spare = {process.pid for process in descendants(os.getpid())}
    began = time.monotonic()
    run.record["started_at"] = _now()
    memory, host = (run.folder / f"{name}-memory-{token}.csv" for name in ("gpu", "host"))
    sampler = Sampler(task, memory, host, order.interval_ms, _Family(spare).has)
    with (run.folder / f"training-{token}.log").open("wb") as log, sampler:
        process = _start(order, run.folder, log)
        timed_out, left = False, []
        if process is not None:
            try:
                sampler.begin()
                timed_out = _wait(process, order.timeout_seconds, lambda: watch(sampler.now))
            finally:
                # Also when this process itself is asked to end: nothing goes on unwatched.
                left = end_all(os.getpid(), spare, GRACE_SECONDS, process)
    code = NOT_STARTED if process is None else process.wait()
    facts = run.record["facts"]
    # At its limit the whole tree is still there, which is no surprise.
    facts["left_behind"] = [] if timed_out else [f"{item.pid} {item.command}" for item in left]
    facts["not_idle_afterwards"] = _until_idle(task, order.idle_mib)
    if sampler.problem:
        facts["sampling"] = sampler.problem
    run.record |= {
        "ended_at": _now(), "elapsed_seconds": round(time.monotonic() - began, 3), "exit_code": code,
    }  # fmt: skip
    if code < 0:
        run.record["signal"] = -code
    if sampler.foreign:
        run.record["other_processes"] = sorted(sampler.foreign.values())
    _scheduler_records(run.folder)
    _write(
        run.folder / f"trial-{token}.json",
        {
            "exit_code": code, "timed_out": timed_out, "requested_steps": order.requested_steps,
            "job_id": os.environ.get("SLURM_JOB_ID"), "started_at": run.record["started_at"],
            "ended_at": run.record["ended_at"], "left_behind": facts["left_behind"],
        },
    )  # fmt: skip


def _start(order: Order, folder: Path, log: IO[bytes]) -> subprocess.Popen[bytes] | None:
    """Start the command in a process group of its own. None: there is no such program; the log says so."""
    command = order.filled_command(
        seed=str(order.seed), settings_file=str(folder / "settings.json"), run_directory=str(folder)
    )
    try:
        return subprocess.Popen(  # noqa: S603 - the study's own command, for which the host is there
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(order, folder),
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    except OSError as error:
        log.write(f"rlvram-host: {command[0]}: {error.strerror}\n".encode())
        return None


class _Family:
    """Which processes belong to the run; looked up anew at most a few times a second."""

    def __init__(self, spare: set[int]) -> None:
        self._spare = spare
        self._lock = threading.Lock()

    def has(self, pid: int) -> bool:
        with self._lock:
            return any(item.pid == pid for item in descendants(os.getpid()) if item.pid not in self._spare)


def _wait(process: subprocess.Popen[bytes], limit_seconds: float, tell: Callable[[], None]) -> bool:
    """Wait for the process. True: it was still running at its limit."""
    end = time.monotonic() + limit_seconds
    tell_at = 0.0
    while process.poll() is None:
        now = time.monotonic()
        if now >= end:
            return True
        if now >= tell_at:
            tell()
            tell_at = now + 1
        time.sleep(LOOK_SECONDS)
    return False


def _until_idle(task: Sequence[Device], idle_mib: int) -> list[str]:
    """Wait for the devices to become idle; who is not by then, in words."""
    end = time.monotonic() + IDLE_SECONDS
    while occupied := [reason for device in task if (reason := busy(device, idle_mib))]:
        if time.monotonic() >= end:
            return [reason.replace("before the start", "after the end") for reason in occupied]
        time.sleep(0.1)
    return []


def _scheduler_records(folder: Path) -> None:
    """What Slurm has of this allocation, if there is one; why not, if it cannot be had."""
    job, sacct = os.environ.get("SLURM_JOB_ID"), shutil.which("sacct")
    if not job or not sacct:
        return
    command = [sacct, "-P", "-n", "-j", job, f"--format={','.join(FIELDS)}"]
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


def _environment(order: Order, folder: Path) -> dict[str, str]:
    settings = {
        f"RLVRAM_SETTING_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in order.settings.items()
    }
    return {
        # The key of the site is the host's, not the program's.
        **{name: value for name, value in os.environ.items() if name != "RLVRAM_KEY"},
        **settings,
        "RLVRAM_SEED": str(order.seed),
        "RLVRAM_SETTINGS_FILE": str(folder / "settings.json"),
        "RLVRAM_RUN_DIRECTORY": str(folder),
        "CUDA_VISIBLE_DEVICES": ",".join(order.device_uuids),
    }


def _known(order: Order, task: Sequence[Device], number: int) -> dict[str, Any]:
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
        "facts": {"launched": True, "launch": number, "command": list(order.command)},
    }
    if order.requested_steps is not None:
        record["requested_steps"] = order.requested_steps
    if job := os.environ.get("SLURM_JOB_ID"):
        record["job_id"] = job
    return record


def _plain(text: str) -> str:
    """``text`` as an invocation's id may be spelled."""
    kept = "".join(
        letter if (letter.isalnum() and letter.isascii()) or letter in "._-" else "-" for letter in text
    )
    return kept.lstrip("._-")[:150] or "slot"


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()


def _write(path: Path, content: Any) -> None:
    """Write JSON so that a reader finds the old file or the whole new one."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w") as file:
        json.dump(content, file, indent=2, sort_keys=True)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
