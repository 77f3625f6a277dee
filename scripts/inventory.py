"""What the site is made of: ``docs/sbom.cdx.json`` (CycloneDX, from the lock file) and ``docs/licences.md``.

Run after a change of ``requirements.lock``, in the tests' environment: ``python scripts/inventory.py``.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK, SBOM, LICENCES = (
    ROOT / "requirements.lock",
    ROOT / "docs" / "sbom.cdx.json",
    ROOT / "docs" / "licences.md",
)


HEAD = """# Licences

What `requirements.lock` installs, and under which licence each package says that it stands. The same with
hashes is in [sbom.cdx.json](sbom.cdx.json), in CycloneDX's format. Both are made by `python
scripts/inventory.py`; a test compares them with the lock file.

Shipped with the site itself: plotly.js (MIT), in `static/vendor/`.

| package | version | licence |
|---|---|---|
"""


def main() -> None:
    done = subprocess.run(  # noqa: S603 - our own arguments
        [
            sys.executable, "-m", "cyclonedx_py", "requirements", str(LOCK), "--output-format", "JSON",
            "--output-reproducible", "--pyproject", str(ROOT / "pyproject.toml"), "--output-file", "-",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    SBOM.write_text(json.dumps(json.loads(done.stdout), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = [f"| {name} | {version} | {licence(name)} |\n" for name, version in sorted(pins().items())]
    LICENCES.write_text(HEAD + "".join(lines), encoding="utf-8")


def pins() -> dict[str, str]:
    """Pinned versions by name, each package once; of this Python's where versions of Python differ."""
    found: dict[str, str] = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if line.startswith((" ", "#")) or "==" not in line:
            continue
        one = Requirement(line.removesuffix(" \\"))
        name = canonicalize_name(one.name)
        if name not in found or one.marker is None or one.marker.evaluate():
            found[name] = str(one.specifier).removeprefix("==")
    return found


def licence(name: str) -> str:
    """What the installed package says; a package that this machine does not need is named as such."""
    try:
        about = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed on this platform"
    if "License-Expression" in about:
        return about["License-Expression"]
    classes = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if "License ::" in text]
    if named := [text for text in classes if text != "OSI Approved"]:
        return ", ".join(sorted(named))
    short = about["License"].strip().splitlines() if "License" in about else []
    return short[0][:60] if short else "not said"


if __name__ == "__main__":
    main()
