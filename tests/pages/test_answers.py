"""What a reviewer asks next: which configurations, how long before, on what grounds, what changed there."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.labels import Label, SlotOutcome, resolve
from studies.models import Study
from studies.services.lead import duration, lead
from studies.text.certain import certain_sentence, known_already
from studies.views.beside import changes_sentence
from tests.pages.reading import figure_of, sentence_of, text_of

KINDS = st.sampled_from(
    [("completed", 30_000.0), ("completed", 39_000.0), ("memory_failure", None), (None, None)]
)
MARGIN = 38_912


@given(st.lists(KINDS, min_size=1, max_size=5), st.lists(KINDS, min_size=5, max_size=5))
def test_what_an_unresolved_configuration_can_become_holds_whatever_the_missing_slots_do(known, later):
    slots = [SlotOutcome(seed, kind, peak) for seed, (kind, peak) in enumerate(known)]
    before = resolve(slots, MARGIN)
    filled = [
        slot
        if slot.kind
        else SlotOutcome(slot.seed, *(later[slot.seed] if later[slot.seed][0] else known_ok()))
        for slot in slots
    ]
    assert resolve(filled, MARGIN).label in before.possible


def known_ok() -> tuple[str, float]:
    return "completed", 30_000.0


def test_known_failures_and_exceedances_are_counted():
    failed, above = SlotOutcome(1, "memory_failure"), SlotOutcome(2, "completed", 39_000.0)
    assert known_already([failed, failed], MARGIN) == "two failures known"
    assert known_already([failed, above], MARGIN) == "one failure and one peak above the margin known"
    assert known_already([SlotOutcome(1, None)], MARGIN) == ""
    assert resolve([above, SlotOutcome(3, None)], MARGIN).possible == (
        Label.ABOVE_MARGIN,
        Label.MEMORY_FAILURE,
    )


def test_what_is_certain_is_said_only_where_something_is():
    assert certain_sentence(0, 0, 4) == ""
    assert certain_sentence(1, 1, 2) == (
        "Certain already: of these two one can only become a memory failure and one can only end above the "
        "margin or as a memory failure, so none of those can become a useful approval."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.9, "59 s"), (1222.46, "20 min 22 s"), (3600, "1 h 0 min"), (90_061, "1 d 1 h")],
)
def test_a_length_of_time_has_two_units(seconds, words):
    assert duration(dt.timedelta(seconds=seconds)) == words


def test_settings_that_ran_again_are_counted_by_what_changed():
    assert changes_sentence([]) == "No setting was run again."
    assert changes_sentence([("unresolved", "within_margin")]) == (
        "With the same sealed predictions one setting ran again: one went from unresolved to within margin; "
        "one label changed."
    )


@pytest.mark.usefixtures("sample_studies")
class TestPages:
    def test_the_seal_s_lead_is_of_the_earliest_launch(self):
        study = Study.objects.get(slug="host-capacity")
        found = lead(study, study.seals.get())
        assert found is not None
        assert found.before
        assert found.between == found.launched_at - found.sealed_at

    @pytest.mark.parametrize(
        ("query", "number", "words"),
        [
            ({}, 12, "Donor copy answered for twelve configurations of the panel."),
            ({"method": "donor_copy", "state": "approved_failed"}, 6, "six of twelve"),
            ({"scope": "phi4", "method": "donor_copy", "state": "approved_above_margin"}, 6, "six of 30"),
            ({"scope": "qwen25", "method": "logistic", "state": "rejected_usable"}, 6, "six of 30"),
            ({"method": "exact_difference", "state": "approved_unscored"}, 3, "three of twelve"),
        ],
    )
    def test_the_configurations_behind_a_count(self, query, number, words, client):
        """Counts by held-out family and of the panel, as the study publishes them."""
        answer = client.get("/studies/estimation/targets/", query)
        assert words in sentence_of(answer)
        assert answer.content.decode().count('<th scope="row"') == number

    @pytest.mark.parametrize("query", [{"scope": "x"}, {"method": "x"}, {"state": "x"}])
    def test_a_wrong_scope_method_or_state_is_named(self, query, client):
        answer = client.get("/studies/estimation/targets/", query)
        assert answer.status_code == 400
        assert "is “x”, expected one of:" in text_of(answer)

    def test_every_bar_of_the_families_leads_to_as_many_configurations_as_it_counts(self, client):
        figure = figure_of(client.get("/studies/estimation/"), "folds")
        bars = [
            (abs(length), link)
            for trace in figure["data"]
            for length, link in zip(trace["x"], trace["meta"]["links"], strict=True)
            if length
        ]
        assert len(bars) > 10
        for length, link in bars[:4]:
            assert client.get(link).content.decode().count('<th scope="row"') == length

    def test_a_study_that_follows_none_has_nothing_beside_it(self, client):
        assert "it has no parent to stand beside" in text_of(client.get("/studies/estimation/beside-parent/"))

    def test_a_follow_up_s_changed_setting_comes_first_with_what_was_observed_there_and_here(self, client):
        text = text_of(client.get("/studies/host-capacity/beside-parent/"))
        first = text.split("The same setting, there and here")[1]
        assert first.startswith(" MATH mathematics, c2, 2 GPUs ≠ resolved here")

    @pytest.mark.parametrize("page", ["targets/", "targets/?scope=granite33", "costs/"])
    def test_an_amount_of_queries_is_enough(self, page, client, django_assert_max_num_queries):
        with django_assert_max_num_queries(40):
            assert client.get(f"/studies/estimation/{page}").status_code == 200
