"""What a reader of the API sees of the bundled issue: the same as its pages say."""

from __future__ import annotations

import csv
import io
import json

import pytest

from admission.services.changes import change_rows
from admission.services.standing import open_questions, statuses
from admission.services.witnesses import counts, scored_witnesses
from tests.admission_api.conftest import ISSUE, TABLES, rows


def flat(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_reads_as_json_and_csv(reader, table):
    page = rows(reader, table)
    answer = reader.get(f"{ISSUE}{table}/?format=csv")
    assert answer["Content-Type"].startswith("text/csv")
    lines = flat(answer)
    assert [row["key"] for row in page] == [line["key"] for line in lines]
    assert len(page) > 0 or table in ("thread", "versions", "replays", "proposals")


def test_the_list_of_issues_says_what_holds(reader):
    (row,) = reader.get("admission/issues/").json()["results"]
    assert (row["owner"], row["name"], row["number"], row["state"]) == ("OpenPipe", "ART", 848, "reopened")
    assert row["current_status"]["stated_day"] == "2026-09-25"
    assert row["status_updates"] == 11
    assert "September 25" in row["sentence"]
    assert reader.get("admission/issues/?owner=openpipe").json()["results"] == [row]
    assert reader.get("admission/issues/?number=849").json()["results"] == []
    (line,) = flat(reader.get("admission/issues/?format=csv"))
    assert json.loads(line["current_status"])["stated_day"] == "2026-09-25"


def test_the_issue_as_of_a_day_is_what_held_then(reader):
    now, then = reader.get(ISSUE).json(), reader.get(f"{ISSUE}?as_of=2026-09-17").json()
    assert (now["as_of"], then["as_of"]) == (None, "2026-09-17")
    assert now["current_status"]["stated_day"] == "2026-09-25"
    assert then["current_status"]["stated_day"] <= "2026-09-17"
    assert then["state"] == "reopened"
    assert reader.get(f"{ISSUE}?as_of=2026-09-16").json()["state"] == "open"
    assert now["gap"]["missing_comments"] == 7
    assert {("OpenPipe/ART", 869), ("caladan", 260)} <= {
        (row["repository"], row["number"]) for row in now["related"]
    }
    assert now["head"]["stream"] == "issue/OpenPipe/ART/848"


def test_an_issues_address_does_not_mind_the_case_of_its_names(reader):
    assert reader.get("admission/issues/openpipe/art/848/").json()["number"] == 848


def test_one_status_holds_and_each_other_names_what_superseded_it(art_848, reader):
    found = rows(reader, "status-updates", "&ordering=-stated")
    assert [row["key"] for row in found] == [s.original.key for s in statuses(art_848)]
    assert [row["current"] for row in found] == [True] + [False] * 10
    assert found[0]["superseded_by"] is None
    assert all(row["superseded_by"] for row in found[1:])
    assert found[1]["superseded_by"] == found[0]["latest_wording"]
    earlier = rows(reader, "status-updates", "&as_of=2026-09-17")
    assert [row["stated_day"] <= "2026-09-17" for row in earlier] == [True] * len(earlier)
    assert sum(row["current"] for row in earlier) == 1


def test_changes_say_which_verdict_stands_for_their_current_head(art_848, reader):
    found = {row["key"]: row for row in rows(reader, "changes")}
    for derived in change_rows(art_848):
        row = found[derived.change.key]
        assert row["standing_verdict"] == derived.standing_verdict
        assert [head["sha"] for head in row["heads"]] == [head.sha for head in derived.heads]
    assert {row["number"] for row in found.values()} >= {857, 907, 971}


def test_a_withdrawn_clearance_does_not_stand_and_says_who_withdrew_it(reader):
    reviews = [row for row in rows(reader, "reviews") if row["head_sha"].startswith("ac5c6354")]
    (clearance,) = [row for row in reviews if row["verdict"] == "clear"]
    assert (clearance["stands"], clearance["fate"]) == (False, "withdrawn")
    assert clearance["withdrawn_by"]
    assert clearance["why_not"]


def test_a_carried_verdict_names_the_one_it_carries(reader):
    carried = [row for row in rows(reader, "reviews") if row["head_sha"].startswith("bd656b82")]
    assert any(row["carried_from"] and row["carry_reason"] for row in carried)
    heads = [row for row in rows(reader, "heads") if row["sha"].startswith("bd656b82")]
    assert {row["standing_verdict"] for row in heads} == {"clear"}


def test_a_run_above_what_was_usable_is_listed_under_its_own_class(reader, art_848):
    above = rows(reader, "witnesses", "&witness_class=usable_exceeded")
    assert [row["key"] for row in above] == ["witness-mixed-gradient"]
    safe = rows(reader, "witnesses", "&witness_class=safe_admission")
    assert "witness-mixed-gradient" not in {row["key"] for row in safe}
    assert not rows(reader, "witnesses", "&witness_class=usable_exceeded&as_of=2026-09-09")


def test_witnesses_carry_their_class_and_the_counts_agree(art_848, reader):
    found = rows(reader, "witnesses")
    expected = {s.witness.key: s.name.value for s in scored_witnesses(art_848)}
    assert {row["key"]: row["witness_class"] for row in found} == expected
    counted = reader.get(ISSUE).json()["counts"]
    derived = counts(scored_witnesses(art_848))
    assert counted["by_class"] == {name.value: number for name, number in derived.by_class.items()}
    assert counted["unscored"] == sum(not row["scored"] for row in found)
    assert counted["by_class"]["over_refusal"] == 0
    unsafe = rows(reader, "witnesses", "&witness_class=unsafe_admission")
    assert len(unsafe) == counted["by_class"]["unsafe_admission"] >= 3
    assert len(rows(reader, "witnesses", "&scored=false")) == counted["unscored"]
    assert len(rows(reader, "witnesses", "&scored=true")) == counted["scored"]


def test_the_post_save_probe_has_the_published_bytes(reader):
    # OpenPipe/ART #848: 66,302,838,756 B required of 68,787,071,693 B usable, then out of memory.
    (probe,) = [row for row in rows(reader, "witnesses") if row["required_bytes"] == 66_302_838_756]
    assert probe["usable_bytes"] == 68_787_071_693
    assert probe["margin_bytes"] == 68_787_071_693 - 66_302_838_756
    assert (probe["decision"], probe["witness_class"]) == ("admitted", "unsafe_admission")


def test_open_questions_are_narrowed_to_those_still_open(art_848, reader):
    still = {q.question.key for q in open_questions(art_848)}
    assert {row["key"] for row in rows(reader, "open-questions", "&open=true")} == still
    everything = rows(reader, "open-questions")
    assert {row["key"] for row in everything if row["open"]} == still
    closed = {row["key"] for row in rows(reader, "open-questions", "&open=false")}
    assert closed == {row["key"] for row in everything} - still


def test_any_record_is_found_whole_by_its_key(reader):
    for table in ("witnesses", "reviews", "status-updates", "related-issues"):
        key = rows(reader, table)[0]["key"]
        body = reader.get(f"{ISSUE}statements/{key}/").json()
        assert body["record"]["key"] == key
        assert body["address"].endswith(f"/s/{key}/")
    assert reader.get(f"{ISSUE}statements/nothing/").status_code == 404


@pytest.mark.parametrize("ordering", ["id", "-id", "stated", "-stated", "key", "-key"])
@pytest.mark.parametrize("table", ["witnesses", "heads"])
def test_pages_follow_each_other_without_loss_in_every_order(reader, table, ordering):
    whole = [row["key"] for row in rows(reader, table, f"&ordering={ordering}")]
    seen, path = [], f"{ISSUE}{table}/?page_size=3&ordering={ordering}"
    while path:
        body = reader.get(path).json()
        seen += [row["key"] for row in body["results"]]
        path = (body["next"] or "").partition("/api/v1/")[2]
    assert seen == whole
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("path", ["admission/issues/", ISSUE, f"{ISSUE}witnesses/", f"{ISSUE}reviews/"])
def test_what_is_unchanged_is_not_sent_again(ci, path):
    first = ci.get(path)
    again = ci.get(path, **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    witness = {"key": "new", "title": "A run", "decision": "refused", "outcome": "not_executed"}
    assert ci.post(f"{ISSUE}witnesses/", witness).status_code == 201
    fresh = ci.get(path, **{"If-None-Match": first["ETag"]})
    assert fresh.status_code == 200
    assert fresh["ETag"] != first["ETag"]
