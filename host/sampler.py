"""Sampling from outside the process: each device's memory and the host's, written as they are read."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from host.devices import Device

FOREIGN_EVERY_SECONDS = 1.0


class Sampler:
    """Writes ``timestamp_ns,MiB,…`` lines for as long as it runs. A line is on its way to the file before the
    next sample is taken, so a crash of this process loses at most one.

    ``now`` holds the last sample by UUID (MiB), ``problem`` why sampling stopped early, ``foreign`` processes
    of others that were seen on the devices, in words.
    """

    def __init__(
        self, devices: Sequence[Device], memory: Path, host_memory: Path, interval_ms: int,
        is_ours: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self.devices = devices
        self.interval_ns = interval_ms * 1_000_000
        self.now: dict[str, int] = {}
        self.problem = ""
        self.foreign: dict[int, str] = {}
        self._is_ours = is_ours
        self._files = [
            os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644) for path in (memory, host_memory)
        ]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Sampler:
        self.sample()
        return self

    def begin(self) -> None:
        """Sample from now on, again and again. The first sample is there already."""
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        for file in self._files:
            os.fsync(file)
            os.close(file)

    def sample(self) -> None:
        """Take and write one sample of every device and of the host."""
        moment = time.time_ns()
        used = [device.used_mib() for device in self.devices]
        self.now = dict(zip((device.uuid for device in self.devices), used, strict=True))
        os.write(self._files[0], (",".join(map(str, (moment, *used))) + "\n").encode())
        os.write(self._files[1], f"{moment},{host_used_mib()}\n".encode())

    def _run(self) -> None:
        began = time.monotonic_ns()
        number, look_at = 0, 0
        while True:
            # By the clock, not by adding pauses: a slow sample does not move the later ones.
            number = max(number + 1, (time.monotonic_ns() - began) // self.interval_ns)
            wait = began + number * self.interval_ns - time.monotonic_ns()
            if self._ended.wait(max(wait, 0) / 1e9):
                return
            try:
                self.sample()
                if time.monotonic_ns() >= look_at:
                    look_at = time.monotonic_ns() + int(FOREIGN_EVERY_SECONDS * 1e9)
                    self._look_for_others()
            except Exception as error:
                # The run goes on; that its samples end here is evidence, and is reported.
                self.problem = f"sampling stopped: {error}"
                return

    def _look_for_others(self) -> None:
        for device in self.devices:
            seen = device.processes()
            # In a container the driver counts processes in another namespace, where the numbers mean others.
            # Whoever sees the run's own processes is not in one.
            if not any(self._is_ours(pid) for pid in seen):
                continue
            for pid in seen:
                if pid not in self.foreign and Path(f"/proc/{pid}").exists() and not self._is_ours(pid):
                    self.foreign[pid] = f"process {pid} on {device.uuid}"


def host_used_mib() -> int:
    """Memory of the machine that is not available, in MiB."""
    values = {}
    with open("/proc/meminfo") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                values[name] = int(rest.split()[0])
                if len(values) == 2:
                    break
    return (values["MemTotal"] - values["MemAvailable"]) // 1024
