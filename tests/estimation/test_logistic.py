"""The classifier uses every label, and a fit that did not converge is a failure."""

import math

import numpy as np
import pytest

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from studies.estimation.methods.logistic import CLASSES, LogisticClassification
from studies.estimation.pool import Pool, feature_matrix
from tests.estimation.world import pool_configuration, rules, small_pool, targets

FEATURES = ("actor_shards_gib", "generation_budget_gib", "checkpoint_boundary_volume_gib")


def fitted(pool=None, **changes):
    parameters = {"C": 1.0, "max_iter": 10_000, "random_state": 7} | changes
    return LogisticClassification(FEATURES, **parameters).fit(pool or small_pool())


def test_classes_are_in_alphabetical_order():
    assert [label.value for label in CLASSES] == ["above_margin", "memory_failure", "within_margin"]


def test_predictions_carry_a_label_and_nothing_that_looks_like_a_probability():
    for found in fitted().predict(targets()):
        assert isinstance(found.predicted_state, Label)
        assert (found.predicted_peak_mib, found.donor_configuration_id) == (None, None)


def test_the_largest_score_wins():
    method, wanted = fitted(), targets()
    scaled = (feature_matrix(wanted, FEATURES) - method.mean_) / method.scale_
    scores = scaled @ method.coefficients_.T + method.intercepts_
    assert [item.predicted_state for item in method.predict(wanted)] == [
        CLASSES[row.argmax()] for row in scores
    ]


def test_the_fit_minimises_the_balanced_penalised_loss():
    """Gradient of Σ w·logloss + ‖coefficients‖²/2C at the solution, written out independently."""
    method, pool = fitted(), small_pool()
    scaled = (feature_matrix(pool.configurations, FEATURES) - method.mean_) / method.scale_
    observed = np.array([[item.label is label for label in CLASSES] for item in pool], dtype=float)
    weights = len(pool) / (3 * observed.sum(axis=0)) @ observed.T
    scores = np.exp(scaled @ method.coefficients_.T + method.intercepts_)
    shares = scores / scores.sum(axis=1, keepdims=True)
    gradient = ((shares - observed) * weights[:, None]).T @ scaled + method.coefficients_
    assert np.abs(gradient).max() < 1e-2


def test_features_are_standardised_on_the_fitting_pool():
    method = fitted()
    volumes = feature_matrix(small_pool().configurations, FEATURES)
    assert method.mean_ == pytest.approx(volumes.mean(axis=0))
    assert method.scale_ == pytest.approx(volumes.std(axis=0))


def test_two_fits_are_the_same():
    assert fitted().fitted_parameters() == fitted().fitted_parameters()


def test_a_fit_that_does_not_converge_is_a_failure():
    with pytest.raises(
        EstimationError, match=r"logistic: convergence is .*, expected a solution in 1 iterations"
    ):
        fitted(max_iter=1)


@pytest.mark.parametrize("absent", list(Label))
def test_a_pool_that_lacks_a_label_is_refused(absent):
    pool = Pool.of(item for item in small_pool() if item.label is not absent)
    with pytest.raises(
        EstimationError, match=f"logistic: fitting pool is '{absent}', expected each of the three labels"
    ):
        fitted(pool)


def test_a_feature_that_never_varies_is_harmless():
    pool = Pool.of(
        pool_configuration(f"cfg-{place}", label, actor_micro_batch=2**place)
        for place, label in enumerate(Label)
    )
    assert all(math.isfinite(value) for row in fitted(pool).coefficients_ for value in row)


def test_a_stored_fit_predicts_the_same_without_fitting():
    method = fitted()
    again = LogisticClassification.restore(method.fitted_parameters(), rules(), small_pool())
    assert again.predict(targets()) == method.predict(targets())
    assert again.fitted_parameters() == method.fitted_parameters()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "classifier_classes",
            ["within_margin", "above_margin", "memory_failure"],
            "expected above_margin, memory_f",
        ),
        ("classifier_coefficients", [[1.0, 1.0, 1.0]], "expected 3 rows"),
        (
            "classifier_coefficients",
            [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0]],
            "expected 3 finite numbers",
        ),
        ("classifier_intercepts", [0.0, 0.0, 10**400], "expected 3 finite numbers"),
        ("scaler_mean", None, "expected 3 finite numbers"),
        ("scaler_scale", [1.0, 0.0, 1.0], "expected numbers above zero"),
        ("classifier_iterations", 5, "expected a list of whole numbers"),
        ("classifier_iterations", ["5"], "expected a whole number"),
    ],
)
def test_a_damaged_stored_fit_is_refused(field, value, message):
    damaged = fitted().fitted_parameters() | {field: value}
    with pytest.raises(EstimationError, match=message) as refusal:
        LogisticClassification.restore(damaged, rules(), small_pool())
    assert str(refusal.value).startswith(f"logistic: {field}")


def test_fitting_leaves_the_thread_limits_as_they_were():
    from threadpoolctl import threadpool_info

    before = [(pool["prefix"], pool["num_threads"]) for pool in threadpool_info()]
    fitted()
    assert [(pool["prefix"], pool["num_threads"]) for pool in threadpool_info()] == before
