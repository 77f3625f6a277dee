"""The end of ``./test``: the ten slowest tests of both engines in one list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def report(path: Path, seconds: list[float]) -> Path:
    cases = "".join(
        f'<testcase classname="tests.area" name="test_{number}" time="{value}"/>'
        for number, value in enumerate(seconds)
    )
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def printed(*reports: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "slowest_tests.py", *reports],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_the_slowest_of_both_engines_stand_in_one_list(tmp_path):
    first = report(tmp_path / "SQLite.xml", [0.5, 30, 2, *[0.1] * 20])
    second = report(tmp_path / "PostgreSQL.xml", [40.25])
    lines = printed(first, second)
    assert len(lines) == 10
    assert lines[0] == "   40.2 s  tests.area::test_0 (PostgreSQL)"
    assert lines[1] == "   30.0 s  tests.area::test_1 (SQLite)"


def test_an_engine_that_ran_nothing_is_left_out(tmp_path):
    assert printed(report(tmp_path / "SQLite.xml", [1]), tmp_path / "PostgreSQL.xml") == [
        "    1.0 s  tests.area::test_0 (SQLite)"
    ]
