"""Archives to import: one in the archive's layout that can be damaged, and the real one if it is there."""

from __future__ import annotations

import shutil

import pytest
from django.core.management import call_command

from tests.databases import STUDIES
from tests.studies_archive.archives import Archive, write_archive


@pytest.fixture(scope="session")
def _archive_template(tmp_path_factory) -> Archive:
    return write_archive(tmp_path_factory.mktemp("template") / "archive")


@pytest.fixture
def archive(_archive_template, tmp_path) -> Archive:
    """A whole archive with the bundled facts, the test's own to damage."""
    shutil.copytree(_archive_template.root, tmp_path / "archive")
    return Archive(tmp_path / "archive")


@pytest.fixture
def source(archive_path) -> str:
    """The real archive, or the bundled facts where that is not there."""
    return str(archive_path or STUDIES)


@pytest.fixture
def imported(source, db, start_databases) -> str:
    """A database with both real studies; the value is what they were imported from."""
    start_databases.ensure("imported")
    return source


@pytest.fixture
def run(capsys):
    """Run a command and return what it printed."""

    def call(*args: str) -> str:
        capsys.readouterr()
        call_command(*args)
        return capsys.readouterr().out

    return call
