"""Finding an issue among hundreds: search, filters, order, pages, in as many queries as for three."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from admission.models import (
    Change,
    ChangeHead,
    IssueEvent,
    IssueSummary,
    OpenQuestion,
    Review,
    StatusUpdate,
    TrackedIssue,
    Witness,
)
from admission.models.base import Origin
from admission.services.recording import record_status, stated_time
from rlvram_site.ledger.chain import record_all
from tests.api.conftest import key_for

ADDRESS = "/admission/"
LAST_WEEK = (dt.datetime.now(dt.UTC) - dt.timedelta(days=7)).date().isoformat()
LAST_YEAR = (dt.datetime.now(dt.UTC) - dt.timedelta(days=300)).date().isoformat()


def track(number: int, *, name: str = "cat", title: str = "", said: str = LAST_YEAR, closed: bool = False,
          outcome: str = "", head: bool = False, reviewed: bool = False) -> TrackedIssue:  # fmt: skip
    """An issue with a title, a status, and what the flags ask for."""
    issue = TrackedIssue(owner="octo", name=name, number=number)
    rows: list = [
        IssueEvent(kind="opened", after=title or f"Problem {number}"),
        StatusUpdate(claim=f"claim {number}"),
        OpenQuestion(text="Why?"),
    ]
    if closed:
        rows.append(IssueEvent(kind="closed"))
    if outcome:
        rows.append(Witness(title="run", decision="admitted", outcome=outcome))
    if head:
        change = Change(title="fix", number=number + 1)
        rows += [change, ChangeHead(change=change, sha="0123abcd", state="open")]
        if reviewed:
            rows.append(Review(change=change, head_sha="0123abcd", reviewer="Ada", verdict="clear"))
    for place, row in enumerate(rows):
        row.issue, row.origin, row.key = issue, Origin.RECORD, f"row-{place}"
        row.set_stated(stated_time(said))
    record_all([issue, *rows])
    return issue


@pytest.fixture
def some(db):
    """Five issues that differ in what the filters ask for."""
    track(1, title="Planner refuses everything", outcome="device_oom")
    track(2, title="Loader keeps two copies", head=True)
    track(3, name="dog", title="Scheduler stalls", closed=True)
    track(4, title="Cache is never released", said=LAST_WEEK, head=True, reviewed=True)
    track(5, title="Slow start", said=LAST_WEEK, outcome="completed")


def listed(client, **query) -> list[int]:
    answer = client.get(ADDRESS, query)
    assert answer.status_code == 200
    return [row.issue.number for row in answer.context["page"]]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({}, {1, 2, 3, 4, 5}),
        ({"search": "loader"}, {2}),
        ({"search": "keeps LOADER"}, {2}),
        ({"search": "#4"}, {4}),
        ({"search": "claim 5"}, {5}),
        ({"search": "octo dog"}, {3}),
        ({"search": "nothing like it"}, set()),
        ({"state": "closed"}, {3}),
        ({"state": "open"}, {1, 2, 4, 5}),
        ({"repository": "octo/dog"}, {3}),
        ({"repository": "Octo/Cat"}, {1, 2, 4, 5}),
        ({"unsafe": "on"}, {1}),
        ({"without_verdict": "on"}, {2}),
        ({"unanswered": "on"}, {1, 2}),
        ({"unanswered": "on", "without_verdict": "on", "state": "open"}, {2}),
    ],
)
def test_the_list_can_be_searched_and_filtered(query, numbers, some, client):
    assert set(listed(client, **query)) == numbers


@pytest.mark.parametrize(
    ("ordering", "first"), [("-said", 5), ("said", 1), ("title", 4), ("-unsafe", 1), ("repository", 1)]
)
def test_the_list_can_be_ordered(ordering, first, some, client):
    found = listed(client, ordering=ordering)
    assert found[0] == first or (ordering == "-said" and found[0] == 4)
    assert len(found) == 5


def test_what_is_asked_for_stands_in_words_and_nothing_found_is_said(some, client):
    page = client.get(ADDRESS, {"unsafe": "on"}).content.decode()
    assert "1 of 5 tracked issues matches what you asked for." in page
    empty = client.get(ADDRESS, {"search": "zzz"}).content.decode()
    assert "Nothing matches." in empty


@pytest.mark.parametrize("query", [{"state": "ajar"}, {"ordering": "colour"}, {"search": "x" * 300}])
def test_a_wrong_question_is_refused_at_its_field_and_the_list_stays(query, some, client):
    answer = client.get(ADDRESS, query)
    assert answer.status_code == 400
    assert 'class="errorlist"' in answer.content.decode()
    assert len(answer.context["page"]) == 5


@pytest.mark.parametrize(
    "query", [{"search": "\x00"}, {"page": "x"}, {"page": "99"}, {"search": "#" + "9" * 400}]
)
def test_odd_input_is_no_error_of_the_server(query, some, client):
    assert client.get(ADDRESS, query).status_code in (200, 400)


def test_what_is_recorded_later_shows_at_once(some, client):
    assert "all done" not in client.get(ADDRESS).content.decode()
    record_status(TrackedIssue.objects.get(number=1), claim="all done", body="", stated=LAST_WEEK)
    assert "all done, since" in client.get(ADDRESS).content.decode()
    assert listed(client, unanswered="on") == [2]


def test_the_api_takes_the_same_questions(some):
    reader = key_for("read")

    def numbers(query: str) -> set[int]:
        answer = reader.get(f"admission/issues/?{query}")
        assert answer.status_code == 200, answer.content
        return {row["number"] for row in answer.json()["results"]}

    assert numbers("search=loader") == {2}
    assert numbers("state=closed") == {3}
    assert numbers("unsafe=true") == {1}
    assert numbers("unsafe=false") == {2, 3, 4, 5}
    assert numbers("without_verdict=true") == {2}
    assert numbers("unanswered=true") == {1, 2}
    assert numbers("repository=octo/dog") == {3}
    assert reader.get("admission/issues/?unsafe=perhaps").status_code == 400
    ordered = reader.get("admission/issues/?ordering=-unsafe").json()["results"]
    assert ordered[0]["number"] == 1


def test_pages_of_the_api_by_order_hold_each_issue_once(some):
    reader = key_for("read")
    seen: list[int] = []
    path = "admission/issues/?ordering=title&page_size=2"
    while path:
        answer = reader.get(path).json()
        seen += [row["number"] for row in answer["results"]]
        path = (answer["next"] or "").partition("/api/v1/")[2]
    assert seen == [4, 2, 1, 3, 5]


def queries(call) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert call().status_code == 200
    return len(captured)


def test_two_hundred_issues_cost_as_many_queries_as_three(db, client):
    reader = key_for("read")
    for number in range(1, 4):
        track(number, outcome="device_oom", head=True)
    reader.get("admission/issues/")
    client.get(ADDRESS)
    few = queries(lambda: client.get(ADDRESS)), queries(lambda: reader.get("admission/issues/"))
    made = len(IssueSummary.objects.all())
    for number in range(4, 204):
        track(number, outcome="device_oom", head=True)
    anew = queries(lambda: client.get(ADDRESS))
    many = queries(lambda: client.get(ADDRESS)), queries(lambda: reader.get("admission/issues/"))
    assert (made, IssueSummary.objects.count()) == (3, 203)
    assert many == few
    assert anew - few[0] < 30, "summaries of 200 new issues are made together"


def test_the_list_has_pages(db, client):
    for number in range(1, 31):
        track(number)
    assert len(listed(client)) == 25
    assert len(listed(client, page=2)) == 5
    assert "page=2" in client.get(ADDRESS, {"search": "claim"}).content.decode()
