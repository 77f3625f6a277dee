"""Verify a study's archive on the server's disk against itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from studies.archive.documents import Root
from studies.archive.layout import LAYOUTS
from studies.archive.recorded_refit import recorded_refit
from studies.archive.verification import VerificationReport, verify
from studies.jobs.errors import JobFailed, JobRefused
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.sources import check_source, describe, source_path
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study


@register
class Verify(WorkerKind):
    name = "verify"
    title = "Verify"
    queue = "numerics"
    parameters = {
        "archive": Parameter("a folder in the server's folder of archives", needed=True),
        "refit": Parameter("true to fit afresh and compare again", bool, False),
        "recorded_environment": Parameter("true to fit with the recorded library versions", bool, False),
    }

    def clean(self, study: Study | None, sent: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
        values = super().clean(study, sent, operator=operator)
        assert study is not None
        if study.slug not in LAYOUTS:
            raise JobRefused(
                "study", f"is {study.slug!r}, expected one with an archive: {', '.join(LAYOUTS)}"
            )
        values["archive"] = check_source("parameters.archive", values["archive"], operator=operator)
        return values

    def inputs(self, work: Work) -> Any:
        return {"study": work.study.slug, "files": digest(describe(work.parameters["archive"])),
                "refit": work.parameters["refit"],
                "recorded_environment": work.parameters["recorded_environment"]}  # fmt: skip

    def compute(self, work: Work) -> VerificationReport:
        root, layout = Root(source_path(work.parameters["archive"])), LAYOUTS[work.study.slug]
        fresh = None
        if work.parameters["recorded_environment"]:
            work.step(0, 2, "making the recorded environment")
            fresh = recorded_refit(
                root, layout, data_dir=Path(settings.DATA_DIR), source=Path(settings.BASE_DIR)
            )
        work.step(1, 2, "checking hashes and computing again")
        report = verify(root, layout, fresh=fresh, refits=work.parameters["refit"] or fresh is not None)
        work.say(report.line())
        if report.problem:
            raise JobFailed(report.problem)
        work.step(2, 2, "compared")
        return report

    def environment(self, computed: VerificationReport) -> dict[str, Any]:
        return {"fit": computed.environment} if computed.environment else {}

    def record(self, work: Work, computed: VerificationReport) -> JobOutput:
        return JobOutput(
            sentence=computed.line()[:500],
            links=[{"label": work.study.title, "address": reverse("study", args=[work.study.slug])}],
            document=computed.to_document(),
        )
