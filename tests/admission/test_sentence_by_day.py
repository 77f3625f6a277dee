"""The sentence on top of the issue page of OpenPipe/ART #848, day by day, against its thread.

Each expected sentence was read from the thread by hand: what the newest statement of that day or before says,
and what it replaced. The record tells it in its own words, the imported thread in the source's.
"""

from __future__ import annotations

import pytest

from admission.models import TrackedIssue
from tests.admission.conftest import RECORD, run
from tests.admission.threads import long_running_thread

NOT_OPENED = "Not opened yet: the issue was opened on September 4, 2026."
REPORT = "Open: original report, since September 4, 2026."
REPORT_AND = "Open: original report, since September 4, 2026; #858 was merged;"
SEP_10 = (
    "Open: open; five narrower fixes are merged, no general bound, since September 10, 2026; it replaced "
    "“original report” of September 4."
)
SEP_12 = (
    "Open: adoption and diagnostic update, since September 12, 2026; it replaced “update: #891 merged” of "
    "September 12."
)
SEP_17 = (
    "Open, reopened September 17: unresolved; reopened after #907 had closed it, since September 17, "
    "2026; it "
    "replaced “adoption and diagnostic update” of September 12."
)
SEP_18 = (
    "Open, reopened September 17: unresolved, since September 18, 2026; it replaced “unresolved; "
    "reopened after "
    "#907 had closed it” of September 17."
)
SEP_21 = (
    "Open, reopened September 17: unresolved; renewed qualification in progress, since September 21, "
    "2026; it "
    "replaced “unresolved” of September 18."
)
SEP_22 = (
    "Open, reopened September 17: still open, since September 22, 2026; it replaced “unresolved; renewed "
    "qualification in progress” of September 21."
)
SEP_23 = (
    "Open, reopened September 17: additional workloads qualified; general issue open, since September "
    "23, 2026; "
    "it replaced “still open” of September 22."
)
SEP_25 = (
    "Open, reopened September 17: corrections merged; the broader problem is open, since September 25, "
    "2026; it "
    "replaced “additional workloads qualified; general issue open” of September 23."
)
DAYS = {
    "2026-09-01": NOT_OPENED,
    "2026-09-03": NOT_OPENED,
    "2026-09-04": REPORT,
    "2026-09-07": f"{REPORT_AND} #861 is not merged yet.",
    "2026-09-08": f"{REPORT_AND} #861 is not merged yet.",
    "2026-09-09": f"{REPORT_AND} #861, Local candidate: output envelope and Local candidate: profile floor "
    "are not merged yet.",
    "2026-09-10": SEP_10,
    "2026-09-11": SEP_10,
    "2026-09-12": SEP_12,
    "2026-09-13": SEP_12,
    "2026-09-16": SEP_12,
    "2026-09-17": SEP_17,
    # Late evening in Denver on the 18th is the 19th in UTC, and a day ends at its end in UTC.
    "2026-09-18": SEP_17,
    "2026-09-19": SEP_18,
    "2026-09-20": SEP_18,
    # 6:35 in the morning in Denver is 12:35 in UTC.
    "2026-09-21": SEP_21,
    "2026-09-22": SEP_22,
    "2026-09-23": SEP_23,
    "2026-09-24": SEP_23,
    "2026-09-25": SEP_25,
    "2026-10-01": SEP_25,
}  # fmt: skip


def sentence_of(client, day: str) -> str:
    answer = client.get("/admission/OpenPipe/ART/848/", {"as_of": day})
    assert answer.status_code == 200
    return answer.context["view"].sentence


def table(found: dict[str, str], expected: dict[str, str]) -> str:
    """Both sentences of each day, those that differ marked."""
    lines = [""]
    for day, said in found.items():
        lines += [
            f"{'  ' if said == expected[day] else '≠ '}{day}  page:    {said}",
            f"{'':14}thread:  {expected[day]}",
        ]
    return "\n".join(lines)


def import_in(order: tuple[str, ...]) -> None:
    thread = long_running_thread()
    for source in order:
        if source == "record":
            run("import_record", str(RECORD))
        else:
            run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))


@pytest.mark.parametrize("order", [("record",), ("record", "thread")])
def test_the_page_says_on_each_day_what_the_thread_said(order, client, db):
    import_in(order)
    found = {day: sentence_of(client, day) for day in DAYS}
    assert found == DAYS, table(found, DAYS)


def test_the_page_shows_the_sentence_that_the_table_compares(client, art_848):
    page = client.get("/admission/OpenPipe/ART/848/", {"as_of": "2026-09-17"}).content.decode()
    assert SEP_17 in page


def test_the_thread_alone_sees_the_same_statements_on_the_same_days(client, db):
    import_in(("thread",))
    issue = TrackedIssue.objects.get()
    assert issue.statusupdate_rows.count() == 11
    answers = {}
    for day in DAYS:
        view = client.get("/admission/OpenPipe/ART/848/", {"as_of": day}).context["view"]
        answers[day] = view.current.update.stated_day.isoformat() if view.current else None
    assert answers == {
        **dict.fromkeys(["2026-09-01", "2026-09-03"]),
        **dict.fromkeys(["2026-09-04", "2026-09-07", "2026-09-08", "2026-09-09"], "2026-09-04"),
        **dict.fromkeys(["2026-09-10", "2026-09-11"], "2026-09-10"),
        **dict.fromkeys(["2026-09-12", "2026-09-13", "2026-09-16"], "2026-09-12"),
        **dict.fromkeys(["2026-09-17", "2026-09-18"], "2026-09-17"),
        **dict.fromkeys(["2026-09-19", "2026-09-20"], "2026-09-18"),
        "2026-09-21": "2026-09-21",
        "2026-09-22": "2026-09-22",
        **dict.fromkeys(["2026-09-23", "2026-09-24"], "2026-09-23"),
        **dict.fromkeys(["2026-09-25", "2026-10-01"], "2026-09-25"),
    }


def test_a_replaced_statement_is_named_by_what_it_says_not_by_the_word_update(client, db):
    import_in(("thread",))
    said = sentence_of(client, "2026-09-12")
    assert "it replaced “update”" not in said
    assert "#891 is merged at a3a248a" in said
