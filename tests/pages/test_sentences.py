"""The computed sentences, on panels that the published studies do not have."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.labels import Label, SlotOutcome, resolve
from studies.estimation.methods.base import Prediction
from studies.estimation.panel import evaluate_panel
from studies.estimation.volumes import StartupBasis, StartupBudget
from studies.text.sentences import amendments_text, error_patterns, panel_sentence, unscored_sentence
from studies.text.words import count_word, counted, listed

MARGIN = 38912
SILENT = StartupBudget(StartupBasis.OFFLOADED_ACTOR, None, None)
SLOTS = {
    "usable": [SlotOutcome(seed, "completed", 30000.0) for seed in (1, 2, 3)],
    "above": [SlotOutcome(seed, "completed", 40000.0) for seed in (1, 2, 3)],
    "failing": [SlotOutcome(seed, "memory_failure") for seed in (1, 2, 3)],
    "open": [SlotOutcome(seed, None) for seed in (1, 2, 3)],
    "one failed": [SlotOutcome(1, "memory_failure"), SlotOutcome(2, None), SlotOutcome(3, None)],
    "one above": [SlotOutcome(1, "completed", 40000.0), SlotOutcome(2, None), SlotOutcome(3, None)],
}


def evaluation(outcomes: Iterable[str], **approvals: Iterable[int]) -> dict:
    """A panel's evaluation; each method approves the targets at these places."""
    found = {f"c{place}": resolve(SLOTS[name], MARGIN) for place, name in enumerate(outcomes)}
    predictions = [
        Prediction(target, method, Label.WITHIN_MARGIN if place in approved else Label.MEMORY_FAILURE, SILENT)
        for method, approved in approvals.items()
        for place, target in enumerate(found)
    ]
    return evaluate_panel(predictions, found)


def test_nothing_resolved_scores_nothing():
    assert panel_sentence(evaluation(["open", "open"], donor_copy=[0])) == (
        "None of the two planned configurations is resolved, so nothing is scored yet; "
        "donor copy approved one (one unscored)."
    )


def test_several_labels_are_counted_apart():
    found = evaluation(
        ["usable", "usable", "above", "failing", "open"], donor_copy=[0, 1, 2, 3, 4], logistic=[]
    )
    assert panel_sentence(found) == (
        "Four of five configurations are resolved, two within margin, one above margin and one memory "
        "failure; donor copy approved all five (two useful, one above margin, one failed, one unscored) and "
        "logistic classification none."
    )


def test_methods_that_approved_alike_share_a_clause():
    found = evaluation(["failing"], donor_copy=[0], component_regression=[0], logistic=[0])
    assert panel_sentence(found) == (
        "One of one configurations is resolved, a memory failure, so no method could show a useful approval "
        "here; donor copy, component regression and logistic classification approved one (one failed)."
    )


def test_methods_that_approve_nothing_are_named():
    assert panel_sentence(evaluation(["usable", "open"], donor_copy=[], logistic=[])) == (
        "One of two configurations is resolved, within margin; "
        "donor copy and logistic classification approved none of them."
    )


def test_a_known_failure_and_a_known_exceedance_are_both_said():
    found = evaluation(["one failed", "one above", "open"], donor_copy=[0, 1, 2])
    assert unscored_sentence(found) == (
        "Donor copy has three unscored approvals; one already has a known failure and one already has a "
        "known peak above the margin."
    )


def test_a_single_unscored_approval_with_a_known_failure():
    assert unscored_sentence(evaluation(["one failed"], donor_copy=[0])) == (
        "Donor copy has one unscored approval; a failure is already known of it."
    )


def test_no_unscored_approval_is_said_too():
    assert unscored_sentence(evaluation(["usable"], donor_copy=[0])) == (
        "Every approval is scored: each approved configuration is resolved."
    )
    assert unscored_sentence(evaluation(["open"], donor_copy=[])) == (
        "No method approved anything, so no approval is unscored."
    )


def test_each_method_is_shown_where_it_errs_most_and_families_are_not_added():
    def scores(failed: int, rejected: int) -> dict[str, int]:
        return {
            "approved_memory_failure": failed, "target_memory_failure": 8, "approved_above_margin": 0,
            "target_above_margin": 0, "rejected_within_margin": rejected, "target_within_margin": 22,
        }  # fmt: skip

    folds = {
        "granite33": {"donor_copy": scores(2, 1), "logistic": scores(0, 0)},
        "qwen25": {"donor_copy": scores(3, 0), "logistic": scores(0, 0)},
    }
    [pattern] = error_patterns(folds)
    assert pattern.text == "Donor copy approves three memory-failing Qwen configurations (3 of 8)."
    assert (pattern.family, pattern.kind) == ("qwen25", "approved_failed")
    assert error_patterns({}) == []


def test_amendments_are_counted_by_their_derived_word():
    words = ["amendment", "deviation", "amendment", "amendment after launch"]
    assert amendments_text(words) == "2 amendments before launch, 1 amendment after launch, 1 deviation"
    assert amendments_text([]) == "no amendment"


@given(st.lists(st.sampled_from(sorted(SLOTS)), min_size=1, max_size=14), st.data())
def test_every_panel_has_a_sentence(outcomes, data):
    approved = data.draw(st.sets(st.sampled_from(range(len(outcomes)))))
    found = evaluation(outcomes, donor_copy=approved)
    for text in (panel_sentence(found), unscored_sentence(found)):
        assert text[0].isupper()
        assert text.endswith(".")
    useful = any(outcomes[place] == "usable" for place in approved)
    assert ("useful" in panel_sentence(found).partition(";")[2]) == useful


def test_numbers_and_lists_in_words():
    assert [count_word(n) for n in (0, 1, 12, 13, 1300)] == ["no", "one", "twelve", "13", "1,300"]
    assert counted(1, "pair") == "one pair"
    assert counted(2, "study", "studies") == "two studies"
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
