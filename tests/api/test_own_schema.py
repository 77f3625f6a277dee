"""The API against its own schema: whatever is sent, no error of the server and no undocumented answer."""

from __future__ import annotations

import re

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rlvram_site.api.views import openapi_document
from rlvram_site.ledger.models import LedgerEntry
from studies.models import SeedSlot
from tests.api.conftest import key_for
from tests.factories import make_attempt

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_dict(openapi_document())
django_application = get_wsgi_application()


def application(environ, start_response):
    """The site, in the test's own transaction: Django's end of a request must not close its connection."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    try:
        return django_application(environ, start_response)
    finally:
        request_started.connect(close_old_connections)
        request_finished.connect(close_old_connections)


schema.app = application
few = settings(
    max_examples=12,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=[
        *settings.default.suppress_health_check,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)


def known(case, study) -> None:
    """Where an address names a record, half of the cases name one that exists."""
    slot = SeedSlot.objects.filter(study=study)[0]
    names = {"study": "demo", "slot": slot.experiment_id, "invocation": "known",
             "configuration": slot.configuration.configuration_id}  # fmt: skip
    for name, value in names.items():
        if name in case.path_parameters:
            case.path_parameters[name] = value


@pytest.fixture
def world(study):
    make_attempt(SeedSlot.objects.filter(study=study)[0], "completed", 30000, invocation_id="known")
    return study


@pytest.fixture
def every_scope(world):
    return key_for("read", "plan", "attempts", "declare", "exclusions", "evaluations")


@schema.include(path_regex="^/api/v1/(studies|pools|$)").parametrize()
@few
def test_with_every_scope(case, world, every_scope):
    known(case, world)
    case.call_and_validate(headers=every_scope.headers, checks=CHECKS)


@pytest.mark.one_engine("a caller without a key is refused before anything is looked up")
@schema.include(path_regex="^/api/v1/(studies|pools|$)").parametrize()
@few
def test_without_a_key_nothing_is_written(case, world, private_site):
    known(case, world)
    links = LedgerEntry.objects.count()
    answer = case.call()
    case.validate_response(answer, checks=CHECKS)
    assert answer.status_code in (400, 401, 404, 405, 406, 415)
    assert LedgerEntry.objects.count() == links


def test_the_schema_and_its_page_are_served_from_here(study, uploader):
    assert uploader.get("schema/").status_code == 200
    page = Client().get("/api/v1/docs/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "<style" not in text
    assert re.findall(r'(?:src|href)="(?:https?:)?//', text) == []
    assert "<script>" not in text
