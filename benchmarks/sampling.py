"""What sampling device memory costs: its share of one core.

    python -m benchmarks.sampling [--devices 8] [--interval-ms 100] [--seconds 20] [--real]

Without ``--real`` the devices are those of the tests' own libnvidia-ml, built with gcc for the occasion and
loaded by the real nvidia-ml-py, so that any machine can measure what this project adds; with it, its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from host.devices import devices
from host.errors import DeviceError
from host.sampler import Sampler

GOAL_SHARE = 0.01
SOURCE = Path(__file__).resolve().parents[1] / "tests" / "gpu_host" / "nvml.c"


def measure(interval_ms: int, seconds: float, folder: Path) -> tuple[int, int, float]:
    """Sample for a while; returns devices, samples taken, and processor time as a share of the wall time."""
    with devices() as found:
        memory = folder / "gpu-memory.csv"
        with Sampler(found, memory, folder / "host-memory.csv", interval_ms, lambda pid: True) as sampler:
            began, used = time.perf_counter(), time.process_time()
            sampler.begin()
            time.sleep(seconds)
            share = (time.process_time() - used) / (time.perf_counter() - began)
        if sampler.problem:
            raise DeviceError(sampler.problem)
        return len(found), len(memory.read_text().splitlines()), share


def _again_with_fakes(arguments: Sequence[str], count: int, folder: Path) -> int:
    """Run this module once more, in a process that finds the fake library."""
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", SOURCE], check=True)
    state = folder / "devices.txt"
    state.write_text("".join(f"GPU-{number} 1000 40960\n" for number in range(count)))
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_NVML_FILE": str(state)}
    command = [sys.executable, "-m", "benchmarks.sampling", *arguments, "--real"]
    return subprocess.run(command, env=environment, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sampling", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--devices", type=int, default=8, help="fake devices, at most 16 (default 8)")
    parser.add_argument("--interval-ms", type=int, default=100, help="between two samples (default 100)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long (default 20)")
    parser.add_argument("--real", action="store_true", help="the machine's own devices")
    options = parser.parse_args(arguments)
    if not 1 <= options.devices <= 16:
        parser.error(f"--devices is {options.devices}, expected 1 to 16")
    if options.interval_ms < 1 or not options.seconds > 0:
        parser.error("--interval-ms and --seconds must be above 0")
    with tempfile.TemporaryDirectory() as folder:
        if not options.real:
            return _again_with_fakes(arguments, options.devices, Path(folder))
        try:
            count, samples, share = measure(options.interval_ms, options.seconds, Path(folder))
        except DeviceError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"{count} devices, every {options.interval_ms} ms for {options.seconds:g} s: {samples} samples")
    print(f"share    {share:.2%} of one core")
    print(f"goal     {GOAL_SHARE:.0%} {'reached' if share < GOAL_SHARE else 'missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
