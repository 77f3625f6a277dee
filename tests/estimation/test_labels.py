"""A configuration's label comes from its three slots, and only from them."""

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, SlotOutcome, parse_label, resolve, slot_state
from tests.estimation.facts import ORIGINAL, resolution_row

MARGIN = 38_912

peaks = st.floats(1, 60_000) | st.sampled_from([38_912.0, 38_912.5, 38_911.5])
outcomes = st.one_of(st.none(), st.just("memory_failure"), peaks.map(lambda peak: ("completed", peak)))
three_outcomes = st.tuples(outcomes, outcomes, outcomes)


def slots(*found):
    made = []
    for seed, outcome in enumerate(found, start=151):
        if isinstance(outcome, tuple):
            made.append(SlotOutcome(seed, *outcome))
        else:
            made.append(SlotOutcome(seed, outcome))
    return made


def completed(peak):
    return ("completed", peak)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        ([completed(30_000.0), completed(38_912.0), completed(10.0)], "within_margin"),
        ([completed(30_000.0), completed(38_912.1), completed(10.0)], "above_margin"),
        ([completed(30_000.0), "memory_failure", completed(39_000.0)], "memory_failure"),
        ([completed(30_000.0), completed(30_000.0), None], "unresolved"),
        (["memory_failure", "memory_failure", None], "unresolved"),
        ([None, None, None], "unresolved"),
    ],
)
def test_label_follows_from_three_slots(found, state):
    assert resolve(slots(*found), MARGIN).state == state


@given(three_outcomes)
def test_label_exists_exactly_when_no_slot_is_unresolved(found):
    resolution = resolve(slots(*found), MARGIN)
    assert (resolution.label is None) == (None in found)
    assert resolution.state in {*Label, "unresolved"}


@given(three_outcomes)
def test_known_flags_stay_visible_while_the_label_is_unresolved(found):
    resolution = resolve(slots(*found), MARGIN)
    assert resolution.known_memory_failure == ("memory_failure" in found)
    exceeding = [outcome for outcome in found if isinstance(outcome, tuple) and outcome[1] > MARGIN]
    assert resolution.known_margin_exceedance == bool(exceeding)


@given(three_outcomes)
def test_seeds_are_split_into_eligible_and_unresolved(found):
    resolution = resolve(slots(*found), MARGIN)
    assert resolution.planned_seeds == (151, 152, 153)
    assert not set(resolution.eligible_seeds) & set(resolution.unresolved_seeds)
    assert len(resolution.unresolved_seeds) == found.count(None)


@given(three_outcomes)
def test_no_peak_stands_in_for_a_failed_or_missing_one(found):
    resolution = resolve(slots(*found), MARGIN)
    measured = [outcome[1] for outcome in found if isinstance(outcome, tuple)]
    assert resolution.completed_processes == len(measured)
    assert resolution.maximum_known_completed_peak_mib == max(measured, default=None)
    assert resolution.completed_peak_mib == (max(measured) if len(measured) == 3 else None)


@given(three_outcomes, st.permutations(range(3)))
def test_order_of_slots_does_not_matter(found, order):
    made = slots(*found)
    assert resolve(made, MARGIN) == resolve([made[place] for place in order], MARGIN)


@given(three_outcomes, st.integers(0, 2), peaks | st.just("memory_failure"))
def test_resolving_one_more_slot_never_takes_back_what_was_known(found, place, later):
    before = resolve(slots(*found), MARGIN)
    changed = list(found)
    if changed[place] is None:
        changed[place] = later if later == "memory_failure" else completed(later)
    after = resolve(slots(*changed), MARGIN)
    assert after.known_memory_failure >= before.known_memory_failure
    assert after.known_margin_exceedance >= before.known_margin_exceedance


def test_every_published_configuration_is_labelled_as_published(archive):
    resolutions = archive.resolutions(ORIGINAL)
    for published in archive["estimation/results/configurations.csv"]:
        name = published["configuration_id"]
        columns = [key for key in published if key != "settings"]
        sheet = io.StringIO()
        writer = csv.DictWriter(sheet, columns)
        writer.writeheader()
        writer.writerow(resolution_row(name, resolutions[name]))
        sheet.seek(0)
        assert next(csv.DictReader(sheet)) == {column: published[column] for column in columns}


