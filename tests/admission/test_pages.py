"""What a reader finds on the pages of an issue."""

from __future__ import annotations

import pytest

from admission.services.recording import record_correction, record_status
from tests.admission.conftest import run
from tests.admission.threads import issue_object, write

ISSUE = "/admission/OpenPipe/ART/848/"


def page(client, address: str, status: int = 200, **query) -> str:
    answer = client.get(address, query)
    assert answer.status_code == status
    return answer.content.decode()


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            "",
            "Open, reopened September 17: corrections merged; the broader problem is open, since Sept",
        ),
        ("changes/", "current heads have no standing verdict, and 1 verdict was withdrawn."),
        (
            "witnesses/",
            "27 of 37 admission decisions are scored and 10 are not; 2 need more than was predicted.",
        ),
        ("receipts/", "6 of 32 receipts were verified independently, 2 are public"),
    ],
)
def test_each_page_opens_with_a_computed_sentence(part, sentence, art_848, client):
    assert sentence in page(client, ISSUE + part)


def test_the_list_shows_what_holds_about_each_issue(art_848, client):
    shown = page(client, "/admission/")
    assert "corrections merged; the broader problem is open" in shown
    assert "10 open questions" in shown


def test_an_empty_site_says_how_to_begin(db, client):
    assert "python manage.py import_issue" in page(client, "/admission/")


def test_the_gap_is_shown_as_a_gap(art_848, client):
    assert "7 comments not in this export" in page(client, f"{ISSUE}timeline/")


def test_superseded_statements_stay_readable_and_say_by_what(art_848, client):
    shown = page(client, f"{ISSUE}s/status-20260923-1/")
    assert "superseded by" in shown
    assert "5,622,779 logical tokens" in shown
    assert "no longer held" in shown


@pytest.mark.parametrize(
    "key",
    [
        "report", "witness-g16", "change-898", "head-898-1", "review-877-minsky-ac5c", "receipt-052",
        "question-backward", "correction-g16-phase", "opened", "related-art-870", "count-source",
        "witness-g16-m1",
    ],
)  # fmt: skip
def test_everything_recorded_has_a_permalink(key, art_848, client):
    assert key in page(client, f"{ISSUE}s/{key}/")


@pytest.mark.parametrize(
    "address",
    [
        f"{ISSUE}s/nothing/", f"{ISSUE}s/nothing/text/", f"{ISSUE}s/witness-g16/text/", "/admission/a/b/1/",
        "/admission/OpenPipe/ART/9999999999999999999999/", "/admission/OpenPipe/ART/849/changes/",
    ],
)  # fmt: skip
def test_what_is_not_there_is_404(address, art_848, client):
    page(client, address, 404)


def test_a_withdrawn_verdict_is_struck_through_with_its_reason(art_848, client):
    shown = page(client, f"{ISSUE}changes/")
    assert "<s>" in shown
    assert "withdrawn: the overlap test uses a reciprocal" in shown
    assert "no verdict given" in shown


def test_witnesses_show_unscored_beside_the_counts(art_848, client):
    shown = page(client, f"{ISSUE}witnesses/")
    assert "over-refusal: <strong>0</strong>" in shown.replace("</span>", "")
    assert "measured interval starts after admission" in shown
    assert "6,713,560,268 B (6.252 GiB)" in shown


def test_as_of_leaves_out_what_was_stated_later_on_every_page(art_848, client):
    shown = page(client, ISSUE, as_of="2026-09-17")
    assert "unresolved; reopened after #907 had closed it" in shown
    assert "September 25" not in shown
    assert f"{ISSUE}changes/?as_of=2026-09-17" in shown
    assert "caladan#411" not in shown
    assert "#971" not in page(client, f"{ISSUE}changes/", as_of="2026-09-17")
    assert "Target backward" not in page(client, f"{ISSUE}witnesses/", as_of="2026-09-17")
    assert "af823635" not in page(client, f"{ISSUE}receipts/", as_of="2026-09-17")


def test_before_it_was_opened_the_page_says_so(art_848, client):
    shown = page(client, ISSUE, as_of="2026-09-01")
    assert "Not opened yet: the issue was opened on September 4, 2026." in shown
    assert "Open:" not in shown


@pytest.mark.parametrize("given", ["yesterday", "2026-02-30", "9999-12-31", "0001-01-01", "<script>"])
@pytest.mark.parametrize("part", ["", "changes/", "witnesses/", "receipts/", "s/report/"])
def test_a_day_that_is_none_is_refused_and_named_on_every_page(given, part, art_848, client):
    shown = page(client, ISSUE + part, 400, as_of=given)
    assert "expected a day such as 2026-09-17, which means its end in UTC" in shown


@pytest.mark.parametrize("given", ["yesterday", "<script>"])
def test_what_holds_now_is_shown_below_a_day_that_is_none(given, art_848, client):
    shown = page(client, ISSUE, 400, as_of=given)
    assert "What holds now" in shown
    assert "<script>”" not in shown


