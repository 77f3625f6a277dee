"""Memory admission against the API's own schema: no error of the server, no undocumented answer."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from rlvram_site.ledger.models import LedgerEntry
from tests.admission_api.conftest import ISSUE
from tests.api.conftest import key_for
from tests.api.test_own_schema import CHECKS, few, schema

of_admission = schema.include(path_regex="^/api/v1/admission/")


@pytest.fixture
def every_scope(art_848):
    return key_for("read", "witnesses", "status")


def known(case, issue) -> None:
    """Cases name an issue that exists, and for the statement's address a record of it."""
    names = {"owner": issue.owner, "name": issue.name, "number": issue.number,
             "key": issue.witness_rows.first().key}  # fmt: skip
    for name, value in names.items():
        if name in case.path_parameters:
            case.path_parameters[name] = value


@of_admission.parametrize()
@few
def test_with_every_scope(case, art_848, every_scope):
    known(case, art_848)
    case.call_and_validate(headers=every_scope.headers, checks=CHECKS)


@pytest.mark.one_engine("a caller without a key is refused before anything is looked up")
@of_admission.parametrize()
@few
def test_without_a_key_nothing_is_written(case, art_848, private_site):
    known(case, art_848)
    links = LedgerEntry.objects.count()
    answer = case.call()
    case.validate_response(answer, checks=CHECKS)
    assert answer.status_code in (400, 401, 404, 405, 406, 415)
    assert LedgerEntry.objects.count() == links


@of_admission.parametrize()
@few
def test_an_unknown_issue_is_not_found(case, art_848, every_scope):
    case.call_and_validate(headers=every_scope.headers, checks=CHECKS)


def test_the_schema_is_whole_and_without_a_warning(tmp_path):
    call_command(
        "spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yaml"),
        stdout=StringIO(), stderr=StringIO(),
    )  # fmt: skip
    text = (tmp_path / "schema.yaml").read_text()
    for address in (ISSUE.replace("OpenPipe/ART/848", "{owner}/{name}/{number}"), "admission/replay/"):
        assert f"/api/v1/{address}:" in text
