"""A verdict holds for its head only. The record is that of OpenPipe/ART #848; other cases are made here."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.exceptions import ValidationError

from admission.models import Change, ChangeHead, Review
from admission.services.changes import change_rows
from admission.services.recording import record_correction, record_row


@pytest.fixture
def row_of(art_848):
    def find(number: int, as_of: dt.date | None = None):
        return next(row for row in change_rows(art_848, as_of) if row.change.number == number)

    return find


def test_the_withdrawn_clearance_of_ac5c6354_does_not_stand(row_of):
    head = row_of(877).heads[0]
    assert head.sha == "ac5c6354a"
    assert head.verdict == ""
    given = head.verdicts[0]
    assert (given.review.reviewer, given.fate) == ("Minsky", "withdrawn")
    assert "reciprocal" in given.why_not


def test_b3dc0b8f_is_cleared_twice_and_carried_to_bd656b82(row_of):
    _, cleared, carried = row_of(877).heads
    assert cleared.is_called("b3dc0b8f")
    assert [review.reviewer for review in cleared.standing] == ["McCarthy", "Minsky"]
    assert carried.is_called("bd656b82")
    assert all(review.carried_from.head_sha == cleared.sha for review in carried.standing)
    assert row_of(877).current is carried or row_of(877).current.sha == carried.sha
    assert row_of(877).standing_verdict == "clear"


def test_changes_are_required_on_ef62e529(art_848):
    row = next(row for row in change_rows(art_848) if row.change.key == "change-profile-floor")
    assert row.current.is_called("ef62e529")
    assert row.standing_verdict == "changes_required"
    assert row.current.standing[0].findings[0]["severity"] == "P2"


def test_verdicts_for_older_heads_do_not_count_for_a_new_one(row_of, art_848):
    on_21 = row_of(898, dt.date(2026, 9, 21))
    assert on_21.current.is_called("05e8ebf3")
    assert [head.verdict for head in on_21.heads] == ["", "clear", ""]
    assert on_21.standing_verdict == ""
    on_23 = row_of(898, dt.date(2026, 9, 23))
    assert (on_23.current.sha[:8], on_23.standing_verdict) == ("4a519f6d", "clear")


def test_a_clearance_is_shown_for_a_merged_change_only_if_the_merged_head_is_stated(row_of):
    # The statements of September 25 say that both are merged and as what, not which head was.
    for number in (898, 888, 861):
        row = row_of(number)
        assert (row.is_merged, row.merged_head_unstated, row.standing_verdict) == (True, True, "")
    # #877's merge names the reviewed head, #891's a tree that equals the reviewed one.
    assert (row_of(877).merged_head_unstated, row_of(877).current.sha[:9]) == (False, "bd656b823")
    assert not row_of(891).merged_head_unstated


def test_held_and_green_are_different_facts(row_of):
    state = row_of(898, dt.date(2026, 9, 23)).state
    assert (state.state, state.checks) == ("held", "green")


def test_the_state_now_may_name_no_head(row_of):
    row = row_of(898)
    assert row.state.state == "merged"
    assert row.merged_sha.startswith("a655c051")
    assert row.current.is_called("4a519f6d")


@pytest.fixture
def change(art_848):
    made = record_row(art_848, Change(title="Test change", number=5000), "change", "2026-10-01")
    record_row(art_848, ChangeHead(change=made, sha="a1" * 20, state="open"), "head", "2026-10-01")
    return made


def review(change: Change, verdict: str, day: str, **more) -> Review:
    row = Review(**{"change": change, "head_sha": "a1" * 20, "reviewer": "Kim", "verdict": verdict, **more})
    return record_row(change.issue, row, "review", day)


def standing(change: Change) -> str:
    return next(row for row in change_rows(change.issue) if row.change == change).standing_verdict


def test_a_later_verdict_of_the_same_reviewer_replaces_the_earlier_one(change):
    review(change, "changes_required", "2026-10-02")
    review(change, "clear", "2026-10-03")
    assert standing(change) == "clear"


def test_one_reviewer_who_requires_changes_is_enough(change):
    review(change, "clear", "2026-10-02")
    review(change, "changes_required", "2026-10-03", reviewer="Lee")
    assert standing(change) == "changes_required"


def test_withdrawing_a_carried_clearance_s_origin_takes_it_down_too(change):
    first = review(change, "clear", "2026-10-02")
    record_row(change.issue, ChangeHead(change=change, sha="b2" * 20, state="open"), "head", "2026-10-03")
    review(change, "clear", "2026-10-04", head_sha="b2" * 20, carried_from=first, carry_reason="tests only")
    assert standing(change) == "clear"
    review(change, "withdrawn", "2026-10-05", withdraws=first, note="wrong")
    assert standing(change) == ""


def test_a_correction_can_withdraw_a_review(change):
    given = review(change, "clear", "2026-10-02")
    record_correction(
        change.issue, target=given.key, kind="withdrawal", text="given by mistake", stated="2026-10-03"
    )
    assert standing(change) == ""


def test_an_abbreviated_head_names_the_whole_one(change):
    review(change, "clear", "2026-10-02", head_sha="a1" * 4)
    assert standing(change) == "clear"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"verdict": "withdrawn"}, "withdraws"),
        ({"findings": ["P1"]}, "findings"),
        ({"findings": [{"severity": "P9", "text": "x"}]}, "findings"),
        ({"head_sha": "nothex"}, "head_sha"),
        ({"verdict": "fine"}, "verdict"),
    ],
)
def test_a_review_that_says_too_little_is_refused_with_the_field(fields, named, change):
    with pytest.raises(ValidationError) as caught:
        review(change, fields.pop("verdict", "clear"), "2026-10-02", **fields)
    assert named in caught.value.message_dict


def test_carrying_over_needs_a_reason(change):
    first = review(change, "clear", "2026-10-02")
    with pytest.raises(ValidationError, match="say why"):
        review(change, "clear", "2026-10-03", carried_from=first)
