"""A thread of another project and style imports by the same rules.

Hand count of tests/admission/data/harbor: a report with three dated updates under it (a bracketed day in a
heading, a bold edit with a time, a heading "as of"); three comments; seven events, one of an unknown kind.
"""

from __future__ import annotations

import datetime as dt
import json

import pytest

from admission.models import IssueEvent, Proposal, StatusUpdate, ThreadItem, TrackedIssue
from admission.services.standing import current_status, lifecycle, statuses
from tests.admission.conftest import run
from tests.admission.threads import other_project, write, write_pages


@pytest.fixture
def issue(db) -> TrackedIssue:
    thread = other_project()
    run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    return TrackedIssue.objects.get()


def test_updates_appended_below_the_report_are_found_in_their_order(issue):
    found = [(s.update.kind, s.update.stated_words, s.update.claim) for s in reversed(statuses(issue))]
    assert found == [
        ("report", "2026-02-10T08:12:44Z", "original report"),
        ("update", "2026-02-20", "Half of it is solved by #81 (9f3c2ab1)."),
        (
            "update",
            "4 March 2026, 14:00 UTC",
            "the queue is bounded since 1b2c3d4e5f; open is only the back-off.",
        ),
        ("update", "March 9, 2026", "solved"),
    ]
    assert current_status(statuses(issue)).update.claim == "solved"


def test_a_date_in_a_code_block_opens_no_status(issue):
    assert not StatusUpdate.objects.filter(stated_day=dt.date(2026, 2, 11)).exists()


def test_instants_stay_instants(issue):
    assert ThreadItem.objects.get(key="comment-902").stated_precision == "instant"


def test_every_event_is_kept_also_those_of_unknown_kinds(issue):
    events = ThreadItem.objects.filter(kind="event").order_by("sort_at")
    assert [item.event for item in events] == [
        "labeled", "cross-referenced", "committed", "sparkled", "closed", "reopened", "closed",
    ]  # fmt: skip
    sparkled = events.get(event="sparkled")
    assert not sparkled.known
    assert sparkled.raw["sparkle"] == {"colour": "teal"}


def test_the_state_follows_closing_and_reopening(issue):
    assert lifecycle(issue).state == "closed"
    assert lifecycle(issue, dt.date(2026, 3, 7)).state == "reopened"
    assert IssueEvent.objects.filter(kind="closed").first().cause.startswith("commit 1b2c3d4e5f")


def test_a_bold_name_signs_and_a_note_does_not(issue):
    signed = dict(ThreadItem.objects.filter(kind="comment").values_list("key", "signed_name"))
    assert signed == {"comment-901": "", "comment-902": "Tomas Ruiz", "comment-903": ""}


def test_references_and_sizes_are_proposed(issue):
    kinds = [(p.kind, p.value) for p in Proposal.objects.all()]
    assert ("change", {"repository": "lanternworks/winch", "number": 12}) in kinds
    assert ("change", {"repository": "", "number": 81}) in kinds
    assert ("size", {"size_bytes": 4294967296}) in kinds
    assert ("commit", {"sha": "9f3c2ab1"}) in kinds


@pytest.mark.parametrize("shape", ["array", "pages", "lines", "slurped", "overlapping pages", "utf-16"])
def test_a_timeline_reads_alike_in_every_shape_that_tools_print(shape, db, tmp_path):
    thread = other_project()
    pages = [[], []]
    decoder, text, end = json.JSONDecoder(), thread.timeline.read_text(), 0
    for page in pages:
        value, end = decoder.raw_decode(text, end)
        page += value
    path = tmp_path / "timeline.json"
    if shape == "array":
        write(path, pages[0] + pages[1])
    elif shape == "pages":
        write_pages(path, pages)
    elif shape == "slurped":
        write(path, pages)
    elif shape == "overlapping pages":
        write_pages(path, [pages[0], pages[0][-1:] + pages[1]])
    elif shape == "lines":
        path.write_text("\n".join(json.dumps(item) for item in pages[0] + pages[1]))
    else:
        path.write_text(json.dumps(pages[0] + pages[1]), encoding="utf-16")
    lines = run("import_issue", str(thread.issue), "--timeline", str(path))
    assert "added comments: 3" in lines
    assert "added events: 7" in lines
