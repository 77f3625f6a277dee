"""A data folder that ``./run --no-serve`` prepared, and commands on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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
