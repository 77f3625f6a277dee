"""Another account on the same machine, and a data folder that lies where others can look."""

from __future__ import annotations

import shutil

import pytest

from tests.site.prepared import prepared_folder, run

pytestmark = pytest.mark.one_engine("the embedded site's folder")


def test_nothing_in_it_can_be_read_by_others(tmp_path_factory, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(prepared_folder(tmp_path_factory, "loose"), data)
    data.chmod(0o755)
    for path in data.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = run("--no-serve", "--data", data)
    assert done.returncode == 0, done.stderr
    assert (data / "site.sqlite3").exists()
    open_to_others = [path.name for path in data.iterdir() if path.stat().st_mode & 0o077]
    assert open_to_others == []
