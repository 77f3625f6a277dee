"""Is there a wheel for every pin, for each Python that the site runs on? Asks the package index.

    python scripts/check_wheels.py

Needs a connection, so it is no test. Exits 1 and names what is missing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def main() -> None:
    bad = 0
    for lock in ("requirements.lock", "requirements-dev.lock"):
        for python in PYTHONS:
            done = subprocess.run(  # noqa: S603 - our own arguments
                [
                    sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run",
                    "--quiet",
                    "--ignore-installed", "--only-binary=:all:", "--no-deps", "--require-hashes",
                    "--python-version", python, "--target", "/nowhere", "-r", str(ROOT / lock),
                ],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            bad += done.returncode != 0
            last = (done.stderr.strip().splitlines() or ["failed"])[-1]
            found = last if done.returncode else "a wheel for every pin"
            print(f"{lock}  Python {python}  {found}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
