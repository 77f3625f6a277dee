"""Keys, a study to upload to, and a client that speaks JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.cache import caches
from django.test import Client

from rlvram_site.api.keys import issue_key
from studies.models import Study
from tests.factories import make_small_study


@dataclass
class Api:
    """A caller: anonymous, with a key, or signed in."""

    client: Client
    headers: dict[str, str]

    def get(self, path: str, **headers: str):
        return self.client.get(f"/api/v1/{path}", headers={**self.headers, **headers})

    def post(self, path: str, body, **headers: str):
        return self.client.post(
            f"/api/v1/{path}",
            body if isinstance(body, bytes) else json.dumps(body),
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def form(self, path: str, fields: dict):
        return self.client.post(f"/api/v1/{path}", fields, headers=self.headers)

    def put(self, path: str, body: bytes, **headers: str):
        return self.client.put(
            f"/api/v1/{path}",
            body,
            content_type="application/octet-stream",
            headers={**self.headers, **headers},
        )


def make_person(name: str, *groups: str, **fields):
    """A person with roles."""
    user = get_user_model().objects.create_user(name, password="a long pass phrase", **fields)
    user.groups.set(Group.objects.get_or_create(name=group)[0] for group in groups)
    return user


def key_for(*scopes: str, owner=None, study: Study | None = None, **fields) -> Api:
    """A caller with a new key of these scopes."""
    owner = owner or make_person(
        f"owner-{'-'.join(scopes)}-{get_user_model().objects.count()}", is_staff=True
    )
    _, secret = issue_key(name="test key", owner=owner, scopes=list(scopes), study=study, **fields)
    return Api(Client(), {"Authorization": f"Api-Key {secret}"})


@pytest.fixture(autouse=True)
def _fresh_rates():
    """Keys of one test have the numbers of another's; their requests must not be counted together."""
    caches["rates"].clear()


@pytest.fixture
def study(db) -> Study:
    """A study with two configurations of three slots; nothing has run."""
    return make_small_study(slug="demo")


@pytest.fixture
def uploader(study) -> Api:
    return key_for("read", "attempts")


@pytest.fixture
def declarer(study) -> Api:
    return key_for("read", "attempts", "declare")


@pytest.fixture
def anonymous(db) -> Api:
    return Api(Client(), {})
