"""Fit a study's methods, record what they predict for its targets, and seal that before anything has run."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from studies.jobs.fitting import fit, versions_for
from studies.jobs.kinds import register
from studies.jobs.kinds.base import WorkerKind
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study
from studies.services.predictions.refits import refit_payload
from studies.services.predictions.seals import check_open, predict_and_seal
from studies.text.words import counted


@register
class PredictAndSeal(WorkerKind):
    name = "predict-and-seal"
    title = "Predict and seal"
    queue = "numerics"
    staff_only = True

    def offered_on(self, study: Study) -> bool:
        return study.parent is None and study.pool is not None and not study.seals.exists()

    def inputs(self, work: Work) -> Any:
        check_open(work.study)
        return {
            "study": work.study.slug,
            "payload": digest(refit_payload(work.study)),
            "libraries": versions_for(work, recorded=False),
        }

    def compute(self, work: Work) -> dict[str, Any]:
        check_open(work.study)
        return fit(work, recorded=False, steps_after=0)

    def environment(self, computed: dict[str, Any]) -> dict[str, Any]:
        return {"fit": computed["numerical_environment"]}

    def record(self, work: Work, computed: dict[str, Any]) -> JobOutput:
        panel, seal = predict_and_seal(work.study, computed)
        return JobOutput(
            sentence=f"{counted(len(computed['predictions']), 'prediction')} recorded and sealed.",
            links=[{"label": "The sealed panel", "address": reverse("study", args=[work.study.slug])}],
            document={"prediction_set": panel.pk, "seal": seal.pk, "seal_sha256": seal.sha256},
        )
