"""Fixtures of the site's own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.prepared import prepared_folder


@pytest.fixture(scope="session")
def prepared_data(tmp_path_factory) -> Path:
    """A data folder as ``./run --no-serve`` leaves it."""
    return prepared_folder(tmp_path_factory, "site")
