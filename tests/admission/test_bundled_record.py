"""The bundled record of OpenPipe/ART #848, and moving records between sites."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from admission.models import Change, IssueEvent, StatusUpdate, TrackedIssue
from admission.services.exchange import as_text, document_sha256
from admission.services.standing import current_status, lifecycle, open_questions, statuses, thread_count
from admission.services.timeline import find_statement
from rlvram_site.ledger.models import LedgerEntry
from tests.admission.conftest import RECORD, refusal, run
from tests.admission.threads import long_running_thread, other_project

PULL_REQUESTS = {857, 858, 860, 861, 872, 877, 880, 888, 889, 891, 893, 898, 899, 900, 907, 929, 931, 971}


def changed(tmp_path, change) -> str:
    """The bundled record with something changed and its digest made right again; the file's name."""
    document = json.loads(RECORD.read_text())
    change(document)
    document["sha256"] = document_sha256(document)
    path = tmp_path / "record.json"
    path.write_text(as_text(document))
    return str(path)


def test_it_carries_every_pull_request_of_the_issue(art_848):
    assert set(Change.objects.exclude(number=None).values_list("number", flat=True)) == PULL_REQUESTS


def test_it_carries_eleven_statements_and_the_current_one_is_of_september_25(art_848):
    standing = statuses(art_848)
    assert len(standing) == 11
    assert current_status(standing).update.stated_day == dt.date(2026, 9, 25)


def test_the_close_by_907_and_the_reopening_are_events_with_their_cause(art_848):
    closed, reopened = IssueEvent.objects.filter(kind__in=["closed", "reopened"]).order_by("id")
    assert "#907" in closed.cause
    assert reopened.stated_day == dt.date(2026, 9, 17)
    assert lifecycle(art_848).state == "reopened"
    assert lifecycle(art_848, dt.date(2026, 9, 16)).state == "open"


def test_related_issues_say_why_they_are_separate(art_848):
    named = {(row.repository, row.number) for row in art_848.relatedissue_rows.all()}
    assert {("OpenPipe/ART", n) for n in (869, 870, 901, 902)} <= named
    assert {("caladan", n) for n in (260, 400, 411)} <= named
    assert all(row.why_separate for row in art_848.relatedissue_rows.all())


def test_the_gap_says_where_it_is(art_848):
    count = thread_count(art_848)
    assert count.missing_comments == 7
    assert count.place == "between the ninth and the tenth comment that the saved page shows"


def test_an_answered_question_is_no_longer_open(art_848):
    keys = {standing.question.key for standing in open_questions(art_848)}
    assert "question-target-backward" not in keys
    before = {s.question.key for s in open_questions(art_848, dt.date(2026, 9, 21))}
    assert "question-target-backward" in before
    assert len(keys) == 10


def test_ages_of_questions_are_counted_to_the_day_that_is_asked_about(art_848):
    oldest = open_questions(art_848, dt.date(2026, 9, 17))[0]
    assert (oldest.question.key, oldest.age_days) == ("question-general-bound", 10)


def test_exporting_it_again_gives_the_same_bytes(art_848, tmp_path):
    path = tmp_path / "again.json"
    run("export_record", "OpenPipe/ART#848", "--output", str(path))
    assert path.read_bytes() == RECORD.read_bytes()


def test_reading_it_again_changes_nothing(art_848):
    before = LedgerEntry.objects.count()
    assert run("import_record", str(RECORD))[0] == "OpenPipe/ART#848: nothing new"
    assert LedgerEntry.objects.count() == before


def test_an_existing_file_is_never_overwritten(art_848, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("mine")
    assert "exists already" in refusal("export_record", "OpenPipe/ART#848", "--output", str(path))
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"), [("848", "is not an issue"), ("a/b#1", "tracked: OpenPipe/ART#848")]
)
def test_exporting_what_is_not_tracked_says_what_is(name, said, art_848, tmp_path):
    assert said in refusal("export_record", name, "--output", str(tmp_path / "x.json"))


