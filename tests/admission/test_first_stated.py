"""The bundled record says nothing before it was said, and each fact names who said it first."""

from __future__ import annotations

import datetime as dt
import json
import re

import pytest

from admission.models import Receipt
from admission.services.changes import change_rows
from admission.services.standing import corrections, open_questions
from admission.services.timeline import find_statement
from admission.services.witnesses import scored_witnesses
from admission.thread.export import read_issue, read_timeline
from admission.thread.statuses import status_blocks
from tests.admission.conftest import RECORD
from tests.admission.threads import REAL
from tests.api.conftest import key_for

COMMENT = "comment-8480000{:02d}"
# Converted or computed from what the statement says, and marked as such beside the number.
CONVERTED = {"required_bytes", "usable_bytes", "failed_request_bytes", "free_bytes", "allocated_bytes",
             "excess_bytes", "size_bytes"}  # fmt: skip
# The shape of the pressured case is stated with that case; its successor is "the exact bounded" same one.
ELSEWHERE = {("witness-pressured-successor", "packed_tokens"),
             ("witness-pressured-successor", "logical_tokens"),
             ("fact-change-output-envelope-scope", "value")}  # fmt: skip


def day(number: int) -> dt.date:
    return dt.date(2026, 9, number)


def witness(issue, key: str, on: dt.date):
    return next(row for row in scored_witnesses(issue, on) if row.witness.key == key)


@pytest.mark.parametrize(
    ("on", "packed", "required", "measured"),
    [
        (4, None, None, []),
        (6, None, None, []),
        (7, 106432, None, ["130.053 GiB"]),
        (8, 106432, None, ["130.053 GiB"]),
        (9, 106432, 6713560268, ["130.053 GiB"]),
    ],
)
def test_the_first_failure_carries_on_each_day_what_was_stated_by_then(
    on, packed, required, measured, art_848
):
    row = witness(art_848, "witness-g16", day(on))
    assert (row.witness.packed_tokens, row.witness.required_bytes) == (packed, required)
    assert [m.size_words for m in row.measurements] == measured
    assert ("while a checkpoint was recomputed" in row.witness.note) is (on >= 7)


def test_pages_and_api_show_the_same_fact_on_the_same_day(art_848, client):
    address = "/admission/OpenPipe/ART/848/witnesses/"
    assert "6,713,560,268" not in client.get(address, {"as_of": "2026-09-08"}).content.decode()
    assert "6,713,560,268" in client.get(address, {"as_of": "2026-09-09"}).content.decode()
    api = "admission/issues/OpenPipe/ART/848/witnesses/?key=witness-g16&as_of="
    found = [key_for("read").get(f"{api}{day}").json()["results"][0] for day in ("2026-09-08", "2026-09-09")]
    assert [row["required_bytes"] for row in found] == [None, 6713560268]


def test_a_later_title_of_a_change_is_not_known_before(art_848):
    def title(on: int) -> str:
        return next(row.change.title for row in change_rows(art_848, day(on)) if row.change.number == 898)

    assert "grouped checkpoint" not in title(18)
    assert title(21) == "Account for grouped checkpoint, head, and enclosing forward buffers"


def test_893_is_merged_with_its_public_description_and_without_a_head(art_848):
    row = next(row for row in change_rows(art_848) if row.change.number == 893)
    assert row.change.title == "Seven live buffers instead of four"
    assert (row.is_merged, row.merged_head_unstated, row.state.stated_precision) == (True, True, "unknown")


@pytest.mark.parametrize(
    ("key", "sha256"),
    [
        ("receipt-cpu-qualification", ""), ("receipt-diagnostic-archive", "936212ff"),
        ("receipt-signature-audit", ""), ("receipt-signature-audit-manifest", "9a464a9a"),
        ("receipt-diagnostic-reader", "1ada0d69"),
    ],
)  # fmt: skip
def test_a_receipt_carries_its_own_hash_only(key, sha256, art_848):
    assert Receipt.objects.get(key=key).sha256 == sha256


def test_nobody_verifies_independently_what_they_made(art_848):
    own = {row.key for row in Receipt.objects.all() if row.is_own_verifier}
    assert own == {"receipt-profile-floor", "receipt-numerical-review", "receipt-native-tests"}
    independent = {row.key: row.verified_by for row in Receipt.objects.all() if row.verified_independently}
    assert set(independent) == {
        "receipt-output-envelope", "receipt-perplexity", "receipt-pressure", "receipt-diagnostic-reader",
        "receipt-052", "receipt-053",
    }  # fmt: skip
    assert not Receipt.objects.get(key="receipt-calibration").independent


