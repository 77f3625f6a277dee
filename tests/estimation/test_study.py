"""Fits, folds and predictions end to end, against every published number."""

import copy
import math
from itertools import chain

import pytest

from studies.estimation.compare import compare
from studies.estimation.errors import EstimationError
from studies.estimation.methods.base import Prediction
from studies.estimation.numerics import numerical_environment
from studies.estimation.pool import Pool
from studies.estimation.protocol import parse_rules
from studies.estimation.study import (
    fit,
    fit_final,
    inherit,
    recompute_retrospective,
    restore,
    retrospective,
)
from tests.estimation.facts import PROSE
from tests.estimation.world import (
    follow_up_document,
    pool_configuration,
    protocol_document,
    rules,
    small_pool,
    target,
    targets,
)

CLASSIFIER = ("classifier_coefficients", "classifier_intercepts", "classifier_iterations")
"""What the classifier's solver leaves behind; it depends on the versions of its libraries."""

LARGEST_CLASSIFIER_DEVIATION = 3e-3
"""The design measured at most 2.7e-3 between the recorded versions and current ones."""


@pytest.fixture(scope="module")
def folds(archive):
    return retrospective(archive.pool, archive.rules)


@pytest.fixture(scope="module")
def final(archive):
    return fit_final(archive.pool, archive.rules, archive.targets)


def agrees(published, found, ignore=PROSE):
    result = compare(published, found, ignore=ignore)
    assert result.passed, [str(item) for item in result.mismatches[:5]]
    return result


def classifier_deviation(published, found):
    """Largest difference of a coefficient or an intercept."""

    def numbers(model):
        return [*chain.from_iterable(model["classifier_coefficients"]), *model["classifier_intercepts"]]

    return max(abs(one - other) for one, other in zip(numbers(published), numbers(found), strict=True))


def recorded_versions(published):
    """Whether this environment has the library versions that the study recorded."""
    own, theirs = numerical_environment(), published["numerical_environment"]
    return all(own[key] == theirs[key] for key in ("numpy", "scipy", "scikit_learn"))


def test_every_fold_agrees_with_the_published_one(archive, folds):
    """Predictions, scores, costs and the regression's parameters, all 3 × 60/30 of them."""
    result = agrees(archive["estimation/retrospective.json"], folds, ignore=(*PROSE, *CLASSIFIER))
    assert result.compared > 3_900
    assert result.largest_deviation < 1e-9


def test_the_final_model_agrees_with_the_published_one(archive, final):
    result = agrees(
        archive["estimation/fitted_model.json"], final.model_record(), ignore=(*PROSE, *CLASSIFIER)
    )
    assert result.largest_deviation < 1e-9


def test_every_published_prediction_comes_out(archive, final):
    found = [item.to_record() for item in final.predictions]
    assert len(found) == 36
    assert agrees(archive["estimation/predictions.json"], found).largest_deviation < 1e-9


def test_the_classifier_deviates_by_no_more_than_its_versions_explain(archive, folds, final):
    published = archive["estimation/retrospective.json"]["folds"]
    models = [(published[family]["model"], folds["folds"][family]["model"]) for family in published]
    models.append((archive["estimation/fitted_model.json"], final.model_record()))
    recorded = recorded_versions(archive["estimation/fitted_model.json"])
    for theirs, ours in models:
        deviation = classifier_deviation(theirs, ours)
        if recorded:
            assert deviation < 1e-9
            assert ours["classifier_iterations"] == theirs["classifier_iterations"]
        else:
            assert deviation < LARGEST_CLASSIFIER_DEVIATION
            assert 0 < ours["classifier_iterations"][0] <= theirs["classifier_iterations"][0]


def test_published_iterations(archive):
    published = archive["estimation/retrospective.json"]["folds"]
    assert [published[family]["model"]["classifier_iterations"] for family in sorted(published)] == [
        [29],
        [29],
        [31],
    ]
    assert archive["estimation/fitted_model.json"]["classifier_iterations"] == [38]


