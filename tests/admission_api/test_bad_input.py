"""Wrong input: named with its field and what was expected, never an error of the server, nothing recorded."""

from __future__ import annotations

import pytest

from rlvram_site.ledger.models import LedgerEntry
from tests.admission_api.conftest import ISSUE
from tests.api.conftest import key_for

WITNESS = {"key": "w", "title": "A run", "decision": "admitted", "outcome": "completed"}
MEASURED = {"key": "m", "label": "peak", "basis": "increment", "size_bytes": 1}
REVIEW = {"change": "{change}", "head_sha": "abcdef12", "reviewer": "Ada", "verdict": "clear"}
BAD = [
    ("witnesses", {**WITNESS, "key": ""}, "key"),
    ("witnesses", {**WITNESS, "key": "Not A Key"}, "key"),
    ("witnesses", {**WITNESS, "key": "k" * 120}, "key"),
    ("witnesses", {**WITNESS, "key": "a\x00b"}, "key"),
    ("witnesses", {k: v for k, v in WITNESS.items() if k != "key"}, "key"),
    ("witnesses", {**WITNESS, "decision": "maybe"}, "decision"),
    ("witnesses", {**WITNESS, "outcome": None}, "outcome"),
    ("witnesses", {**WITNESS, "witness_class": "safe_admission"}, "witness_class"),
    ("witnesses", {**WITNESS, "required_bytes": -1}, "required_bytes"),
    ("witnesses", {**WITNESS, "required_bytes": 2**63}, "required_bytes"),
    ("witnesses", {**WITNESS, "required_bytes": 1.5}, "required_bytes"),
    ("witnesses", {**WITNESS, "required_bytes": "much"}, "required_bytes"),
    ("witnesses", {**WITNESS, "free_bytes": 5}, "free_bytes"),
    ("witnesses", {**WITNESS, "required_words": "x" * 101}, "required_words"),
    ("witnesses", {**WITNESS, "title": ""}, "title"),
    ("witnesses", {**WITNESS, "title": "\ud800"}, "title"),
    ("witnesses", {**WITNESS, "stated": "yesterday"}, "stated"),
    ("witnesses", {**WITNESS, "stated": "2026-13-45"}, "stated"),
    ("witnesses", {**WITNESS, "same_shape_as": "unknown"}, "same_shape_as"),
    ("witnesses", {**WITNESS, "same_shape_as": ["a"]}, "same_shape_as"),
    ("witnesses", {**WITNESS, "measurements": {}}, "measurements"),
    (
        "witnesses",
        {**WITNESS, "measurements": [{**MEASURED, "size_bytes": -1}]},
        "measurements[0].size_bytes",
    ),
    ("witnesses", {**WITNESS, "measurements": [{**MEASURED, "colour": 1}]}, "measurements[0].colour"),
    ("measurements", {**MEASURED, "witness": "unknown"}, "witness"),
    ("measurements", {**MEASURED, "size_bytes": None}, "size_bytes"),
    ("status-updates", {"body": "no claim"}, "claim"),
    ("status-updates", {"claim": "x", "revises": 7}, "revises"),
    ("corrections", {"kind": "correction", "target": "nothing", "text": "t"}, "target"),
    ("corrections", {"kind": "deletion", "target": "{status}", "text": "t"}, "kind"),
    ("changes", {"title": "t", "number": -1}, "number"),
    ("changes", {"title": "t", "number": 2**40}, "number"),
    ("heads", {"change": "{status}", "sha": "abcdef12", "state": "open"}, "change"),
    ("heads", {"change": "{change}", "sha": "not hex", "state": "open"}, "sha"),
    ("reviews", {**REVIEW, "verdict": "withdrawn"}, "withdraws"),
    ("reviews", {**REVIEW, "withdraws": "{review}"}, "withdraws"),
    ("reviews", {**REVIEW, "carried_from": "{review}"}, "carry_reason"),
    ("reviews", {**REVIEW, "findings": [{"severity": "P9", "text": "t"}]}, "findings[0].severity"),
    ("reviews", {**REVIEW, "findings": "bad"}, "findings"),
    ("receipts", {"label": "x", "sha256": "xyz"}, "sha256"),
    ("question-mentions", {"question": "{change}", "says": "open"}, "question"),
    ("related-issues", {"repository": "a/b", "number": "x", "title": "t", "why_separate": "w"}, "number"),
]
HISTORY = {"model": {"hidden_size": 8, "layers": 1, "element_bytes": 2, "experts_per_token": 0}, "steps": []}
FORWARD = {"packed_tokens": 1, "logical_tokens": 1, "output_bytes": 0}
BAD_ESTIMATES = [
    ("replay", {}, "document"),
    ("replay", {"document": []}, "document"),
    ("replay", {"document": HISTORY}, "document.steps"),
    ("replay", {"document": {**HISTORY, "steps": [{"price": {}}]}}, "document.steps[0].price.packed_tokens"),
    ("replay", {"document": {**HISTORY, "steps": [{"observe": {}}] * 2001}}, "document"),
    ("replay", {"document": {**HISTORY, "steps": [{}]}, "policies": ["best"]}, "policies"),
    ("replay", {"document": {**HISTORY, "steps": [{}] * 667}, "policies": ["base"] * 9}, "document"),
    ("replay", {"document": HISTORY, "policies": []}, "policies"),
    ("replay", {"document": HISTORY, "policies": ["base"] * 17}, "policies"),
    ("prices", {"model": HISTORY["model"]}, "forward"),
    ("prices", {"model": HISTORY["model"], "forward": {**FORWARD, "packed_tokens": -1}},
     "forward.packed_tokens"),
    ("prices", {"model": HISTORY["model"], "forward": {**FORWARD, "logical_tokens": 0}},
     "forward.logical_tokens"),
    ("prices", {"model": {**HISTORY["model"], "dtype": "fp32"}, "forward": FORWARD}, "model.dtype"),
    ("prices", {"model": HISTORY["model"], "forward": FORWARD, "usable_bytes": 2**60}, "usable_bytes"),
    ("prices", {"model": HISTORY["model"], "forward": FORWARD, "policies": ["base", "base"]}, "policies"),
    ("prices", {"model": HISTORY["model"], "forward": FORWARD,
                "observations": [{**FORWARD, "baseline_bytes": 2, "peak_bytes": 1}]},
     "observations[0].peak_bytes"),
]  # fmt: skip


