"""A sealed study in which nothing has run yet."""

from __future__ import annotations

import pytest

from studies.models import Study
from tests.studies_archive.conftest import _archive_template, archive  # noqa: F401


@pytest.fixture
def planned(db, start_databases) -> Study:
    """The original study as it was before its first launch: planned, predicted and sealed."""
    start_databases.ensure("planned")
    return Study.objects.get(slug="estimation")
