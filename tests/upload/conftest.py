"""A served site with one study and a key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model

from rlvram_site.api.keys import issue_key
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
