"""A study's folder as a zip archive: only what belongs there is taken, and never too much."""

from __future__ import annotations

import io
import zipfile

import pytest

from studies.directory import files as limits
from studies.directory.files import read_archive
from studies.directory.problems import Problems


def archive_of(members, compression=zipfile.ZIP_DEFLATED) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    out.seek(0)
    return out


def read(file):
    problems = Problems()
    return read_archive(file, problems), [str(item) for item in problems.all]


@pytest.mark.parametrize("outer", ["", "my study/"])
def test_the_files_come_out_with_or_without_a_folder_around_them(outer):
    members = [("study.yaml", b"slug: a"), ("models/a/config.json", b"{}"), ("README.md", b"read me")]
    found, problems = read(archive_of((outer + name, content) for name, content in members))
    assert problems == []
    assert found == {"study.yaml": b"slug: a", "models/a/config.json": b"{}"}


@pytest.mark.parametrize(
    "name",
    [
        "../study.yaml", "/etc/passwd", "models/a/../../x", "models/../config.json", "models/a/b/config.json",
        "inner.zip", "models\\a\\config.json", "setup.py", "models/.hidden/config.json",
    ],
)  # fmt: skip
def test_what_does_not_belong_is_named(name):
    found, problems = read(archive_of([("study.yaml", b"x"), (name, b"y")]))
    assert found == {"study.yaml": b"x"}
    assert len(problems) == 1
    assert "models/NAME/config.json" in problems[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_stands_twice_and_a_link_are_refused():
    link = zipfile.ZipInfo("protocol.yaml")
    link.external_attr = 0o120777 << 16
    found, problems = read(archive_of([("study.yaml", b"x"), ("study.yaml", b"y"), (link, b"/etc/passwd")]))
    assert found == {"study.yaml": b"x"}
    assert len(problems) == 2


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 100_000)
    found, problems = read(archive_of([("pool.csv", b"0" * 60_000), ("configurations.csv", b"0" * 60_000)]))
    assert found == {}
    assert "at most 100,000 bytes when unpacked" in problems[0]
    monkeypatch.setattr(limits, "MAX_FILES", 1)
    assert "at most 1" in read(archive_of([("study.yaml", b""), ("pool.csv", b"")]))[1][0]


def test_what_is_no_archive_is_refused():
    broken = archive_of([("study.yaml", b"slug: " + b"a" * 1000)]).getvalue()
    for content in (b"", b"PK", b"slug: a", broken[:-30], broken[:60] + b"\xff" * 8 + broken[68:]):
        found, problems = read(io.BytesIO(content))
        assert found == {} or problems == []
        assert problems
