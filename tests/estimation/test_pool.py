"""The fitting pool takes recorded outcomes only, each configuration once."""

import pytest

from studies.estimation.errors import EstimationError
from studies.estimation.families import family_of
from studies.estimation.folds import leave_family_out
from studies.estimation.labels import Label
from studies.estimation.pool import Pool, PoolConfiguration, Target, check_targets
from tests.estimation.world import (
    GRANITE,
    PHI,
    QWEN_3B,
    QWEN_7B,
    architecture,
    pool_configuration,
    row,
    settings,
    small_pool,
    target,
)

MODELS = {QWEN_3B: architecture()}


def outcome(**changes):
    return {
        "configuration_id": "cfg-a",
        "observed_state": "within_margin",
        "eligible_processes": "3",
        "distinct_seeds": "3",
        "completed_eligible_processes": "3",
        "memory_failure_processes": "0",
        "max_completed_run_peak_mib": "30000.0",
        "recorded_attempts": "4",
    } | changes


def test_rows_become_a_pool_configuration():
    found = PoolConfiguration.from_rows(row(), outcome(), MODELS)
    assert (found.label, found.completed_peak_mib, found.recorded_attempts) == (
        Label.WITHIN_MARGIN,
        30_000.0,
        4,
    )
    assert (found.configuration_id, found.family) == ("cfg-a", "qwen25")


def test_a_failed_configuration_has_no_peak_even_if_two_processes_completed():
    failed = outcome(
        observed_state="memory_failure", completed_eligible_processes="2", memory_failure_processes="1"
    )
    assert PoolConfiguration.from_rows(row(), failed, MODELS).completed_peak_mib is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"observed_state": "unresolved"},
            "cfg-a: observed_state is 'unresolved', expected one of within_margin",
        ),
        ({"observed_state": "usable"}, "cfg-a: observed_state is 'usable', expected one of within_margin"),
        ({"observed_state": ""}, "can't be offered as a truth"),
        ({"configuration_id": "cfg-b"}, "cfg-a: outcome row is 'cfg-b', expected the same configuration"),
        ({"eligible_processes": "2", "distinct_seeds": "2"}, "expected 2 eligible less 0 failed processes"),
        ({"distinct_seeds": "2"}, "cfg-a: distinct_seeds is '2', expected as many as eligible_processes, 3"),
        ({"eligible_processes": ""}, "cfg-a: eligible_processes is '', expected a whole number"),
        (
            {"completed_eligible_processes": "2"},
            "completed_eligible_processes is 2, expected 3 eligible less 0",
        ),
        (
            {"observed_state": "memory_failure"},
            "observed_state is 'memory_failure', expected the label of 0 failed",
        ),
        ({"max_completed_run_peak_mib": ""}, "max_completed_run_peak_mib is '', expected a finite number"),
        ({"max_completed_run_peak_mib": "0"}, "completed_peak_mib is 0.0, expected a finite peak above zero"),
        (
            {"max_completed_run_peak_mib": "39000"},
            "label is 'within_margin', expected the label of a peak of 39000.0",
        ),
        (
            {"observed_state": "above_margin"},
            "label is 'above_margin', expected the label of a peak of 30000.0 MiB",
        ),
        ({"recorded_attempts": "2"}, "recorded_attempts is 2, expected a whole number of at least 3"),
    ],
)
def test_an_outcome_row_that_is_no_truth_is_refused(changes, message):
    with pytest.raises(EstimationError) as refusal:
        PoolConfiguration.from_rows(row(), outcome(**changes), MODELS)
    assert message in str(refusal.value)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_pool_may_repeat_as_often_as_its_study_planned(number):
    repeated = outcome(
        eligible_processes=str(number),
        distinct_seeds=str(number),
        completed_eligible_processes=str(number),
        recorded_attempts="5",
    )
    assert PoolConfiguration.from_rows(row(), repeated, MODELS).eligible_processes == number


def test_a_label_without_a_process_is_refused():
    with pytest.raises(EstimationError, match="cfg-a: eligible_processes is 0, expected a whole number of"):
        PoolConfiguration.from_rows(
            row(),
            outcome(eligible_processes="0", distinct_seeds="0", completed_eligible_processes="0"),
            MODELS,
        )


def test_a_blank_boolean_is_refused():
    with pytest.raises(EstimationError, match="cfg-a: parameter_offload is '', expected True or False"):
        PoolConfiguration.from_rows(row(parameter_offload=""), outcome(), MODELS)


