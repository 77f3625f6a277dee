"""Importing one study changes no number of another."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from rlvram_site.ledger.chain import head
from studies.models import Study
from studies.services.scores.evaluation import evaluation_document

pytestmark = pytest.mark.django_db


def numbers(slug: str) -> dict:
    return evaluation_document(Study.objects.get(slug=slug))


def test_the_follow_up_changes_no_number_of_the_original(source):
    call_command("import_study", source, "--study", "estimation", verbosity=0)
    before, end = numbers("estimation"), head("study/estimation")
    call_command("import_study", source, "--study", "host-capacity", verbosity=0)
    assert numbers("estimation") == before
    assert head("study/estimation") == end
    assert numbers("host-capacity")["evaluation"]["planned_configurations"] == 6


def test_an_outcome_of_the_original_changes_no_number_of_the_follow_up(imported):
    before = numbers("host-capacity")
    study = Study.objects.get(slug="estimation")
    assert numbers("estimation")["evaluation"]["resolved_configurations"] == 6
    attempt = study.attempts.get(slot__experiment_id="est-qwen25-7b-gsm8k-c2-s151-2gpu")
    study.exclusions.create(attempt=attempt, reason="wrong device", author="Ada")
    assert numbers("estimation")["evaluation"]["resolved_configurations"] == 5
    assert numbers("host-capacity") == before


def test_the_follow_up_has_its_parents_predictions_and_says_so(imported):
    study = Study.objects.get(slug="host-capacity")
    own = study.predictionsets.get()
    assert own.inherits == study.parent.predictionsets.get(kind="panel")
    assert own.origins["host-qwen25-7b-gsm8k-c2-2gpu"] == "est-qwen25-7b-gsm8k-c2-2gpu"
    for prediction in own.predictions.select_related("configuration", "donor"):
        origin = own.inherits.predictions.get(
            configuration__configuration_id=own.origins[prediction.configuration.configuration_id],
            method=prediction.method,
        )
        assert (prediction.label, prediction.peak_mib, prediction.donor) == (
            origin.label,
            origin.peak_mib,
            origin.donor,
        )
