"""Reading what is recorded: JSON pages, CSV, filters, order, and conditional requests."""

from __future__ import annotations

import csv
import io

import pytest

from studies.models import Event, SeedSlot
from tests.api.conftest import key_for
from tests.factories import make_attempt, make_study

TABLES = [
    "studies/", "pools/", "studies/demo/amendments/", "studies/demo/configurations/",
    "studies/demo/slots/", "studies/demo/attempts/", "studies/demo/exclusions/", "studies/demo/events/",
    "studies/demo/prediction-sets/", "studies/demo/predictions/", "studies/demo/seals/",
    "studies/demo/evaluations/",
]  # fmt: skip


def rows_of(answer) -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_reads_as_json_and_csv(study, uploader, table):
    page = uploader.get(table)
    assert page.status_code == 200
    assert set(page.json()) == {"next", "previous", "results"}
    flat = uploader.get(f"{table}?format=csv")
    assert flat.status_code == 200
    assert flat["Content-Type"].startswith("text/csv")
    assert len(rows_of(flat)) == len(page.json()["results"])


def test_pages_follow_each_other_while_rows_are_added(study, uploader):
    for number in range(7):
        Event(study=study, position=number, kind="x", status="noted", title=f"event {number}").save()
    seen, path = [], "studies/demo/events/?page_size=3"
    while path:
        body = uploader.get(path).json()
        seen += [row["position"] for row in body["results"]]
        path = (body["next"] or "").partition("/api/v1/")[2]
        if len(seen) == 3:
            Event(study=study, position=100, kind="x", status="noted", title="late").save()
    assert seen == [*range(7), 100]
    back = uploader.get("studies/demo/events/?ordering=-position&page_size=2").json()["results"]
    assert [row["position"] for row in back] == [100, 6]


def test_filters_narrow_and_wrong_values_are_named(study, uploader):
    first, second = SeedSlot.objects.filter(study=study)[:2]
    make_attempt(first, "completed", 30000, invocation_id="a")
    make_attempt(second, "memory_failure", diagnosis="cuda_oom", invocation_id="b")
    found = uploader.get("studies/demo/attempts/?outcome=memory_failure").json()["results"]
    assert [row["invocation_id"] for row in found] == ["b"]
    found = uploader.get(f"studies/demo/attempts/?slot={first.experiment_id}&origin=declared").json()[
        "results"
    ]
    assert [row["invocation_id"] for row in found] == ["a"]
    for query, name in [
        ("outcome=exploded", "outcome"), ("colour=red", "colour"), ("ordering=peak_mib", "ordering"),
        ("page_size=0", "page_size"), ("recorded_after=yesterday", "recorded_after"),
    ]:  # fmt: skip
        answer = uploader.get(f"studies/demo/attempts/?{query}")
        assert answer.status_code == 400, query
        assert answer.json()["error"]["fields"][0]["field"] == name


def test_an_unchanged_table_is_not_sent_again(study, uploader):
    first = uploader.get("studies/demo/slots/")
    again = uploader.get("studies/demo/slots/", **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (
        uploader.get("studies/demo/slots/?format=csv", **{"If-None-Match": first["ETag"]}).status_code == 200
    )
    make_attempt(SeedSlot.objects.filter(study=study)[0], "completed", 30000)
    fresh = uploader.get("studies/demo/slots/", **{"If-None-Match": first["ETag"]})
    assert fresh.status_code == 200
    assert fresh["ETag"] != first["ETag"]


def test_another_studys_records_leave_a_tag_as_it_is(study, uploader):
    first = uploader.get("studies/demo/slots/")
    make_study(slug="other")
    assert uploader.get("studies/demo/slots/", **{"If-None-Match": first["ETag"]}).status_code == 304
    all_studies = uploader.get("studies/")
    make_study(slug="third")
    assert uploader.get("studies/", **{"If-None-Match": all_studies["ETag"]}).status_code == 200


def test_a_spreadsheet_runs_nothing(study, uploader):
    Event(study=study, position=0, kind="x", status="noted", title="=HYPERLINK(1)", detail="+1").save()
    row = rows_of(uploader.get("studies/demo/events/?format=csv"))[0]
    assert (row["title"], row["detail"]) == ("'=HYPERLINK(1)", "'+1")


def test_a_long_table_is_streamed_whole(study, uploader, django_assert_max_num_queries):
    from rlvram_site.ledger.chain import record_all

    record_all(
        Event(study=study, position=number, kind="x", status="noted", title="t") for number in range(1203)
    )
    with django_assert_max_num_queries(20):
        rows = rows_of(uploader.get("studies/demo/events/?format=csv&ordering=-position"))
    assert [row["position"] for row in rows] == [str(number) for number in range(1202, -1, -1)]


def test_the_study_says_whether_it_is_prospective_and_where_its_ledger_ends(study, uploader):
    body = uploader.get("studies/demo/").json()
    assert body["seal_state"]["word"] == "not sealed"
    assert body["head"] == uploader.get("studies/demo/head/").json()
    assert body["head"]["sequence"] == 10


def test_reading_needs_a_login_unless_the_site_is_public(study, anonymous, private_site):
    answer = anonymous.get("studies/")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Api-Key"
    private_site.PUBLIC_READ = True
    assert anonymous.get("studies/").status_code == 200


def test_an_unknown_address_answers_in_the_same_shape(study, uploader):
    for path in (
        "nothing/here/",
        "studies/unknown/slots/",
        "studies/demo/slots/none/",
        "studies/demo/protocol/x/",
    ):
        answer = uploader.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
    assert uploader.client.delete("/api/v1/studies/demo/slots/", headers=uploader.headers).status_code == 405
    assert uploader.get("studies/", Accept="image/png").status_code == 406


def test_the_rate_limit_is_per_key(study, uploader, settings, monkeypatch):
    monkeypatch.setattr("rlvram_site.api.throttling.time.time", lambda: 1_000_000_000.0)
    settings.API_READS_PER_MINUTE = 3
    other = key_for("read")
    assert {uploader.get("studies/").status_code for _ in range(3)} == {200}
    refused = [uploader.get("studies/") for _ in range(4)]
    assert refused[-1].status_code == 429
    assert int(refused[-1]["Retry-After"]) <= 60
    assert refused[-1].json()["error"]["code"] == "throttled"
    assert other.get("studies/").status_code == 200