def test_a_model_without_architecture_is_refused():
    with pytest.raises(EstimationError, match=f"cfg-a: model_id is '{PHI}', expected one of {QWEN_3B}"):
        PoolConfiguration.from_rows(row(model_id=PHI), outcome(), MODELS)


@pytest.mark.parametrize("label", ["unresolved", "oom", None])
def test_a_fourth_label_is_refused(label):
    with pytest.raises(EstimationError, match=r"cfg-a: label is .*, expected one of within_margin"):
        PoolConfiguration(settings(), architecture(), label, None, 3, 3)


def test_a_failure_with_a_peak_is_refused():
    with pytest.raises(EstimationError, match=r"completed_peak_mib is 40960.0, expected no peak"):
        pool_configuration("cfg-x", Label.MEMORY_FAILURE, peak=40_960.0)


def test_a_configuration_is_in_the_pool_once():
    twice = [pool_configuration("cfg-x"), pool_configuration("cfg-x", attempts=4)]
    with pytest.raises(EstimationError) as refusal:
        Pool.of(twice)
    assert str(refusal.value) == "fitting pool: configuration_id is 'cfg-x', expected each configuration once"


def test_an_empty_pool_is_refused():
    with pytest.raises(EstimationError, match="fitting pool: configurations is 0, expected at least one"):
        Pool.of([])


def test_a_row_without_outcome_is_refused_as_truth():
    with pytest.raises(EstimationError, match="target: label is None, expected a recorded outcome"):
        Pool.of([target()])


def test_an_unknown_configuration_is_refused():
    with pytest.raises(
        EstimationError, match="configuration_id is 'cfg-none', expected a configuration of the pool"
    ):
        small_pool().restricted_to(["cfg-none"])


def test_a_target_inside_the_pool_is_refused():
    pool = small_pool()
    inside = pool.configurations[0]
    with pytest.raises(EstimationError) as refusal:
        check_targets([target(), inside.as_target()], pool)
    assert str(refusal.value) == (
        f"targets: configuration_id is '{inside.configuration_id}', "
        "expected a configuration outside the fitting pool"
    )


def test_a_target_given_twice_is_refused():
    with pytest.raises(
        EstimationError, match="targets: configuration_id is 'target', expected each configuration once"
    ):
        check_targets([target(), target()], small_pool())


def test_a_target_carries_no_outcome():
    stripped = pool_configuration("cfg-x").as_target()
    assert type(stripped) is Target
    assert not {"label", "completed_peak_mib", "recorded_attempts"} & set(vars(stripped))


def test_a_target_with_another_models_architecture_is_refused():
    with pytest.raises(EstimationError, match=f"model_id is '{QWEN_3B}', expected the architecture's {PHI}"):
        Target(settings(), architecture(PHI))


@pytest.mark.parametrize(
    ("model", "family"), [(QWEN_3B, "qwen25"), (QWEN_7B, "qwen25"), (PHI, "phi4"), (GRANITE, "granite33")]
)
def test_families(model, family):
    assert family_of(model) == family


def test_a_recorded_family_stands_before_the_published_one():
    assert family_of(QWEN_3B, "qwen") == "qwen"
    assert family_of("acme/one", "acme") == "acme"


def test_a_model_without_a_known_family_is_never_put_together_with_another():
    assert family_of("acme/one") != family_of("acme/two")


def test_folds_are_those_of_the_families_that_occur():
    """Models that no code knows, two of them of one family."""
    pool = Pool.of(
        pool_configuration(f"cfg-{model}", model_id=f"acme/{model}", family=family)
        for model, family in (("a-1b", "a"), ("a-9b", "a"), ("b-2b", "b"), ("c-3b", "c"))
    )
    folds = {fold.family: (len(fold.fitting), len(fold.test)) for fold in leave_family_out(pool)}
    assert folds == {"a": (2, 2), "b": (3, 1), "c": (3, 1)}


def test_pool_is_ordered_by_id_whatever_the_input_order():
    pool = small_pool()
    assert Pool.of(reversed(pool.configurations)) == pool
    assert pool.configuration_ids == sorted(pool.configuration_ids)


def test_published_pool(archive):
    """Counts of the study's design."""
    pool = archive.pool
    assert (len(pool), pool.eligible_processes, pool.recorded_attempts) == (90, 270, 308)
    assert sum(item.completed_peak_mib is not None for item in pool) == 70
    assert pool.families == ["granite33", "phi4", "qwen25"]
    assert [item.settings.study for item in pool].count("boundary") == 72
    assert [item.settings.study for item in pool].count("four_gpu") == 18
