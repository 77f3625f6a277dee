"""Evaluations are recorded with what they were computed from, once for the same inputs."""

from __future__ import annotations

import pytest

from studies.models import Evaluation, Study
from studies.services.predictions.recorded import panel_set
from studies.services.scores.evaluation import always_rule, record_evaluation, record_evaluations
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt

pytestmark = pytest.mark.django_db


def test_an_import_records_the_panel_and_each_family(sample_studies):
    study = Study.objects.get(slug="estimation")
    folds = sorted(item.prediction_set.fold for item in study.evaluations.all())
    assert folds == ["", "granite33", "phi4", "qwen25"]
    panel = study.evaluations.get(prediction_set__kind="panel")
    assert set(panel.inputs) == {"effective_protocol", "predictions", "scoring_rules", "outcomes"}
    assert panel.result["always_rule"]["rule"] == "always_failure"


def test_the_same_inputs_find_the_earlier_evaluation(sample_studies):
    study = Study.objects.get(slug="estimation")
    count = Evaluation.objects.count()
    evaluation, created = record_evaluation(panel_set(study))
    assert (created, Evaluation.objects.count()) == (False, count)
    assert evaluation.result["resolved_configurations"] == 6


def test_a_new_outcome_gives_a_new_evaluation_beside_the_old_one(planned):
    before, _ = record_evaluation(panel_set(planned))
    make_attempt(planned.seedslots.first(), "memory_failure")
    after, created = record_evaluation(panel_set(planned))
    assert created
    assert after.inputs["outcomes"] != before.inputs["outcomes"]
    assert {key for key in after.inputs if after.inputs[key] != before.inputs[key]} == {"outcomes"}
    assert Evaluation.objects.filter(pk=before.pk).exists()


def test_an_unresolved_attempt_changes_no_input(planned):
    record_evaluations(planned)
    make_attempt(planned.seedslots.first(), "unresolved")
    assert record_evaluation(panel_set(planned))[1] is False


def test_the_always_rule_stands_only_where_one_label_is_all_there_is(planned):
    assert always_rule(load_panel(planned)) is None
    first, second = planned.configurations.order_by("configuration_id")[:2]
    for slot in first.slots.all():
        make_attempt(slot, "memory_failure")
    rule = always_rule(load_panel(planned))
    assert (rule["rule"], rule["scores"]["correct_three_state"]) == ("always_failure", 1)
    for slot in second.slots.all():
        make_attempt(slot, "completed", 100.0)
    assert always_rule(load_panel(planned)) is None
