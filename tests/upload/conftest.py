"""A served site with one study and a key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from rlvram_site.api.keys import issue_key
from studies.models import SeedSlot
from tests.api.logs import COMPLETED, SAMPLES
from tests.factories import make_small_study
from tests.upload.site import Site


@pytest.fixture(scope="session")
def _server(django_db_setup) -> Iterator[Site]:
    site = Site()
    yield site
    site.stop()


@pytest.fixture
def site(transactional_db, _server) -> Site:
    """A running server, one for all tests; the database holds the study ``demo`` and nothing else."""
    make_small_study(slug="demo")
    _server.start()
    return _server


@pytest.fixture
def key(site) -> str:
    owner = get_user_model().objects.create_user("ci", is_staff=True)
    return issue_key(name="ci", owner=owner, scopes=["read", "attempts", "declare"])[1]


@pytest.fixture
def run_directory(tmp_path) -> Path:
    """What a completed run of the study's trainer leaves behind, with weights beside it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "training-7.log").write_text(COMPLETED)
    (folder / "gpu-memory-7.csv").write_text(SAMPLES)
    (folder / "trial-7.json").write_text(json.dumps({"exit_code": 0, "job_id": "7"}))
    (folder / "weights.safetensors").write_bytes(b"never sent")
    return folder


def command(url: str, key: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """``rlvram-upload --url URL --study demo ARGUMENTS``; without a key in the environment if it is empty."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RLVRAM_KEY")}
    if key:
        own["RLVRAM_KEY"] = key
    return subprocess.run(
        [sys.executable, "-m", "host.upload", "--url", url, "--study", "demo", *map(str, arguments)],
        env=own | environment, text=True, capture_output=True, check=False, timeout=180,
    )  # fmt: skip


def slot(number: int = 0) -> str:
    return SeedSlot.objects.order_by("pk")[number].experiment_id
