"""A sealed study in which nothing has run yet."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from studies.models import Study
from tests.studies_archive.conftest import _archive_template, archive  # noqa: F401


@pytest.fixture
def planned(archive, db) -> Study:  # noqa: F811
    """The original study as it was before its first launch: planned, predicted and sealed."""
    archive.path("benchmark/estimation/execution_history.json").unlink()
    for path in archive.path("benchmark/estimation/results").iterdir():
        path.unlink()
    call_command("import_study", str(archive.root), "--study", "estimation", verbosity=0)
    return Study.objects.get(slug="estimation")
