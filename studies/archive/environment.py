"""An isolated Python environment with the library versions that a study recorded."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from studies.archive.errors import ArchiveError

_PACKAGES = {"numpy": "numpy", "scipy": "scipy", "scikit_learn": "scikit-learn"}
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){1,3}")
READY = "ready.json"
INSTALL_SECONDS = 900
REFIT_SECONDS = 600


def recorded_versions(environment: Mapping[str, Any], place: str) -> dict[str, str]:
    """Package versions under their index names from an archive's ``numerical_environment``.

    Raises ``ArchiveError`` for a version that is missing or is none.
    """
    found = {}
    for key, package in _PACKAGES.items():
        version = environment.get(key)
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise ArchiveError(
                f"{place} numerical_environment.{key}: {version!r}, expected a version like 1.24.3"
            )
        found[package] = version
    return found


def _requirements(versions: Mapping[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in sorted(versions.items())] + ["threadpoolctl>=3"]


def environment_folder(versions: Mapping[str, str], data_dir: Path) -> Path:
    """Where the environment with these versions is kept, for this version of Python."""
    label = json.dumps([_requirements(versions), list(sys.version_info[:2])])
    return data_dir / "environments" / hashlib.sha256(label.encode()).hexdigest()[:16]


def recorded_python(versions: Mapping[str, str], data_dir: Path) -> Path:
    """The interpreter of an environment with exactly these versions, built once and kept under ``data_dir``.

    Raises ``ArchiveError`` when the packages cannot be installed; a half-built environment is not used.
    """
    folder = environment_folder(versions, data_dir)
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with _locked(folder.with_suffix(".lock")):
        if not (folder / READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            _install(python, _requirements(versions))
            (folder / READY).write_text(json.dumps(_requirements(versions)))
    return python


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(python: Path, requirements: list[str]) -> None:
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ]
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreter and checked version numbers)
            [*command, *requirements], capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ArchiveError(
            f"pip did not finish in {INSTALL_SECONDS} s while installing {', '.join(requirements)}"
        ) from None
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise ArchiveError(
            f"the recorded environment needs {', '.join(requirements)}; pip could not install it: {reason[0]}"
        )


def refit_in(python: Path, payload: Mapping[str, Any], source: Path) -> dict[str, Any]:
    """Run the refit worker of ``source`` (the project's root) under another interpreter.

    Raises ``ArchiveError`` with the worker's own words when it refuses or dies.
    """
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(source)}
    try:
        done = subprocess.run(  # noqa: S603
            [str(python), "-m", "studies.estimation.refit_worker"],
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            timeout=REFIT_SECONDS,
            cwd=source,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ArchiveError(f"the refit did not finish in {REFIT_SECONDS} s") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ArchiveError(f"the refit stopped with status {done.returncode}: {reason[0]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result
