"""The bundled suite, predictions for it, and people with and without the right to record."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from studies.models import Pool
from studies.services.transfer.submissions import load_suite
from studies.transfer.predictors import reference
from studies.transfer.suite import Suite
from tests.transfer.worlds import csv_file

SLUG = "rlvrambench"
HOME = f"/transfer/{SLUG}/"


@pytest.fixture
def pool(sample_studies) -> Pool:
    return Pool.objects.get(slug=SLUG)


@pytest.fixture
def suite(pool) -> Suite:
    return load_suite(pool)


@pytest.fixture
def copied(suite):
    """The reference's predictions for a track (or all) as a CSV file."""

    def make(selection: str = "all") -> bytes:
        return csv_file((query, label.value) for query, label in reference(suite, selection).items())

    return make


@pytest.fixture
def person(db):
    """Make a person of a role; ``staff`` is one as well."""

    def make(role: str):
        user = get_user_model().objects.create_user(f"the-{role}", password="x", is_staff=role == "staff")
        if role != "staff":
            user.groups.add(Group.objects.get_or_create(name=role)[0])
        return user

    return make