def test_the_floor_that_would_not_have_helped_was_said_on_september_9(art_848):
    (standing,) = [q for q in open_questions(art_848, day(9)) if q.question.key == "question-post-save-cause"]
    assert standing.last_said.stated_day == day(9)
    assert standing.last_said.stated_in == COMMENT.format(6)


def test_the_new_title_is_not_told_before_it_was_given(art_848):
    said = corrections(art_848, day(10))
    assert not any("September 11" in c.text for rows in said.values() for c in rows)


NEW_WITNESSES = {
    "witness-g8-unshared": (4, "completed"),
    "witness-g8-shared": (4, "completed"),
    "witness-20000-joint": (11, "not_executed"),
    "witness-20000-long-only": (11, "unresolved"),
    "witness-16-view-1": (18, "completed"),
    "witness-16-view-2": (18, "completed"),
    **{f"witness-0921-no-gradient-{n}": (21, "device_oom") for n in range(1, 7)},
    **{f"witness-0921-backward-{n}": (21, "unresolved") for n in range(1, 4)},
    "witness-24-view-baseline": (22, "completed"),
    "witness-24-view-candidate": (22, "completed"),
    "witness-053": (23, "completed"),
}


@pytest.mark.parametrize("key", NEW_WITNESSES)
def test_decisions_that_the_thread_tells_are_all_there(key, art_848):
    row = art_848.witness_rows.get(key=key)
    assert (row.stated_day.day, row.outcome) == NEW_WITNESSES[key]


def test_each_row_names_a_recorded_statement_of_its_day(art_848):
    document = json.loads(RECORD.read_text())
    for section, rows in document.items():
        if not isinstance(rows, list) or section in (
            "thread_items",
            "thread_counts",
            "status_updates",
            "events",
        ):
            continue
        for row in rows:
            if row["stated_precision"] == "unknown":
                continue
            source = find_statement(art_848, row["stated_in"])
            assert source is not None, row["key"]
            assert source.row.stated_day.isoformat() == row["stated_day"], row["key"]


def thread_texts() -> dict[str, str]:
    """The thread's own statements where it is at hand, by the keys that the record uses for them."""
    issue = read_issue((REAL / "issue.json").read_text(), "issue.json")
    items = read_timeline((REAL / "timeline.json").read_text(), "timeline.json", issue)
    comments = [item.body for item in items if item.is_comment]
    texts = {COMMENT.format(n): body for n, body in enumerate(comments, 1)}
    numbers: dict[str, int] = {}
    for block in status_blocks(issue.body or "", issue.updated.day):
        if block.stated is None:
            texts["report"] = block.body
            continue
        stem = f"status-{block.stated.day:%Y%m%d}"
        numbers[stem] = numbers.get(stem, 0) + 1
        texts[f"{stem}-{numbers[stem]}"] = f"{block.heading}\n{block.body}"
    texts[f"status-{COMMENT.format(16)}"] = texts[COMMENT.format(16)]
    return {key: text.replace(",", "") for key, text in texts.items()}


def record_texts() -> dict[str, str]:
    """The record's own statements, in a plain clone."""
    document = json.loads(RECORD.read_text())
    rows = [*document["thread_items"], *document["status_updates"]]
    return {row["key"]: row["body"].replace(",", "") for row in rows}


def test_every_hash_and_long_number_stands_in_the_statement_that_a_row_names():
    """Against the thread where it is at hand; in a plain clone, against the record's own words."""
    whole = REAL.is_dir()
    texts = thread_texts() if whole else record_texts()
    missing = []
    for section, rows in json.loads(RECORD.read_text()).items():
        checked = section if isinstance(rows, list) else ""
        for row in rows if checked else []:
            source = row.get("stated_in") or (row["key"] if row["key"] in texts else "")
            if source not in texts or section in ("events", "thread_counts"):
                continue
            for field, value in row.items():
                if not isinstance(value, str | int) or field in CONVERTED or (row["key"], field) in ELSEWHERE:
                    continue
                if field in ("key", "stated_in", "target", "witness", "change", "question", "external_id",
                             "carried_from", "withdraws", "same_shape_as", "contradicted_by", "sort_at",
                             "stated_day", "base_sha", "number"):  # fmt: skip
                    continue
                pattern = (
                    r"(?=[0-9a-f]*\d)[0-9a-f]{7,64}|\d{5,}" if whole else r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b"
                )
                for found in re.findall(pattern, str(value).replace(",", "")):
                    if found[:8] not in texts[source] and found != "20000":
                        missing.append((section, row["key"], field, found, source))
    if whole:
        assert missing == []
    else:
        assert len(missing) < 60