@pytest.mark.parametrize(
    ("panel", "slots", "failures", "unresolved", "resolved"),
    [("estimation", 36, 23, 13, 6), ("host_capacity", 18, 9, 9, 3)],
)
def test_published_slot_counts(archive, panel, slots, failures, unresolved, resolved):
    """Counts of the results' own summary files and of the study's design."""
    found = archive.resolutions(panel).values()
    assert sum(len(item.planned_seeds) for item in found) == slots
    assert sum(len(item.eligible_seeds) for item in found) == failures
    assert sum(len(item.unresolved_seeds) for item in found) == unresolved
    assert sum(item.completed_processes for item in found) == 0
    assert [item.label for item in found if item.label] == [Label.MEMORY_FAILURE] * resolved


@pytest.mark.parametrize(
    ("slot", "state"),
    [
        (SlotOutcome(1, None), "unresolved"),
        (SlotOutcome(1, "memory_failure"), "memory_failure"),
        (SlotOutcome(1, "completed", 38_912.0), "within_margin"),
        (SlotOutcome(1, "completed", 38_913.0), "above_margin"),
    ],
)
def test_state_of_one_slot(slot, state):
    assert slot_state(slot, MARGIN) == state


@pytest.mark.parametrize("word", ["unresolved", "", None, "oom", "Within_Margin", 1])
def test_a_fourth_label_is_refused_by_name(word):
    with pytest.raises(EstimationError) as refusal:
        parse_label(word, "cfg-x")
    assert str(refusal.value).startswith(f"cfg-x: label is {word!r}, expected one of within_margin")


def test_unresolved_is_refused_with_its_reason():
    with pytest.raises(EstimationError, match="an unresolved configuration has no label"):
        parse_label("unresolved", "cfg-x")


@pytest.mark.parametrize("peak", [None, math.nan, math.inf, 10**400, 0.0, -1.0, True, "30000"])
def test_a_completed_slot_needs_its_peak(peak):
    with pytest.raises(EstimationError, match=r"slot with seed 5: peak_mib is .*, expected a finite peak"):
        SlotOutcome(5, "completed", peak)


@pytest.mark.parametrize("kind", ["memory_failure", None])
def test_a_slot_that_did_not_complete_has_no_peak(kind):
    with pytest.raises(EstimationError, match=r"peak_mib is 28882.0, expected no peak"):
        SlotOutcome(5, kind, 28_882.0)


def test_an_unknown_kind_is_refused():
    with pytest.raises(
        EstimationError, match="kind is 'host_memory', expected completed, memory_failure, or None"
    ):
        SlotOutcome(5, "host_memory")


def test_a_seed_is_a_whole_number():
    with pytest.raises(EstimationError, match="seed is '151', expected a whole number"):
        SlotOutcome("151", None)


def test_a_configuration_without_a_slot_has_no_label_to_have():
    with pytest.raises(EstimationError, match=r"cfg-x: slots is \[\], expected at least one planned slot"):
        resolve([], MARGIN, configuration_id="cfg-x")


@given(st.sets(st.integers(0, 99), min_size=1, max_size=9), st.data())
def test_any_number_of_seeds_and_those_without_a_slot_are_unresolved(seeds, data):
    present = data.draw(st.sets(st.sampled_from(sorted(seeds))))
    found = resolve([SlotOutcome(seed, "completed", 1.0) for seed in present], MARGIN, seeds=seeds)
    assert set(found.unresolved_seeds) == seeds - present
    assert (found.label is Label.WITHIN_MARGIN) == (present == seeds)
    assert found.planned_seeds == tuple(sorted(seeds))


def test_a_seed_that_is_not_planned_is_refused():
    with pytest.raises(EstimationError, match=r"cfg-x: seed is 9, expected one of the planned \[1, 2\]"):
        resolve([SlotOutcome(9, None)], MARGIN, seeds=[1, 2], configuration_id="cfg-x")


def test_a_seed_counts_once():
    doubled = [SlotOutcome(1, None), SlotOutcome(1, None), SlotOutcome(2, None)]
    with pytest.raises(EstimationError, match="expected each seed once"):
        resolve(doubled, MARGIN)


@pytest.mark.parametrize("margin", [0, -1, math.nan, math.inf])
def test_a_margin_must_be_a_size(margin):
    with pytest.raises(EstimationError, match=r"margin_mib is .*, expected a finite margin above zero"):
        resolve(slots(None, None, None), margin)
