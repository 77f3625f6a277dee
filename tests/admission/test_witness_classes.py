"""A decision against its outcome. Counts are those of the bundled record of OpenPipe/ART #848."""

from __future__ import annotations

import pytest

from admission.models import Witness
from admission.services.witnesses import WitnessClass, classify, counts, scored_witnesses


@pytest.fixture
def by_key(art_848):
    return {row.witness.key: row for row in scored_witnesses(art_848)}


def test_counts_by_class(by_key):
    counted = counts(by_key.values())
    assert {name.value: number for name, number in counted.by_class.items()} == {
        "unsafe_admission": 10,
        "usable_exceeded": 1,
        "safe_admission": 16,
        "unscored_admission": 4,
        "over_refusal": 0,
        "correct_refusal": 0,
        "unscored_refusal": 6,
    }
    assert (counted.total, counted.scored, counted.unscored, counted.under_estimated) == (37, 27, 10, 2)


@pytest.mark.parametrize("key", ["witness-g16", "witness-post-save", "witness-pressured"])
def test_an_admission_that_ran_out_of_memory_is_unsafe(key, by_key):
    assert by_key[key].name == WitnessClass.UNSAFE_ADMISSION


def test_a_refusal_that_did_not_run_is_unscored(by_key):
    assert by_key["witness-restored-state"].name == WitnessClass.UNSCORED_REFUSAL


def test_a_refusal_that_something_larger_contradicts_is_flagged_and_stays_unscored(by_key):
    refused = by_key["witness-perplexity-17063"]
    assert refused.witness.contradicted_by.packed_tokens > refused.witness.packed_tokens
    assert refused.name == WitnessClass.UNSCORED_REFUSAL
    assert counts(by_key.values()).contradicted == 3


def test_a_completed_run_above_its_prediction_is_under_estimated(by_key):
    eight = by_key["witness-eight-sequence"]
    assert (eight.name, eight.under_estimated) == (WitnessClass.SAFE_ADMISSION, True)
    assert by_key["witness-three-passes"].under_estimated is False


def test_a_measured_total_is_not_compared_with_a_predicted_increment(by_key):
    assert by_key["witness-g16-lifetime"].under_estimated is None


def test_an_interval_that_starts_after_admission_is_conditional(by_key):
    assert by_key["witness-target-backward"].conditional
    assert not by_key["witness-perplexity-first"].conditional


@pytest.mark.parametrize(
    ("key", "required", "usable"),
    [
        ("witness-g16", 6_713_560_268, None),
        ("witness-post-save", 66_302_838_756, 68_787_071_693),
        ("witness-pressured", 4_092_810_444, 4_652_784_333),
        ("witness-perplexity-17063", 329_391_505_015, 73_468_636_824),
        ("witness-perplexity-21489", 414_832_916_326, 73_468_636_824),
        ("witness-mixed-gradient", 315_673, 3_000_000),
    ],
)
def test_published_bytes_are_carried_exactly(key, required, usable, by_key):
    witness = by_key[key].witness
    assert (witness.required_bytes, witness.usable_bytes) == (required, usable)


def test_a_size_given_in_gib_keeps_those_words(by_key):
    witness = by_key["witness-target-backward"].witness
    assert (witness.required_words, witness.usable_words) == ("60.919 GiB", "62.747 GiB")
    assert witness.required_bytes == round(60.919 * 2**30)


def test_a_completed_run_that_held_more_than_was_usable_is_no_safe_admission(by_key):
    # September 10, mixed gradients: 8,921,344 B were retained where 3,000,000 B were usable.
    mixed = by_key["witness-mixed-gradient"]
    assert (mixed.measured_bytes, mixed.witness.usable_bytes) == (8_921_344, 3_000_000)
    assert mixed.name == WitnessClass.USABLE_EXCEEDED
    assert mixed.scored
    assert by_key["witness-target-backward"].usable_exceeded is False
    assert by_key["witness-g16-lifetime"].usable_exceeded is None


@pytest.mark.parametrize(("decision", "outcome"), [("admitted", "device_oom"), ("refused", "completed")])
def test_only_a_safe_admission_is_taken_back_for_it(decision, outcome):
    assert classify(decision, outcome, usable_exceeded=True) == classify(decision, outcome)


def test_every_decision_with_every_outcome_has_a_class():
    table = {(d, o): classify(d, o) for d in Witness.Decision.values for o in Witness.Outcome.values}
    assert len(table) == 8
    assert table["refused", "completed"] == WitnessClass.OVER_REFUSAL
    assert table["refused", "device_oom"] == WitnessClass.CORRECT_REFUSAL
    assert table["admitted", "unresolved"] == WitnessClass.UNSCORED_ADMISSION
