"""A machine with fake devices, whose figures the test sets, and a site to upload to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from studies.models import Attempt, SeedSlot
from tests.conftest import ROOT
from tests.upload.conftest import _server, key, site  # noqa: F401

CAPACITY_MIB = 40_960
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory) -> Path:
    """A folder with our own libnvidia-ml, which the real nvidia-ml-py loads."""
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder / "libnvidia-ml.so.1", HERE / "nvml.c"],
        check=True,
    )
    return folder


class Machine:
    """Two fake devices and a folder for ``rlvram-host``."""

    def __init__(self, folder: Path, nvml: Path) -> None:
        self.folder = folder
        self.home = folder / "host"
        self.state = folder / "nvml.txt"
        self.uuids = ["GPU-aa", "GPU-bb"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
            "LD_LIBRARY_PATH": str(nvml),
            "FAKE_NVML_FILE": str(self.state),
            "PYTHONPATH": str(ROOT),
        }
        self.set(10, 12)

    def set(self, *used_mib: int, processes: str = "") -> None:
        """What each device has in use from now on; ``processes`` are on the first."""
        lines = [
            f"{uuid} {used} {CAPACITY_MIB} {processes if number == 0 else ''}"
            for number, (uuid, used) in enumerate(zip(self.uuids, used_mib, strict=True))
        ]
        part = self.state.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n")
        part.replace(self.state)

    def order(self, slot: SeedSlot, program: str, **fields) -> Path:
        """The order to run ``program`` (Python), which may call ``use(MIB, MIB)`` for the devices."""
        script = self.folder / f"{slot.pk}.py"
        script.write_text(PRELUDE + program)
        order = {
            "study": slot.study.slug,
            "slot": slot.experiment_id,
            "seed": slot.seed,
            "command": [sys.executable, str(script), "{seed}"],
            "device_uuids": self.uuids,
            "timeout_seconds": 60,
            "settings": {"rollout_n": 4, "model_id": slot.configuration.model_id},
            "requested_steps": 1,
            **fields,
        }
        path = self.folder / f"{slot.pk}.json"
        path.write_text(json.dumps(order))
        return path

    def host(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """``rlvram-host ARGUMENTS``."""
        return subprocess.run(
            [sys.executable, "-m", "host.command", *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def run(
        self, order: Path, url: str, secret: str, *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """``rlvram-host run``, which does not wait for busy devices unless the arguments say so."""
        wait = [] if "--wait-idle" in arguments else ["--wait-idle", "0"]
        return self.host(
            "run",
            order,
            "--url",
            url,
            "--dir",
            self.home,
            *wait,
            *arguments,
            RLVRAM_KEY=secret,
            **environment,
        )

    @property
    def log(self) -> str:
        """What the only run's program printed."""
        return next(self.run_folder.glob("training-*.log")).read_text()

    @property
    def run_folder(self) -> Path:
        (folder,) = (self.home / "runs").iterdir()
        return folder


PRELUDE = f"""
import os, sys, time
from pathlib import Path

def use(*used_mib, seconds=0.35):
    state = Path(os.environ["FAKE_NVML_FILE"])
    part = state.with_suffix(f".{{os.getpid()}}")
    uuids = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    part.write_text("".join(f"{{uuid}} {{used}} {CAPACITY_MIB}\\n" for uuid, used in zip(uuids, used_mib)))
    part.replace(state)
    time.sleep(seconds)

def complete():
    print("step:1 - actor/pg_loss:0.1 - training/global_step:1", flush=True)
    use(10, 12, seconds=0)

print("Total training steps: 1", flush=True)
"""


@pytest.fixture
def machine(tmp_path, nvml_folder) -> Machine:
    return Machine(tmp_path, nvml_folder)


@pytest.fixture
def slots(site) -> list[SeedSlot]:  # noqa: F811
    """The three slots of one configuration of the study ``demo``."""
    return list(SeedSlot.objects.select_related("study", "configuration").order_by("pk")[:3])


def attempt_of(slot: SeedSlot) -> Attempt:
    return Attempt.objects.get(slot=slot)
