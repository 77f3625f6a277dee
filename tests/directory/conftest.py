"""A folder to break."""

from __future__ import annotations

import pytest
from django.core.management import call_command


@pytest.fixture
def folder(tmp_path):
    """The example that ``new_study`` writes."""
    path = tmp_path / "study"
    call_command("new_study", path, verbosity=0, stdout=open("/dev/null", "w"))  # noqa: SIM115
    return path
