"""Fixtures of the site's own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.prepared import run


@pytest.fixture(scope="session")
def prepared_data(tmp_path_factory) -> Path:
    """A data folder as ``./run --no-serve`` leaves it."""
    data = tmp_path_factory.mktemp("prepared") / "data"
    done = run("--no-serve", "--data", data)
    assert done.returncode == 0, done.stderr
    return data
