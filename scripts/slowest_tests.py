"""``slowest_tests.py REPORT…``: prints the ten slowest tests of JUnit reports named after engines."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

SHOWN = 10


def slowest(reports: list[Path]) -> list[str]:
    """One line per test with its seconds (setting up included), the slowest first."""
    found = []
    for report in reports:
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found.append((float(case.get("time", 0)), f"{name} ({report.stem})"))
    found.sort(reverse=True)
    return [f"{seconds:7.1f} s  {name}" for seconds, name in found[:SHOWN]]


if __name__ == "__main__":
    there = [path for path in map(Path, sys.argv[1:]) if path.is_file()]
    print("\n".join(slowest(there)))
