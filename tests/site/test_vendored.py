"""What the pages load of others is what its list says, and can draw every figure."""

from __future__ import annotations

import hashlib
import re

from plotly.offline import get_plotlyjs_version

from tests.conftest import ROOT

VENDOR = ROOT / "static" / "vendor"
ROW = re.compile(
    r"^\| `(?P<path>[^`]+)` \| (?P<version>\S+) \| .* \| MIT \| `(?P<sha256>[0-9a-f]{64})` \|$", re.M
)
DRAWN = {"bar", "scatter"}  # what the basic bundle knows, pies aside


def listed():
    return list(ROW.finditer((VENDOR / "README.md").read_text()))


def test_every_file_has_the_hash_of_the_list():
    for row in listed():
        assert hashlib.sha256((VENDOR / row["path"]).read_bytes()).hexdigest() == row["sha256"]
        assert (VENDOR / row["path"]).parent.joinpath("LICENSE").read_text().startswith("MIT License")


def test_no_other_program_lies_there():
    programs = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*.js")}
    assert programs == {row["path"] for row in listed()}


def test_figures_are_written_for_the_version_that_draws_them():
    (row,) = [row for row in listed() if "plotly" in row["path"]]
    assert row["version"] == get_plotlyjs_version()
    assert row["path"] in (ROOT / "templates" / "_charts.html").read_text()


def test_figures_use_only_what_the_bundle_can_draw():
    used = set()
    for folder in ("studies", "admission"):
        for path in (ROOT / folder / "figures").rglob("*.py"):
            text = path.read_text()
            used |= {name.lower() for name in re.findall(r"\.add_([a-z]+)\(", text)} - {"trace"}
            used |= {name.lower() for name in re.findall(r"\bgo\.([A-Z]\w+)\(", text)} - {"figure"}
    assert used - {"annotation", "shape", "hline", "vline", "vrect", "hrect"} <= DRAWN
