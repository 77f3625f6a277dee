"""An issue that nobody prepared answers at once: is it fixed, by what, is that still true."""

from __future__ import annotations

import pytest

from admission.models import Change, ChangeHead, IssueEvent, Proposal, TrackedIssue
from rlvram_site.ledger.models import LedgerEntry
from tests.admission.conftest import run
from tests.admission.threads import write
from tests.admission.unprepared import THREADS, reverted_fix, wrong_merge

ADDRESS = "/admission/octo/cat/7/"
SENTENCES = {
    "reverted fix": (
        "Closed since March 15, 2026 by the merge of #38 (commit "
        "c0ffee11c0ffee11c0ffee11c0ffee11c0ffee11). An "
        "earlier closing by the merge of #31 (commit 1b2c3d4e5f60718293a4b5c6d7e8f90112233445) on March "
        "4 did not "
        "last: it was reopened on March 6."
    ),
    "wrong merge": (
        "Open again since March 5, 2026: it had been closed on March 5 by the merge of #50, which did "
        "not last; "
        "nothing has been merged since; #52 is not merged yet."
    ),
    "several projects": (
        "Open: original report, since March 1, 2026; octo/loader#7 was merged; #64 is not merged yet."
    ),
}  # fmt: skip


@pytest.fixture
def bring(tmp_path, db):
    def import_one(thread: tuple[dict, list[dict]]) -> TrackedIssue:
        issue, items = thread
        files = [write(tmp_path / "i.json", issue), "--timeline", write(tmp_path / "t.json", items)]
        bring.lines = run("import_issue", *files)
        return TrackedIssue.objects.get()

    bring = import_one
    return import_one


@pytest.mark.parametrize("name", THREADS)
def test_one_sentence_says_whether_it_is_fixed_by_what_and_whether_that_lasted(name, bring, client):
    bring(THREADS[name]())
    page = client.get(ADDRESS)
    assert page.context["view"].sentence == SENTENCES[name]
    assert page.content.decode().index("Open" if name != "reverted fix" else "Closed since") > 0


@pytest.mark.parametrize(
    ("day", "sentence"),
    [
        ("2026-03-03", "Open: original report, since March 1, 2026; #31 is not merged yet."),
        ("2026-03-05", "Closed since March 4, 2026 by the merge of #31"),
        ("2026-03-07", "Open again since March 6, 2026: it had been closed on March 4 by the merge of #31"),
    ],
)
def test_the_sentence_of_an_earlier_day_knows_nothing_later(day, sentence, bring, client):
    bring(reverted_fix())
    said = client.get(ADDRESS, {"as_of": day}).context["view"].sentence
    assert said.startswith(sentence)
    assert "#38" not in said


def test_changes_that_refer_to_it_are_rows_with_number_title_state_and_time_of_merge(bring, client):
    issue = bring(reverted_fix())
    rows = {change.number: change.title for change in Change.objects.all()}
    assert rows == {
        31: "Free the workspace early",
        33: "Revert the early free",
        38: "Share the workspace between streams",
    }
    merged = ChangeHead.objects.get(issue=issue, change__number=38, state="merged")
    assert merged.stated_words == "2026-03-15T16:30:00Z"
    assert "Share the workspace" in client.get(f"{ADDRESS}changes/").content.decode()


def test_a_change_of_another_project_says_which(bring):
    bring(THREADS["several projects"]())
    assert Change.objects.get(number=7).label == "octo/loader#7"
    assert ChangeHead.objects.get(change__number=61, state="closed").change.label == "#61"


def test_a_change_that_is_merged_later_gets_that_state_and_no_second_row(bring):
    issue, items = wrong_merge()
    bring((issue, items))
    before = Change.objects.count()
    source = items[-1]["source"]["issue"]
    source |= {"state": "closed", "closed_at": "2026-03-21T08:00:00Z", "title": "Price the packed rows"}
    source["pull_request"] = {"merged_at": "2026-03-21T08:00:00Z"}
    bring(({**issue, "updated_at": "2026-03-21T09:00:00Z"}, items))
    assert Change.objects.count() == before
    states = list(ChangeHead.objects.filter(change__number=52).order_by("id").values_list("state", flat=True))
    assert states == ["open", "merged"]


def test_verdicts_failures_and_sizes_become_proposals_with_their_sentence(bring):
    bring(reverted_fix())
    found = {(p.kind, p.found): p for p in Proposal.objects.all()}
    failure = found["failure", "CUDA out of memory"]
    assert failure.value["failed_request_words"] == "512.00 MiB"
    assert failure.value["failed_request_bytes"] == 512 * 2**20
    assert found["verdict", "LGTM"].value["verdict"] == "clear"
    assert found["size", "2.1 GiB"].value == {"size_bytes": 2254857830, "size_words": "2.1 GiB"}
    assert "2.1 GiB more on each GPU" in found["size", "2.1 GiB"].sentence
    assert found["size", "11,811,160,064 bytes"].value == {"size_bytes": 11811160064}


def test_a_verdict_is_proposed_for_the_head_in_its_sentence(bring):
    bring(wrong_merge())
    verdict = Proposal.objects.get(kind="verdict")
    assert verdict.value == {"verdict": "changes_required", "head_sha": "0123abcd", "reviewer": "bo"}


def test_importing_the_same_thread_again_records_nothing(bring):
    for thread in THREADS.values():
        issue, items = thread()
        bring((issue, items))
        break
    before = LedgerEntry.objects.count()
    bring(reverted_fix())
    assert LedgerEntry.objects.count() == before
    assert IssueEvent.objects.filter(kind="closed").count() == 2
