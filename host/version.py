"""The one version number of the product: ``pyproject.toml`` states it, everything else asks here.

It stands beside the host's programs because those can be installed without the site.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "rlvram-dashboard"
HOST_DISTRIBUTION = "rlvram-host"  # this folder alone
_CHECKOUT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_UNPACKED = (
    Path(__file__).resolve().parent / "PKG-INFO"
)  # beside the host's files in their own source archive


@cache
def product_version() -> str:
    """The number of a checkout's ``pyproject.toml``, else that of the installed package.

    The checkout comes first: an editable installation keeps the number that it was
    made with. Without either, as in a folder of files copied by hand, it is ``unknown``.
    """
    return _stated_in(_CHECKOUT) or _of_archive(_UNPACKED) or _installed()


def _stated_in(pyproject: Path) -> str:
    """The version in a ``pyproject.toml`` of this product, empty if it is not one.

    Read by pattern: Python 3.10, on which hosts run, has no reader of TOML.
    """
    try:
        text = pyproject.read_text(encoding="utf-8")
    except OSError:
        return ""
    project = re.search(r"^\[project\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    stated = dict(re.findall(r'^(name|version) = "([^"]+)"$', project[1], re.MULTILINE)) if project else {}
    return stated.get("version", "") if stated.get("name") == DISTRIBUTION else ""


def _of_archive(package_info: Path) -> str:
    """The version in the metadata of an unpacked source archive, empty if there is none."""
    try:
        text = package_info.read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^Version: (\S+)$", text, re.MULTILINE)
    return found[1] if found and f"\nName: {HOST_DISTRIBUTION}\n" in text else ""


def _installed() -> str:
    for name in (DISTRIBUTION, HOST_DISTRIBUTION):
        with suppress(PackageNotFoundError):
            return version(name)
    return "unknown"