@pytest.mark.parametrize("query", [{"page": "x"}, {"page": "999"}, {"kind": "nothing"}, {"page": "-1"}])
def test_a_wrong_page_or_kind_shows_what_there_is(query, art_848, client):
    page(client, f"{ISSUE}timeline/", **query)


def test_the_list_can_be_narrowed_to_one_kind(art_848, client):
    shown = page(client, f"{ISSUE}timeline/", kind="witness")
    assert 'id="witness-full19"' in shown
    assert 'id="status-20260925-1"' not in shown


def test_addresses_of_the_list_that_stood_on_the_issue_s_page_lead_to_the_timeline(art_848, client):
    answer = client.get(ISSUE, {"kind": "witness", "page": "2"})
    assert answer.headers["Location"] == f"{ISSUE}timeline/?kind=witness&page=2"


@pytest.mark.parametrize(
    ("words", "found", "not_found"),
    [
        ("898 clear", "review-898-8b3e-1", "witness-g16"),
        ("#971", "question-971", "witness-g16"),
        ("4a519f6d", "head-898", "question-backward"),
        ("no such words anywhere", "0 statements contain", 'class="entry'),
    ],
)
def test_the_timeline_finds_words_numbers_and_hashes(words, found, not_found, art_848, client):
    shown = page(client, f"{ISSUE}timeline/", q=words)
    assert found in shown
    assert not_found not in shown


def test_the_timeline_stands_under_the_status_that_held_and_folds_equal_reviews(art_848, client):
    shown = page(client, f"{ISSUE}timeline/")
    first, second = shown.split('class="period"')[1:3]
    assert "Corrections merged; the broader problem is open" in first
    assert 'id="witness-full19"' in first
    assert "Additional workloads qualified; general issue open" in second
    assert "3 reviews" in second


def test_unsafe_decisions_say_by_how_many_bytes(art_848, client):
    # g16: 3.25 GiB asked with 2.31 GiB free; mixed gradients: 8,921,344 live against 3,000,000 usable
    shown = page(client, ISSUE)
    assert (
        "<strong>11 unsafe decisions</strong>: 2 state by how many bytes, 2 bound it, 7 state no size."
        in shown
    )
    assert "1,009,317,315 B (0.940 GiB)" in shown
    assert "5,921,344 B (0.006 GiB)" in shown
    assert "≤ 9,008,693,903 B (8.390 GiB)" in shown


def test_heads_that_need_a_verdict_are_listed_merged_and_open_apart(art_848, client):
    shown = " ".join(page(client, ISSUE).split())
    needing = shown.split('id="needing"')[1].split("</section>")[0]
    still, merged = needing.split("<h3>Merged: 13</h3>")
    assert "<h3>Not merged: 3</h3>" in still
    assert "Private candidate: mixed-gradient floor" in still
    assert "#971" in still
    assert all(f">{label}</a>" in merged for label in ("#861", "#888", "#891", "#898"))
    assert "9 without a stated head" in merged


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (
            "witness-g16",
            ["unsafe admission", "1,009,317,315 B (0.940 GiB) short", "peak before the failed request"],
        ),
        ("witness-restored-state", ["refusal, unscored", "-4,211,215,434 B", "usable less required"]),
        ("review-877-minsky-ac5c", ["#877", "not its current head", "does not stand", "reciprocal"]),
    ],
)
def test_a_permalink_shows_what_the_list_s_row_shows(key, words, art_848, client):
    shown = page(client, f"{ISSUE}s/{key}/")
    assert [word for word in words if word not in shown] == []


def test_a_status_recorded_by_staff_supersedes_the_current_one(art_848, client):
    record_status(art_848, claim="resolved", body="All **done**.", stated="2026-10-02")
    shown = page(client, ISSUE)
    assert "resolved, since October 2, 2026; it replaced “corrections merged" in shown
    assert "<strong>done</strong>" in shown


def test_a_withdrawn_status_gives_way_to_the_one_before(art_848, client):
    made = record_status(art_848, claim="resolved", body="", stated="2026-10-02")
    record_correction(art_848, target=made.key, kind="withdrawal", text="too early", stated="2026-10-03")
    assert "corrections merged; the broader problem is open, since September 25" in page(client, ISSUE)
    assert "and withdrawn" in page(client, f"{ISSUE}s/{made.key}/")


def test_an_issue_without_any_status_or_record_has_all_pages(db, client, tmp_path):
    run("import_issue", write(tmp_path / "i.json", issue_object(None, user=None)))
    for part in ("", "changes/", "witnesses/", "receipts/", "proposals/"):
        page(client, f"/admission/octo/cat/7/{part}")


def test_the_home_page_s_part_lists_tracked_issues(art_848, rf):
    from django.template import engines

    part = engines["django"].from_string('{% include "admission/_home.html" %}').render({}, rf.get("/"))
    assert "TrainerRank MoE memory admission" in part
    assert "27 of 37 witnesses scored" in part


def test_outside_the_demo_reading_asks_for_a_login(art_848, client, private_site):
    assert client.get(ISSUE).status_code == 302
    assert client.get("/admission/calculator/").status_code == 302
