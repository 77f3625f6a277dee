"""A forge to follow, set as the site's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from admission.sync import forge as forge_module
from tests.admission_sync.forge import LocalForge, running_forge


@pytest.fixture
def forge(settings, monkeypatch) -> Iterator[LocalForge]:
    """A forge on this machine with the issue octo/cat#7; waits between tries take no time."""
    monkeypatch.setattr(forge_module, "FIRST_WAIT_SECONDS", 0.001)
    with running_forge() as running:
        settings.FORGE_API_URL = running.url
        settings.FORGE_HOST = running.host
        settings.FORGE_TOKEN = ""
        running.issue()
        yield running