@pytest.mark.parametrize(
    ("family", "method", "useful", "failed", "above", "rejected"),
    [
        ("granite33", "donor_copy", 22, 0, 0, 0),
        ("granite33", "component_regression", 22, 4, 4, 0),
        ("granite33", "logistic", 22, 0, 3, 0),
        ("phi4", "donor_copy", 16, 0, 6, 0),
        ("phi4", "component_regression", 16, 0, 3, 0),
        ("phi4", "logistic", 16, 0, 2, 0),
        ("qwen25", "donor_copy", 22, 0, 0, 0),
        ("qwen25", "component_regression", 22, 0, 0, 0),
        ("qwen25", "logistic", 16, 0, 0, 6),
    ],
)
def test_approvals_by_held_out_family(folds, family, method, useful, failed, above, rejected):
    """The table of folds in the study's design."""
    scores = folds["folds"][family]["scores"][method]
    assert scores["approved_within_margin"] == useful
    assert scores["approved_memory_failure"] == failed
    assert scores["approved_above_margin"] == above
    assert scores["rejected_within_margin"] == rejected


@pytest.mark.parametrize(
    ("family", "usable", "above", "failing"),
    [("granite33", 22, 4, 4), ("phi4", 16, 6, 8), ("qwen25", 22, 0, 8)],
)
def test_labels_by_held_out_family(folds, family, usable, above, failing):
    fold = folds["folds"][family]
    assert len(fold["model"]["training_configuration_ids"]) == 60
    assert fold["scores"]["donor_copy"]["queries"] == 30
    assert [
        fold["scores"]["donor_copy"][f"target_{label}"]
        for label in ("within_margin", "above_margin", "memory_failure")
    ] == [
        usable,
        above,
        failing,
    ]


def test_folds_recompute_from_the_stored_fits_without_fitting(archive, monkeypatch):
    import scipy.optimize
    import sklearn.linear_model

    def refuse(*_, **__):
        raise AssertionError("a stored fit must not be fitted again")

    monkeypatch.setattr(scipy.optimize, "nnls", refuse)
    monkeypatch.setattr(sklearn.linear_model, "LogisticRegression", refuse)
    published = archive["estimation/retrospective.json"]
    result = agrees(published, recompute_retrospective(published, archive.pool, archive.rules))
    assert result.largest_deviation < 1e-9


def test_predictions_recompute_from_the_stored_model(archive):
    fitted = restore(archive["estimation/fitted_model.json"], archive.pool, archive.rules)
    found = [item.to_record() for item in fitted.predict(archive.targets)]
    agrees(archive["estimation/predictions.json"], found)


def test_the_follow_up_inherits_the_published_predictions(archive, final):
    found = [item.to_record() for item in inherit(final.predictions, archive.follow_up_rules)]
    agrees(archive["host_capacity/predictions.json"], found)
    assert len(found) == 18


def test_the_base_protocol_alone_has_the_eighth_feature_of_its_own(archive):
    """Before the amendment an offloaded actor could only raise the peak."""
    before = parse_rules(archive["estimation/protocol.json"])
    found = fit(archive.pool, before).model_record()
    assert found["feature_names"][7] == "actor_parameter_offload"
    assert found["component_divisors"][7] == 1.0
    assert found["component_coefficients_gib"][8] != pytest.approx(
        archive["estimation/fitted_model.json"]["component_coefficients_gib"][8]
    )


def test_the_resident_shard_of_an_offloaded_target_is_explained_as_nothing(archive):
    fitted = restore(archive["estimation/fitted_model.json"], archive.pool, archive.rules)
    regression = fitted.method("component_regression")
    for item in archive.pool:
        terms = {term.name: term for term in regression.terms(item)}
        resident = terms["resident_actor_shards_gib"]
        assert (resident.contribution_mib == 0) == item.settings.parameter_offload
        [found] = regression.predict([item.as_target()])
        assert math.fsum(term.contribution_mib for term in terms.values()) == pytest.approx(
            found.predicted_peak_mib
        )


