"""OpenPipe/ART's own tests as the judge: their inputs, the policy they belong to, their figure and ours.

The rows are data of the package, so that the page shows what is checked here. Each names its file and commit.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from admission.estimator import KINDS, PRESETS, conformance_table, parse_policy
from admission.estimator.conformance import Case, Row, Source

TABLE = conformance_table()


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: f"{row.id} {row.where}")
def test_a_published_figure_comes_out_the_same(row):
    assert row.ours == row.figure, f"{row.source.url}\n{row.where}: {row.says}"
    assert row.equal


def test_the_table_is_long_enough_to_judge_by():
    published = [row for row in TABLE.rows if not row.source.issue]
    assert len(published) >= 60
    assert len({row.where for row in published}) >= 25
    assert len({row.source.commit for row in published}) >= 5


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.id)
def test_a_row_says_where_it_was_published(row):
    source = row.source
    assert source.repository == "OpenPipe/ART"
    if source.issue:
        assert source.url == "https://github.com/OpenPipe/ART/issues/848"
        assert re.match(r"(report|review) of September \d+, 2026", row.where)
    else:
        assert re.fullmatch(r"[0-9a-f]{40}", source.commit)
        assert source.url == f"https://github.com/OpenPipe/ART/blob/{source.commit}/{source.path}"
        assert source.path.startswith("tests/unit/test_trainer_rank_")


def test_no_two_rows_say_the_same():
    said = Counter((row.source.key, row.where, row.kind, row.policy, row.says) for row in TABLE.rows)
    assert said.most_common(1)[0][1] == 1
    assert len({row.id for row in TABLE.rows}) == len(TABLE.rows)


def test_every_scale_and_expert_floor_is_judged():
    seen = [parse_policy(name) for name in TABLE.policies]
    floors = {policy.expert_floor.name for policy in seen if policy.expert_floor}
    assert floors == {"moe2", "moe3", "fc2_stage", "fc1_fc2_stage"}
    assert {policy.scale for policy in seen} == {"base", "ratio", "normalised"}
    assert any(policy.floor_beyond_window for policy in seen)
    assert any("floor_beyond_window" in preset.name for preset in PRESETS)


def test_every_kind_of_figure_is_used():
    assert {row.kind for row in TABLE.rows} == set(KINDS)


def test_what_cannot_be_expressed_has_a_reason_and_no_row():
    assert len(TABLE.inexpressible) >= 10
    for item in TABLE.inexpressible:
        assert item.reason.endswith(".")
        assert item.source.commit or item.source.issue


def test_a_wrong_figure_would_be_seen():
    good = TABLE.rows[0]
    wrong = Row(**{**vars(good), "figure": int(good.figure) + 1})
    assert not wrong.equal
    truth = next(row for row in TABLE.rows if row.figure is True)
    assert not Row(**{**vars(truth), "ours": 1}).equal


def test_the_sentence_counts_what_differs():
    good = TABLE.rows[0]
    wrong = Row(**{**vars(good), "figure": 0})
    table = type(TABLE)((good, wrong), ())
    assert "1 of 2 come out the same here and 1 do not" in table.sentence
    assert f"all {len(TABLE.rows)} come out the same here" in TABLE.sentence


def test_a_row_without_its_inputs_is_told():
    from admission.estimator.conformance import _row

    with pytest.raises(ValueError, match="x-1: required_bytes needs model, forward"):
        _row({"id": "x-1", "kind": "required_bytes"}, {}, {})


def test_an_inputs_policy_is_the_rows_own():
    case = Case(parse_policy("base"), None, (), None, (), {})
    assert case.profile.tracks == ()
    assert Source("k", "a/b", "c/d.py", "0" * 40).label == "d.py at 000000000"