def test_an_imported_thread_moves_to_another_site_whole(db, tmp_path):
    thread = other_project()
    run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    path = tmp_path / "harbor.json"
    run("export_record", "lanternworks/harbor#77", "--output", str(path))
    # Another site: the same repository under a name that is not there yet.
    moved = json.loads(path.read_text())
    moved["issue"]["number"] = 78
    moved["sha256"] = document_sha256(moved)
    path.write_text(as_text(moved))
    run("import_record", str(path))
    again = tmp_path / "again.json"
    run("export_record", "lanternworks/harbor#78", "--output", str(again))
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(format="x"), "format is 'x'"),
        (lambda d: d.update(version=2), "version is 2; this site reads 1"),
        (lambda d: d.update(extra=[]), "unknown part 'extra'"),
        (lambda d: d.update(issue=None), "issue is missing"),
        (lambda d: d["issue"].update(number=-1), "issue, number"),
        (lambda d: d.update(witnesses={}), "witnesses is dict; expected a list"),
        (lambda d: d["witnesses"].append(5), "witnesses, entry 38: found int"),
        (lambda d: d["witnesses"][0].update(colour="red"), "unknown field 'colour'"),
        (lambda d: d["witnesses"][3].update(outcome="fine"), "witnesses, entry 4: outcome:"),
        (lambda d: d["witnesses"][3].update(required_bytes=1.5), "found 1.5; expected a whole number"),
        (lambda d: d["witnesses"][3].update(required_bytes=-1), "required_bytes"),
        (lambda d: d["witnesses"][3].update(required_bytes=2**70), "required_bytes"),
        (lambda d: d["witnesses"][3].update(title=None), "title: found None; expected a value"),
        (lambda d: d["witnesses"][3].update(key="Not A Key"), "key"),
        (lambda d: d["witnesses"][3].update(key="report"), "'report' was already used"),
        (lambda d: d["heads"][0].update(change="change-1"), "no Change 'change-1'"),
        (lambda d: d["heads"][0].pop("change"), "change is missing"),
        (lambda d: d["heads"][5].update(sha="xyz"), "sha"),
        (lambda d: d["status_updates"][0].update(sort_at="soon"), "sort_at"),
        (lambda d: d["status_updates"][0].update(stated_day=5), "stated_day"),
        (lambda d: d["corrections"][0].update(target="nothing"), "about 'nothing', which is not recorded"),
    ],
)
def test_one_wrong_row_refuses_the_whole_file(change, said, db, tmp_path):
    assert said in refusal("import_record", changed(tmp_path, change))
    assert not LedgerEntry.objects.exists()
    assert not TrackedIssue.objects.exists()


def test_a_file_whose_digest_is_not_its_content_s_is_refused(db, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(RECORD.read_text().replace("six people", "x").replace('"number": 848', '"number": 849'))
    assert "it was changed" in refusal("import_record", str(path)).replace(": it", " it")


def test_a_row_with_other_content_than_the_recorded_one_is_refused(art_848, tmp_path):
    before = LedgerEntry.objects.count()

    def change(document):
        document["witnesses"][0]["title"] = "Another"
        document["receipts"].append({**document["receipts"][0], "key": "receipt-new"})

    said = refusal("import_record", changed(tmp_path, change))
    assert "'witness-g16' is already recorded with other content (title is 'Original g16, cold' here" in said
    assert LedgerEntry.objects.count() == before


def test_what_a_longer_file_adds_is_recorded(art_848, tmp_path):
    path = changed(tmp_path, lambda d: d["receipts"].append({**d["receipts"][0], "key": "receipt-new"}))
    assert run("import_record", path)[0] == "OpenPipe/ART#848: added 1 receipts"


@pytest.mark.parametrize("order", [("record", "thread"), ("thread", "record")])
def test_record_and_thread_of_one_issue_are_the_same_statements(order, db):
    thread = long_running_thread()
    for source in order:
        if source == "record":
            run("import_record", str(RECORD))
        else:
            run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    issue = TrackedIssue.objects.get()
    assert len(statuses(issue)) == 11
    assert current_status(statuses(issue)).update.origin == "thread"
    assert thread_count(issue).missing_comments == 7
    assert thread_count(issue).place.startswith("between the ninth")
    assert run("import_record", str(RECORD))[0].endswith("nothing new")


def test_every_row_that_says_where_it_was_stated_names_a_statement(art_848):
    for model in (StatusUpdate, Change, IssueEvent):
        for row in art_848.rows(model).exclude(stated_in=""):
            assert find_statement(art_848, row.stated_in) is not None
