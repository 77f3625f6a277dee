"""Somebody who sends numbers of thousands of digits wherever a number is read."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from rlvram_site.api.keys import Scope, issue_key

NUMBERS = ["9" * 5000, "-" + "9" * 5000, "9" * 4000, "9" * 25, "1e400", "１" * 5000, "9" * 19]


@pytest.fixture
def staff(db):
    user = get_user_model().objects.create_superuser("ada", "", "a long passphrase")
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def with_numbers(patterns, prefix: str = ""):
    """Every address of the site that takes a whole number, with ``NUMBER`` in its places."""
    for pattern in patterns:
        place = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from with_numbers(pattern.url_patterns, place)
        elif isinstance(pattern, URLPattern) and "<int:" in place:
            yield "/" + re.sub(r"<[^>]+>", "x", re.sub(r"<int:\w+>", "NUMBER", place))


ADDRESSES = sorted(set(with_numbers(get_resolver().url_patterns)))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[:1]}{len(number)}")
def test_no_address_with_a_number_fails(staff, number):
    assert len(ADDRESSES) > 5
    for address in ADDRESSES:
        for method in ("get", "post"):
            answer = getattr(staff, method)(address.replace("NUMBER", number))
            assert answer.status_code < 500, (method, address)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[:1]}{len(number)}")
@pytest.mark.parametrize(
    "address",
    [
        "/admission/?page=",
        "/jobs/?page=",
        "/jobs/?study=",
        "/api/v1/studies/?page=",
        "/api/v1/studies/?page_size=",
        "/api/v1/admission/issues/?number=",
        "/admission/?q=",
        "/admin/ledger/ledgerentry/?p=",
        "/admin/ledger/ledgerentry/?id=",
        "/notices/?about=issue:",
        "/?as_of=",
        "/admission/calculator/?tokens=",
    ],
)
def test_no_filter_or_page_fails(staff, address, number):
    assert staff.get(f"{address}{number}").status_code < 500


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 25, "-1" + "0" * 4000])
def test_no_body_fails(staff, number):
    _, secret = issue_key(name="robot", owner=get_user_model().objects.get(), scopes=Scope.values)
    machine = Client(raise_request_exception=False)
    for path in ("admission/estimates/", "hosts/", "studies/x/attempts/", "jobs/", "transfer/submissions/"):
        for text in (f'{{"exit_code": {number}}}', f"[{number}]", number, f'{{"a": {{"b": [{number}]}}}}'):
            answer = machine.post(
                f"/api/v1/{path}", text, content_type="application/json",
                headers={"Authorization": f"Api-Key {secret}"},
            )  # fmt: skip
            assert 400 <= answer.status_code < 500, (path, answer.content[:200])
            assert set(json.loads(answer.content)) == {"error"}


@pytest.mark.parametrize("name", ["record.json", "bundle.json"])
def test_no_command_fails_with_a_traceback(db, tmp_path, name):
    file = tmp_path / name
    file.write_text('{"format": ' + "9" * 5000 + "}")
    for command in ("import_record", "import_study", "import_issue"):
        with pytest.raises(CommandError):
            call_command(command, str(file), stdout=io.StringIO())
