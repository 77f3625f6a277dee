"""Bring an archive or a bundle of the server's disk into the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import head
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.sources import check_source, describe, source_path
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study
from studies.services.importing import Source, import_source, read_source
from studies.text.words import counted


@register
class Import(WorkerKind):
    name = "import"
    title = "Import"
    staff_only = True
    needs_study = False
    parameters = {
        "source": Parameter("a folder or file in the server's folder of archives", needed=True),
        "only": Parameter("slug of the one study to import, empty for all", default=""),
    }

    def clean(self, study: Study | None, sent: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
        values = super().clean(study, sent, operator=operator)
        values["source"] = check_source("parameters.source", values["source"], operator=operator)
        return values

    def inputs(self, work: Work) -> Any:
        return {"files": digest(describe(work.parameters["source"])), "only": work.parameters["only"]}

    def compute(self, work: Work) -> Source:
        work.step(0, 2, "reading")
        wanted = [work.parameters["only"]] if work.parameters["only"] else []
        source = read_source(source_path(work.parameters["source"]), wanted)
        work.step(1, 2, f"recording {counted(source.size, 'record')}")
        return source

    def record(self, work: Work, computed: Source) -> JobOutput:
        reports = import_source(computed)
        studies = [report for report in reports if report.kind == "study"]
        words = [
            f"{report.kind} {report.slug} {'imported' if report.changed else 'unchanged'}"
            for report in reports
        ]
        return JobOutput(
            sentence=f"{'; '.join(words)}.",
            links=[
                {"label": f"Study {report.slug}", "address": reverse("study", args=[report.slug])}
                for report in studies
            ],
            document={
                "reports": [
                    {
                        "kind": report.kind, "slug": report.slug, "changed": report.changed,
                        "records": report.counts, "named_files": report.hashes,
                        "head": head(f"{report.kind}/{report.slug}").sha256,
                    }
                    for report in reports
                ]
            },
        )  # fmt: skip
