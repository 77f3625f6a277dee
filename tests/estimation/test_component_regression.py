"""The regression fits completed peaks with nonnegative weights and a guard in front of its class."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from studies.estimation.methods.component_regression import ComponentRegression
from studies.estimation.pool import Pool, feature_matrix
from tests.estimation.world import CAPACITY, MARGIN, pool_configuration, rules, small_pool, target, targets

FEATURES = ("actor_shards_gib", "generation_budget_gib", "checkpoint_boundary_volume_gib")


def fitted(pool=None):
    return ComponentRegression(FEATURES, CAPACITY, MARGIN).fit(pool or small_pool())


def with_weights(intercept, *weights):
    """A regression with given weights, so that a peak can be set by hand."""
    method = fitted()
    method.coefficients_ = np.array([intercept, *weights])
    method.divisors_ = np.ones(len(FEATURES))
    return method


def test_only_completed_configurations_are_fitted():
    pool = small_pool()
    assert fitted(pool).training_ids_ == [
        item.configuration_id for item in pool if item.label is not Label.MEMORY_FAILURE
    ]


def test_failures_do_not_change_the_fit():
    pool = small_pool()
    completed = Pool.of(item for item in pool if item.completed_peak_mib is not None)
    assert fitted(pool).fitted_parameters() == fitted(completed).fitted_parameters()


def test_divisors_are_the_largest_fitted_value_but_at_least_one():
    names = ("actor_shards_gib", "actor_parameter_offload")
    method = ComponentRegression(names, CAPACITY, MARGIN).fit(small_pool())
    completed = [item for item in small_pool() if item.completed_peak_mib is not None]
    assert feature_matrix(completed, names).max(axis=0).tolist() == [10.0, 0.0]
    assert method.divisors_.tolist() == [10.0, 1.0]


def test_weights_are_nonnegative_and_optimal():
    """At a minimum the gradient is zero where a weight is free and not negative where it is held at zero."""
    method, pool = fitted(), small_pool()
    completed = [item for item in pool if item.completed_peak_mib is not None]
    design = np.column_stack(
        [np.ones(len(completed)), feature_matrix(completed, FEATURES) / method.divisors_]
    )
    peaks = np.array([item.completed_peak_mib for item in completed]) / 1024
    gradient = design.T @ (design @ method.coefficients_ - peaks)
    assert (method.coefficients_ >= 0).all()
    assert np.abs(gradient[method.coefficients_ > 0]).max() < 1e-8
    assert (gradient > -1e-8).all()
    assert method.residual_norm_ == pytest.approx(np.linalg.norm(design @ method.coefficients_ - peaks))


@pytest.mark.parametrize(
    ("peak_gib", "label"),
    [
        (10.0, Label.WITHIN_MARGIN),
        (38.0, Label.WITHIN_MARGIN),
        (38.0001, Label.ABOVE_MARGIN),
        (40.0, Label.ABOVE_MARGIN),
        (40.0001, Label.MEMORY_FAILURE),
    ],
)
def test_class_of_a_peak(peak_gib, label):
    [found] = with_weights(peak_gib, 0, 0, 0).predict([target()])
    assert found.peak_only_predicted_state is label
    assert found.predicted_state is label
    assert found.startup_guard_changed_state is False


def test_the_guard_turns_a_class_into_a_failure_and_says_so():
    [found] = with_weights(10.0, 0, 0, 0).predict([target(vllm_gpu_memory_utilization=0.9)])
    assert found.predicted_state is Label.MEMORY_FAILURE
    assert found.peak_only_predicted_state is Label.WITHIN_MARGIN
    assert found.startup_guard_changed_state is True
    assert found.predicted_peak_mib == 10 * 1024


def test_the_guard_is_silent_for_an_offloaded_actor():
    [found] = with_weights(10.0, 0, 0, 0).predict(
        [target(vllm_gpu_memory_utilization=0.9, parameter_offload=True)]
    )
    assert (found.predicted_state, found.startup_guard_changed_state) == (Label.WITHIN_MARGIN, False)


def test_the_guard_never_turns_a_failure_back():
    [found] = with_weights(41.0, 0, 0, 0).predict([target()])
    assert found.startup_budget.predicts_failure is False
    assert found.predicted_state is Label.MEMORY_FAILURE


@hypothesis_settings(max_examples=30)
@given(st.sampled_from([1, 2, 4]), st.floats(0.1, 0.9), st.integers(1, 32))
def test_terms_add_up_to_the_peak(gpus, share, batch):
    method = fitted()
    wanted = target(gpu_count=gpus, vllm_gpu_memory_utilization=share, actor_micro_batch=batch)
    terms = method.terms(wanted)
    assert [term.name for term in terms] == ["intercept", *FEATURES]
    [prediction] = method.predict([wanted])
    assert math.fsum(term.contribution_mib for term in terms) == pytest.approx(prediction.predicted_peak_mib)
    [stack] = method.explain(wanted).stacks
    assert stack.total_gib * 1024 == pytest.approx(prediction.predicted_peak_mib)


@given(st.integers(1, 31), st.floats(0.1, 0.8))
def test_more_work_never_lowers_the_peak(batch, share):
    method = fitted()
    small, large = method.predict(
        [
            target("small", actor_micro_batch=batch, vllm_gpu_memory_utilization=share),
            target("large", actor_micro_batch=batch + 1, vllm_gpu_memory_utilization=share + 0.05),
        ]
    )
    assert large.predicted_peak_mib >= small.predicted_peak_mib


def test_order_of_the_pool_does_not_matter():
    pool = small_pool()
    assert (
        fitted(Pool.of(reversed(pool.configurations))).fitted_parameters() == fitted(pool).fitted_parameters()
    )


def test_a_stored_fit_predicts_the_same_without_fitting():
    method = fitted()
    again = ComponentRegression.restore(method.fitted_parameters(), rules(), small_pool())
    assert again.predict(targets()) == method.predict(targets())
    assert again.fitted_parameters() == method.fitted_parameters()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("component_coefficients_gib", [1.0], "expected 4 finite numbers"),
        ("component_coefficients_gib", None, "component_coefficients_gib is None, expected 4 finite numbers"),
        ("component_coefficients_gib", [1.0, math.nan, 1.0, 1.0], "expected 4 finite numbers"),
        ("component_coefficients_gib", [1.0, -1.0, 1.0, 1.0], "expected no negative weight"),
        ("component_divisors", [1.0, 1.0, True], "expected 3 finite numbers"),
        ("component_divisors", [1.0, 1.0, 0.5], r"expected at least 1.0 each"),
        ("component_training_residual_norm_gib", "x", "expected 1 finite numbers"),
        ("regression_training_configuration_ids", ["cfg-a"], "expected the 12 completed configurations"),
    ],
)
def test_a_damaged_stored_fit_is_refused(field, value, message):
    damaged = fitted().fitted_parameters() | {field: value}
    with pytest.raises(EstimationError, match=message) as refusal:
        ComponentRegression.restore(damaged, rules(), small_pool())
    assert str(refusal.value).startswith(f"component_regression: {field}")


def test_a_pool_without_completed_runs_is_refused():
    pool = Pool.of([pool_configuration("cfg-a", Label.MEMORY_FAILURE)])
    with pytest.raises(
        EstimationError, match="completed configurations is 0, expected at least one configuration"
    ):
        fitted(pool)
