"""The overview of a study: sentence, figures and what stands beside them. Numbers are the published ones."""

from __future__ import annotations

import pytest
from django.urls import reverse

from studies.models import Study
from tests.factories import make_small_study, make_study
from tests.pages.reading import figure_of, sentence_of, text_of, trace_counts

pytestmark = pytest.mark.usefixtures("sample_studies")


@pytest.fixture
def panel(client):
    return client.get("/studies/estimation/")


@pytest.fixture
def follow_up(client):
    return client.get("/studies/host-capacity/")


def cells(figure, state: str) -> set[tuple[str, str]]:
    """Configuration and method of each cell that is drawn in ``state``."""
    return {
        (item[0], item[1])
        for trace in figure["data"]
        if trace["meta"]["state"] == state
        for item in trace["customdata"]
    }


def test_the_sentence_says_what_is_resolved_and_who_approved_what(panel):
    assert sentence_of(panel) == (
        "Six of twelve configurations are resolved, all of them memory failures, so no method could show a "
        "useful approval here; donor copy approved all twelve (six failed, six unscored), component "
        "regression approved three (all unscored), logistic classification none."
    )


def test_the_follow_up_has_its_own_sentence_and_denominators(follow_up):
    assert sentence_of(follow_up) == (
        "Three of six configurations are resolved, all of them memory failures, so no method could show a "
        "useful approval here; donor copy approved all six (three failed, three unscored), component "
        "regression approved three (all unscored), logistic classification none."
    )
    assert "of 18" not in text_of(follow_up)


def test_the_panel_figure_has_a_cell_for_every_configuration_and_method(panel):
    figure = figure_of(panel, "panel")
    assert sum(len(trace["x"]) for trace in figure["data"] if trace["type"] == "bar") == 12 * 3
    failed = cells(figure, "approved_failed")
    assert len(failed) == 6
    assert {method for _, method in failed} == {"donor copy"}
    assert cells(figure, "approved_unscored_known_failure") == {
        ("est-qwen25-7b-math-c2-2gpu", "donor copy"),
        ("est-qwen25-7b-math-c3-2gpu", "donor copy"),
        ("est-qwen25-7b-math-c3-4gpu", "donor copy"),
    }
    assert len(cells(figure, "approved_unscored")) == 6
    assert len(cells(figure, "rejected_rightly")) == 12
    assert len(cells(figure, "rejected_unscored")) == 9


def test_the_panel_figure_gives_label_and_seeds(panel):
    observed = next(t for t in figure_of(panel, "panel")["data"] if t["meta"]["state"] == "observed")
    by_id = dict(zip((item[0] for item in observed["customdata"]), observed["text"], strict=True))
    assert by_id["est-qwen25-7b-gsm8k-c2-2gpu"] == "memory failure<br>151 ✕ 152 ✕ 153 ✕"
    assert by_id["est-qwen25-7b-math-c3-4gpu"] == "unresolved<br>151 ✕ 152 ? 153 ✕"


def test_unscored_approvals_are_hatched_on_the_scale_of_the_scored_ones(panel):
    figure = figure_of(panel, "panel-approvals")
    assert trace_counts(figure) == {
        "approved_failed": [6, None, None, None],
        "approved_unscored": [3, 3, None, None],
        "approved_unscored_known_failure": [3, None, None, None],
    }
    patterns = {
        trace["meta"]["state"]: trace["marker"].get("pattern", {}).get("shape") for trace in figure["data"]
    }
    assert patterns["approved_failed"] is None
    assert patterns["approved_unscored"] == patterns["approved_unscored_known_failure"] == "/"


def test_families_are_drawn_side_by_side_with_the_published_counts(panel):
    """Counts of the study's retrospective, family by family: granite33, phi4, qwen25."""
    figure = figure_of(panel, "folds")
    none = [None, None]
    assert trace_counts(figure, "x") == {
        "useful": [22, 22, 22, 22, 22],
        "approved_above_margin": [None, 4, 3, *none],
        "approved_failed": [None, 4, None, *none],
        "undecided_other": [None, None, None, None, -8],
    }
    assert trace_counts(figure, "x2") == {
        "useful": [16, 16, 16, 16, 16],
        "approved_above_margin": [6, 3, 2, *none],
    }
    assert trace_counts(figure, "x3") == {
        "useful": [22, 22, 16, 20, 19],
        "rejected_usable": [None, None, -6, *none],
        "undecided_usable": [None, None, None, -2, -3],
        "undecided_other": [None, None, None, None, -8],
    }
    titles = [note["text"] for note in figure["layout"]["annotations"] if "held out" in note["text"]]
    assert titles == [
        "<b>Granite</b><br>30 held out: 22 usable, 4 above, 4 failing",
        "<b>Phi-4-mini</b><br>30 held out: 16 usable, 6 above, 8 failing",
        "<b>Qwen</b><br>30 held out: 22 usable, 0 above, 8 failing",
    ]