# Rules of the end-to-end functions, on a small made-up study.


def test_predictions_come_by_target_then_by_method():
    found = fit_final(small_pool(), rules(), targets()).predictions
    assert [(item.configuration_id, item.method) for item in found] == [
        (name, method)
        for name in ("target-1", "target-2")
        for method in ("donor_copy", "component_regression", "logistic")
    ]


def test_a_stored_study_predicts_the_same():
    final = fit_final(small_pool(), rules(), targets())
    again = restore(final.model_record(), small_pool(), rules())
    assert again.predict(targets()) == final.predictions
    assert again.model_record() | {"source_cost": None} == final.model_record() | {"source_cost": None}


def test_the_held_out_family_never_reaches_the_fit():
    """Changing what was observed in the held-out family changes no prediction for it."""
    pool = small_pool()
    changed = Pool.of(
        item
        if item.family != "phi4"
        else pool_configuration(
            item.configuration_id,
            model_id=item.settings.model_id,
            elements=item.architecture.floating_checkpoint_elements,
            **{
                key: value
                for key, value in vars(item.settings).items()
                if key not in ("configuration_id", "model_id")
            },
        )
        for item in pool
    )
    before, after = retrospective(pool, rules()), retrospective(changed, rules())
    assert before["folds"]["phi4"]["predictions"] == after["folds"]["phi4"]["predictions"]
    assert before["folds"]["phi4"]["model"] == after["folds"]["phi4"]["model"]
    assert before["folds"]["phi4"]["scores"] != after["folds"]["phi4"]["scores"]


def refused(call, message):
    with pytest.raises(EstimationError) as refusal:
        call()
    assert message in str(refusal.value)


def test_a_target_inside_the_pool_is_refused():
    inside = small_pool().configurations[0]
    refused(
        lambda: fit(small_pool(), rules()).predict([inside.as_target()]),
        f"targets: configuration_id is '{inside.configuration_id}', expected a configuration outside",
    )


def test_a_target_that_is_not_planned_is_refused():
    refused(
        lambda: fit_final(small_pool(), rules(), [*targets(), target("target-3")]),
        "targets: configuration_id is 'target-3', expected a target of the protocol",
    )


def test_a_missing_target_is_refused():
    refused(
        lambda: fit_final(small_pool(), rules(), targets()[:1]),
        "targets: configuration_id is 'target-2', expected every target of the protocol",
    )


def test_a_target_given_twice_is_refused():
    refused(
        lambda: fit_final(small_pool(), rules(), [*targets(), targets()[0]]),
        "targets: configuration_id is 'target-1', expected each configuration once",
    )


def test_a_target_without_donor_is_refused():
    lonely = [targets()[0], target("target-2", workload_id="poetry")]
    refused(
        lambda: fit_final(small_pool(), rules(), lonely),
        "target-2: donor is None, expected a fitting configuration with workload poetry and level c2",
    )


def test_a_target_of_another_device_is_refused():
    refused(
        lambda: fit_final(
            small_pool(), rules(), [targets()[0], target("target-2", device_capacity_mib=81_920)]
        ),
        "target-2: device_capacity_mib is 81920, expected the protocol's 40960 MiB",
    )


def test_a_configuration_that_is_no_source_is_refused():
    larger = Pool.of([*small_pool(), pool_configuration("cfg-stranger")])
    refused(
        lambda: retrospective(larger, rules()),
        "fitting pool: configuration_id is 'cfg-stranger', expected a source configuration of the protocol",
    )


def test_a_missing_source_is_refused():
    smaller = Pool.of(small_pool().configurations[1:])
    refused(lambda: retrospective(smaller, rules()), "expected every source configuration of the protocol")


def test_a_source_from_another_study_is_refused():
    refused(
        lambda: retrospective(small_pool(), rules(source_studies=["four_gpu"])),
        "study is 'boundary', expected one of four_gpu",
    )


