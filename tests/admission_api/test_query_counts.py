"""However much is recorded, a read costs the same number of queries, and so does a write."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from admission.models import Change, ChangeHead, OpenQuestion, Review, StatusUpdate, ThreadItem, Witness
from admission.models.base import Origin
from admission.services.recording import stated_time
from rlvram_site.ledger.chain import record_all
from tests.admission_api.conftest import ISSUE, TABLES


def more(issue, number: int) -> None:
    """``number`` further records of the kinds that grow."""
    rows: list = []
    changes = [Change(title=f"change {n}") for n in range(number)]
    rows += changes
    rows += [ChangeHead(change=change, sha=f"{n:08x}", state="open") for n, change in enumerate(changes)]
    rows += [
        Review(change=change, head_sha=f"{n:08x}", reviewer="Ada", verdict="clear")
        for n, change in enumerate(changes)
    ]
    rows += [StatusUpdate(claim=f"claim {n}") for n in range(number)]
    rows += [OpenQuestion(text=f"Why {n}?") for n in range(number)]
    rows += [Witness(title="t", decision="refused", outcome="unresolved") for _ in range(number)]
    rows += [
        ThreadItem(kind="comment", event="commented", known=True, body="b", raw={}) for _ in range(number)
    ]
    for place, row in enumerate(rows):
        row.issue, row.origin, row.key = issue, Origin.RECORD, f"more-{place}"
        row.set_stated(stated_time("2026-09-20"))
    record_all(rows)


def queries(call) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = call()
        if answer.streaming:
            b"".join(answer.streaming_content)
    assert answer.status_code in (200, 201), answer.content
    return len(captured)


@pytest.fixture(autouse=True)
def _used_before(art_848, reader, ci):
    """A key's first use is noted in the database once a minute."""
    for api in (reader, ci):
        api.get(ISSUE)


READS = ["admission/issues/", ISSUE, f"{ISSUE}?as_of=2026-09-21"]
READS += [f"{ISSUE}{table}/{query}" for table in TABLES for query in ("", "?as_of=2026-09-21", "?format=csv")]


def test_reads_cost_the_same_with_many_records(art_848, reader):
    before = {path: queries(lambda path=path: reader.get(path)) for path in READS}
    more(art_848, 60)
    after = {path: queries(lambda path=path: reader.get(path)) for path in READS}
    assert after == before


@pytest.mark.parametrize("measured", [1, 20])
def test_a_witness_costs_queries_by_its_measurements_not_by_what_is_there(art_848, ci, measured):
    def sent(key: str) -> dict:
        one = {"label": "m", "basis": "other", "size_bytes": 1}
        return {"key": key, "title": "t", "decision": "admitted", "outcome": "completed",
                "measurements": [{**one, "key": f"{key}-{n}"} for n in range(measured)]}  # fmt: skip

    before = queries(lambda: ci.post(f"{ISSUE}witnesses/", sent("a")))
    more(art_848, 60)
    assert queries(lambda: ci.post(f"{ISSUE}witnesses/", sent("b"))) == before