def test_known_error_patterns_stand_in_plain_words(panel):
    text = text_of(panel)
    assert "Component regression approves four memory-failing Granite configurations (4 of 4)." in text
    assert "Logistic classification rejects six usable Qwen settings (6 of 22)." in text
    assert "Donor copy approves six above-margin Phi-4-mini configurations (6 of 6)." in text


def test_the_always_failure_rule_stands_beside_the_methods(panel):
    text = text_of(panel)
    assert "The rule that always says so is right 6 of 6 times and approves nothing" in text
    assert "rule: always failure 0 of 6 0 0 0 – – 0 0 0 6 of 6" in text
    assert "donor copy 12 of 12 0 0 6 6 3 0 0 0 0 of 6" in text


def test_the_seal_says_when_it_was_made_and_what_it_binds(panel):
    text = text_of(panel)
    assert "Sealed before the first launch. Sealed 2026-09-15 14:10:21 UTC sha256 5ed714ca" in text
    page = panel.content.decode()
    for bound in (
        "1694e447e842600612604891e7b3d036ff0791fa84c4bdbeba54ed093feefdeb",  # the protocol
        "b02fe0419f865c4cc3d77fb35bb4205a54f3aa9605fdadc7b86a9a11b172d25e",  # its amendment
        "96d7f2ae11145f0985c0faf743333d941afbcd3b80966a857b1af0af15306ace",  # the predictions
    ):
        assert f'data-copy="{bound}"' in page
    assert "1 amendment before launch" in text


def test_costs_stand_in_three_scopes_that_are_not_added(follow_up):
    text = text_of(follow_up)
    assert "4.89 GPU-hours task-provisioned GPU time" in text
    assert "5.61 GPU-hours reservation during invocations" in text
    assert "5.79 GPU-hours whole allocation" in text


def test_the_follow_up_names_its_parent_and_points_to_its_families(follow_up):
    text = text_of(follow_up)
    assert "Follow-up of Memory estimation, seven-billion panel" in text
    assert "Its predictions are the parent's sealed ones, unchanged" in text
    assert 'href="/studies/estimation/#families"' in follow_up.content.decode()
    assert "held out:" not in text


def test_the_commands_that_verify_the_study_can_be_copied(panel):
    assert (
        'data-copy="python manage.py verify_study estimation --archive PATH --refit --output report.json"'
        in panel.content.decode()
    )


def test_the_chain_head_is_shown(panel):
    from rlvram_site.ledger.chain import head

    end = head("study/estimation")
    assert end.sha256 in panel.content.decode()
    assert f"after {end.sequence} records" in text_of(panel)


def test_an_unknown_study_is_a_page_that_says_so(client):
    response = client.get("/studies/nowhere/")
    assert response.status_code == 404
    assert "There is nothing at" in text_of(response)


def test_a_study_without_a_protocol_says_what_is_missing(client):
    study = make_study(slug="bare")
    response = client.get(reverse("study", args=[study.slug]))
    assert response.status_code == 200
    assert sentence_of(response) == "Nothing can be shown yet: study bare has no protocol yet."


def test_a_protocol_that_states_no_rule_is_named_and_not_a_crash(client):
    study = make_small_study(slug="unruly")
    for name in ("study", "unscored", "protocol", "pairs", "costs", "events"):
        assert client.get(reverse(name, args=[study.slug])).status_code == 200
    assert sentence_of(client.get("/studies/unruly/")).startswith("Nothing can be shown yet: protocol")


def test_a_question_with_markup_is_shown_as_text(client):
    study = make_study(slug="markup", title="<b>bold</b>", question="<script>alert(1)</script>")
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert Study.objects.get(slug="markup").question == "<script>alert(1)</script>"