def test_a_source_under_another_margin_is_refused():
    refused(
        lambda: retrospective(small_pool(), rules(memory_margin_limit_mib=38_000)),
        "margin_limit_mib is 38912, expected the protocol's 38000 MiB",
    )


def test_one_family_alone_leaves_nothing_to_fit():
    pool = small_pool().only_family("phi4")
    alone = rules(source_configuration_ids=pool.configuration_ids, source_configurations=len(pool))
    refused(
        lambda: retrospective(pool, alone),
        "fitting pool: families is ['phi4'], expected at least two families",
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "feature_names",
            ["generation_budget_gib", "actor_shards_gib", "checkpoint_boundary_volume_gib"],
            "fitted model: feature_names is ['generation_budget_gib', 'actor_shards_gib', "
            "'checkpoint_boundary_volume_gib'], expected the effective protocol's order",
        ),
        ("training_configuration_ids", [], "expected a list of ids that is not empty"),
        (
            "training_configuration_ids",
            ["cfg-none"],
            "fitted model: configuration_id is 'cfg-none', expected",
        ),
        ("eligible_source_processes", 53, "eligible_source_processes is 53, expected 54, as the pool has it"),
        ("recorded_source_attempts", 1, "recorded_source_attempts is 1, expected 54, as the pool has it"),
        ("scaler_mean", [1.0], "logistic: scaler_mean is [1.0], expected 3 finite numbers"),
    ],
)
def test_a_damaged_stored_model_is_refused(field, value, message):
    model = fit(small_pool(), rules()).model_record() | {field: value}
    refused(lambda: restore(model, small_pool(), rules()), message)


def test_a_stored_fold_of_other_configurations_is_refused():
    stored = retrospective(small_pool(), rules())
    swapped = copy.deepcopy(stored)
    swapped["folds"]["phi4"]["model"] = stored["folds"]["qwen25"]["model"]
    refused(
        lambda: recompute_retrospective(swapped, small_pool(), rules()),
        "fold phi4: training_configuration_ids is ['cfg-granite-c1-0'",
    )


@pytest.mark.parametrize("folds", [None, {}, {"phi4": {}}])
def test_missing_stored_folds_are_refused(folds):
    refused(
        lambda: recompute_retrospective({"folds": folds}, small_pool(), rules()),
        "expected one for each family, ['granite33', 'phi4', 'qwen25']",
    )


def test_a_follow_up_of_a_target_that_was_never_predicted_is_refused():
    predictions = fit_final(small_pool(), rules(), targets()).predictions
    stranger = parse_rules(
        follow_up_document(prediction_origins={"again-1": "target-1", "again-9": "target-9"})
    )
    refused(
        lambda: inherit(predictions, stranger),
        "again-9: prediction_origins is 'target-9', expected a target that the parent study predicted",
    )


def test_a_follow_up_changes_nothing_but_the_name():
    predictions = fit_final(small_pool(), rules(), targets()).predictions
    inherited = inherit(predictions, parse_rules(follow_up_document()))
    back = {"again-1": "target-1", "again-2": "target-2"}
    assert [
        Prediction.for_configuration(item, back[item.configuration_id]) for item in inherited
    ] == predictions


def test_an_inheriting_protocol_can_not_be_fitted():
    refused(lambda: fit(small_pool(), parse_rules(follow_up_document())), "this one inherits predictions")


def test_an_unknown_method_is_named():
    refused(
        lambda: fit(small_pool(), rules()).method("oracle"),
        "protocol small-1.0: method is 'oracle', expected one of donor_copy",
    )


def test_environment_names_versions_and_no_place_on_the_disk():
    found = numerical_environment()
    assert found["fit_thread_limit"] == 1
    assert all(pool["num_threads"] == 1 for pool in found["threadpools"])
    assert not any("/" in str(value) for pool in found["threadpools"] for value in pool.values())
    assert {"numpy", "scipy", "scikit_learn", "python", "platform", "thread_environment"} <= set(found)


def test_small_protocol_is_itself_complete():
    assert parse_rules(protocol_document()) == rules()
