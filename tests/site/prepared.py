"""A data folder that ``./run --no-serve`` prepared, and commands on it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT


def run(*arguments: object, cwd: Path = ROOT, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """``./run ARGUMENTS`` as a stranger's shell starts it, without the test suite's own variables."""
    return subprocess.run(
        [str(ROOT / "run"), *map(str, arguments)],
        cwd=cwd,
        env=shell_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def shell_environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | more


def prepared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A data folder of one's own as ``./run --no-serve`` leaves it; all workers copy the same one."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    template = shared / "prepared"
    with (shared / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not template.exists():
            unfinished = shared / "prepared.part"
            done = run("--no-serve", "--data", unfinished)
            assert done.returncode == 0, done.stderr
            unfinished.rename(template)
    return Path(shutil.copytree(template, factory.mktemp(name) / "data"))
