"""The page that takes predictions: scored for everybody, recorded for those who may."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from rlvram_site.ledger.models import AppendOnlyError, LedgerEntry
from studies.models import TransferScore, TransferSubmission
from tests.transfer.conftest import HOME
from tests.transfer.worlds import csv_file

TEXTS = {"name": "copy", "version": "1.0", "declaration": "none"}


def send(client, content: bytes | None = None, *, record: bool = False, **fields):
    data = {"selected_track": "horizon_transfer", **fields, "record" if record else "score": "1"}
    if content is not None:
        data["file"] = SimpleUploadedFile("predictions.csv", content)
    return client.post(f"{HOME}submit/", data)


def test_a_visitor_can_have_predictions_scored_without_leaving_a_trace(client, copied):
    before = LedgerEntry.objects.count()
    page = send(client, copied("horizon_transfer"))
    assert page.status_code == 200
    assert "Scored, not recorded." in page.content.decode()
    assert page.context["sides"][1].document["overall"]["correct_three_state"] == 4
    assert LedgerEntry.objects.count() == before


def test_pasted_text_counts_as_a_file(client, copied):
    page = send(client, text=copied("horizon_transfer").decode())
    assert page.context["sides"][1].document["overall"]["approved"] == 3


def test_a_visitor_sees_no_button_to_record(client, suite):
    page = client.get(f"{HOME}submit/").content.decode()
    assert 'name="record"' not in page
    assert "log in" in page


@pytest.mark.parametrize("role", ["", "reviewer"])
def test_who_may_only_read_cannot_record(role, client, copied, person):
    if role:
        client.force_login(person(role))
    page = send(client, copied("horizon_transfer"), record=True, **TEXTS)
    assert page.status_code == 403
    assert not TransferSubmission.objects.exists()


@pytest.mark.parametrize("role", ["uploader", "staff"])
def test_uploaders_and_staff_record_and_get_a_permalink(role, client, copied, person):
    client.force_login(person(role))
    answer = send(client, copied("horizon_transfer"), record=True, **TEXTS)
    row = TransferSubmission.objects.get()
    assert answer.url == row.get_absolute_url() == f"{HOME}submissions/{row.content_sha256}/"
    page = client.get(answer.url).content.decode()
    assert "copy 1.0 is right for 4 of 4 queries to a longer horizon." in page
    assert (row.author, row.declaration) == (f"the-{role}", "none")


def test_the_same_again_is_the_same_submission(client, copied, person):
    client.force_login(person("uploader"))
    first = send(client, copied("horizon_transfer"), record=True, **TEXTS)
    again = send(client, copied("horizon_transfer"), record=True, **TEXTS)
    assert first.url == again.url
    assert "recorded before; nothing new was added" in client.get(again.url).content.decode()
    assert TransferSubmission.objects.count() == 1
    assert TransferScore.objects.count() == 2


def test_row_order_does_not_make_another_submission(client, copied, person):
    client.force_login(person("uploader"))
    header, *rows = copied("horizon_transfer").decode().splitlines()
    first = send(client, copied("horizon_transfer"), record=True, **TEXTS)
    again = send(client, "\r\n".join([header, *reversed(rows)]).encode(), record=True, **TEXTS)
    assert first.url == again.url


def test_other_content_under_the_same_name_and_version_is_refused(client, copied, person):
    client.force_login(person("uploader"))
    send(client, copied("horizon_transfer"), record=True, **TEXTS)
    page = send(client, copied("horizon_transfer"), record=True, **TEXTS | {"declaration": "all of them"})
    assert page.status_code == 409
    assert "send it as another version. Nothing was changed." in page.content.decode()
    assert TransferSubmission.objects.get().declaration == "none"


def test_broken_rules_are_named_and_nothing_is_recorded(client, suite, person):
    client.force_login(person("staff"))
    page = send(client, csv_file([("query-x", "maybe")]), record=True, **TEXTS)
    assert page.status_code == 400
    text = page.content.decode()
    for rule in ("missing: 4 (", "unexpected: 1 (query-x)", "invalid state: 1 (query-x"):
        assert rule in text
    assert not TransferSubmission.objects.exists()


@pytest.mark.parametrize("field", TEXTS)
def test_recording_needs_name_version_and_declaration(field, client, copied, person):
    client.force_login(person("uploader"))
    page = send(client, copied("horizon_transfer"), record=True, **TEXTS | {field: "  "})
    assert page.status_code == 400
    assert f"{field} is empty, expected a text of 1 to" in page.content.decode()
    assert not TransferSubmission.objects.exists()


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        (None, {}, "neither a file and a text were sent, expected one of them"),
        (b"x", {"text": "y"}, "both a file and a text were sent, expected one of them"),
        (b"", {}, "unreadable: 1 (nothing was sent); expected a CSV table or a JSON list"),
        (b"x" * (2**20 + 1), {}, "1,048,577 bytes, expected at most 1,048,576"),
        (b"x", {"selected_track": "size_transfer"}, "size_transfer is not one of the available choices"),
        (b"\x00\xff", {}, "unreadable: 1 (byte 1); expected UTF-8 text"),
    ],
)
def test_a_form_that_cannot_be_read(content, fields, message, client, suite):
    page = send(client, content, **fields)
    assert page.status_code == 400
    assert message in page.content.decode()


def test_what_is_recorded_cannot_be_changed(client, copied, person):
    client.force_login(person("uploader"))
    send(client, copied("horizon_transfer"), record=True, **TEXTS)
    row = TransferSubmission.objects.get()
    row.name = "another"
    with pytest.raises(AppendOnlyError):
        row.save()
    with pytest.raises(AppendOnlyError):
        row.scores.all().delete()


def test_a_typed_name_stays_text(client, copied, person):
    client.force_login(person("uploader"))
    answer = send(
        client, copied("horizon_transfer"), record=True, **TEXTS | {"name": "<script>alert(1)</script>"}
    )
    page = client.get(answer.url).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_somebody_who_is_not_logged_in_to_a_private_site_is_asked_to(client, suite, private_site):
    assert client.get(f"{HOME}submit/").url.startswith("/login/")
