"""Fit a study afresh and compare with what is recorded. Records nothing in the study's own ledger."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from studies.estimation.fit_comparison import fit_of
from studies.jobs.fitting import fit, versions_for
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study
from studies.services.predictions.refits import Verdict, compare_fits, recorded_fit, refit_payload


@register
class Refit(WorkerKind):
    name = "refit"
    title = "Refit"
    queue = "numerics"
    parameters = {
        "recorded_environment": Parameter(
            "true to fit with exactly the library versions that the study recorded",
            bool,
            False,
            label="with the recorded library versions",
        )
    }

    def offered_on(self, study: Study) -> bool:
        return study.parent is None and study.pool is not None

    def inputs(self, work: Work) -> Any:
        return {
            "payload": digest(refit_payload(work.study)),
            "libraries": versions_for(work, recorded=work.parameters["recorded_environment"]),
            "recorded": digest(recorded_fit(work.study)),
        }

    def compute(self, work: Work) -> dict[str, Any]:
        result = fit(work, recorded=work.parameters["recorded_environment"], steps_after=1)
        recorded = recorded_fit(work.study)
        verdict = compare_fits(recorded, fit_of(result)) if recorded else None
        total = work.progress.total
        work.step(total, total, "compared with what is recorded" if verdict else "nothing to compare with")
        return {"result": result, "verdict": verdict}

    def environment(self, computed: dict[str, Any]) -> dict[str, Any]:
        return {"fit": computed["result"]["numerical_environment"]}

    def record(self, work: Work, computed: dict[str, Any]) -> JobOutput:
        verdict: Verdict | None = computed["verdict"]
        return JobOutput(
            sentence=_sentence(verdict),
            links=[{"label": work.study.title, "address": reverse("study", args=[work.study.slug])}],
            document={
                **computed["result"],
                "comparison": verdict.to_document() if verdict else None,
            },
        )


def _sentence(verdict: Verdict | None) -> str:
    if verdict is None:
        return "Fitted; the study has no recorded predictions to compare with."
    if not verdict.predictions.passed:
        return (
            f"The fresh fit predicts something else than recorded, in "
            f"{len(verdict.predictions.mismatches)} of {verdict.predictions.compared} values."
        )
    if not verdict.parameters.passed:
        return (
            f"All {verdict.predictions.compared:,} predicted values are as recorded, and "
            f"{len(verdict.parameters.mismatches)} of {verdict.parameters.compared} parameters are not."
        )
    rest = (
        "and so are the classifier's parameters"
        if verdict.classifier.passed
        else f"the classifier's parameters differ by up to {verdict.largest_weight_deviation:.2g}, as "
        "they do under other library versions"
    )
    return (
        f"All {verdict.predictions.compared:,} predicted values and the fitted parameters are as recorded; "
        f"{rest}."
    )