@pytest.fixture
def everything(art_848):
    return key_for("read", "witnesses", "status")


def check(answer, field: str, links: int) -> None:
    assert answer.status_code == 400, answer.content
    fields = answer.json()["error"]["fields"]
    assert field in {entry["field"] for entry in fields}, fields
    assert all(entry["message"] for entry in fields)
    assert LedgerEntry.objects.count() == links


@pytest.mark.parametrize(("table", "body", "field"), BAD)
def test_a_wrong_field_is_named_and_nothing_is_recorded(art_848, everything, table, body, field):
    keys = {
        "status": art_848.statusupdate_rows.first().key,
        "change": art_848.change_rows.first().key,
        "review": art_848.review_rows.filter(verdict="clear").first().key,
    }
    body = {k: v.format(**keys) if isinstance(v, str) and v.startswith("{") else v for k, v in body.items()}
    links = LedgerEntry.objects.count()
    check(everything.post(f"{ISSUE}{table}/", body), field, links)


@pytest.mark.parametrize(("what", "body", "field"), BAD_ESTIMATES)
def test_what_cannot_be_priced_is_named(everything, what, body, field):
    links = LedgerEntry.objects.count()
    check(everything.post(f"admission/{what}/", body), field, links)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff", b'{"key": NaN}', b"null", b"7"])
@pytest.mark.parametrize("path", [f"{ISSUE}witnesses/", "admission/replay/", "admission/prices/"])
def test_a_body_that_is_no_object_is_refused(everything, path, body):
    assert everything.post(path, body).status_code == 400


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("as_of=yesterday", "as_of"), ("as_of=50%25", "as_of"), ("as_of=0001-01-01", "as_of"),
        ("as_of=2026-09-31", "as_of"),
        ("colour=red", "colour"), ("ordering=title", "ordering"), ("page_size=1001", "page_size"),
        ("cursor=cD1hYmM%3D", "cursor"), ("cursor=cD1hYmM%3D&ordering=stated", "cursor"),
        ("scored=perhaps", "scored"), ("trusted=perhaps", "trusted"), ("witness_class=bad", "witness_class"),
        ("key=%00", "key"), ("cursor=cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5&ordering=key", None),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(everything, query, field):
    answer = everything.get(f"{ISSUE}witnesses/?{query}")
    if field is None:
        assert answer.status_code in (200, 400)
        return
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["fields"][0]["field"] == field


def test_the_issue_itself_takes_a_day_and_nothing_else(everything):
    for query, field in [("as_of=2026-9-99", "as_of"), ("kind=x", "kind")]:
        answer = everything.get(f"{ISSUE}?{query}")
        assert answer.status_code == 400
        assert answer.json()["error"]["fields"][0]["field"] == field


@pytest.mark.parametrize(
    "path",
    [
        "admission/issues/OpenPipe/ART/849/", "admission/issues/OpenPipe/ART/99999999999999999999/",
        "admission/issues/OpenPipe/A%00T/848/", "admission/issues/octo/cat/848/witnesses/",
        f"{ISSUE}statements/a%00b/", f"{ISSUE}nothing/", "admission/", "admission/issues/OpenPipe/ART/x/",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_not_found(everything, path):
    answer = everything.get(path)
    assert answer.status_code == 404, answer.content
    assert answer.json()["error"]["code"] == "not_found"
