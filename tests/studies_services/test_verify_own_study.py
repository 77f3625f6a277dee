"""``verify_study`` without an archive: what is recorded, checked by itself."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from studies.models import Evaluation
from studies.services.predictions.seals import seal_predictions
from studies.services.scores.evaluation import record_evaluations
from tests.bypass import without_triggers

pytestmark = pytest.mark.django_db


def verify(slug, **options):
    """Whether it passed, and what it said."""
    out = StringIO()
    try:
        call_command("verify_study", slug, stdout=out, **options)
    except SystemExit:
        return False, out.getvalue()
    return True, out.getvalue()


def test_a_study_that_was_sealed_here_passes(unsealed):
    seal = seal_predictions(unsealed.predictionsets.get())
    passed, said = verify("unsealed")
    assert passed
    assert f"ok      seal {seal.sha256}: binds 17 kinds of rows, all as sealed" in said
    assert said.endswith("verify_study unsealed: passed\n")


def test_a_fit_is_made_afresh_and_agrees(sample_studies):
    passed, said = verify("estimation", refit=True)
    assert passed, said
    assert "ok      fit afresh, predictions: 0 of" in said


def test_what_was_changed_past_the_ledger_fails(unsealed):
    seal_predictions(unsealed.predictionsets.get())
    record_evaluations(unsealed)
    with without_triggers():
        super(type(Evaluation.objects.all()), Evaluation.objects.filter(study=unsealed)).update(result={})
    passed, said = verify("unsealed")
    assert not passed
    assert "FAILED  chain study/unsealed" in said
    assert "FAILED  scores: the evaluation of panel has another result than its inputs give" in said


def test_an_unknown_study_and_options_of_an_archive_are_named(db):
    with pytest.raises(CommandError, match="study 'none' is not recorded"):
        verify("none")
    with pytest.raises(CommandError, match="belong to --archive"):
        verify("none", recorded_environment=True)
