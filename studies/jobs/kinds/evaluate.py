"""Score a study's panel and held-out families on what is recorded now."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from studies.jobs.kinds import register
from studies.jobs.kinds.base import WorkerKind
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.services.scores.evaluation import evaluation_inputs, record_evaluations
from studies.services.scores.panel import load_panel
from studies.text.words import counted, sentence


@register
class Evaluate(WorkerKind):
    name = "evaluate"
    title = "Evaluate"

    def inputs(self, work: Work) -> Any:
        return {"study": work.study.slug, "sets": digest(evaluation_inputs(work.study))}

    def compute(self, work: Work) -> None:
        work.step(0, 1, "scoring the panel and the held-out families")

    def record(self, work: Work, computed: None) -> JobOutput:
        rows = record_evaluations(work.study)
        panel = load_panel(work.study)
        return JobOutput(
            sentence=sentence(
                f"{counted(len(rows), 'evaluation')} recorded; {len(panel.resolved)} of "
                f"{len(panel.rows)} configurations are resolved."
            ),
            links=[{"label": "Scores", "address": reverse("study", args=[work.study.slug]) + "#approvals"}],
            document={
                "evaluations": [
                    {
                        "id": row.pk,
                        "prediction_set": row.prediction_set_id,
                        "inputs_sha256": row.inputs_sha256,
                    }
                    for row in rows
                ]
            },
        )
