"""Write a study with everything it rests on as one bundle, to be downloaded from the job's page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import head
from studies.archive.bundle import to_bundle, write_bundle
from studies.archive.exporting import streams_for
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study


def exported_file(sha256: str) -> Path:
    """Where the bundle with this content digest lies."""
    return Path(settings.DATA_DIR) / "exports" / f"{sha256}.json"


@register
class Export(WorkerKind):
    name = "export"
    title = "Export"
    parameters = {"facts_only": Parameter("true to leave out the authors' sentences", bool, False)}

    def inputs(self, work: Work) -> Any:
        study: Study | None = work.study
        heads = {}
        while study is not None:
            heads[study.slug] = head(study.stream).sha256
            if study.pool is not None:
                heads[study.pool.slug] = head(study.pool.stream).sha256
            study = study.parent
        return {"study": work.study.slug, "heads": digest(heads), **work.parameters}

    def compute(self, work: Work) -> dict[str, Any]:
        work.step(0, 2, "reading the ledger")
        bundle = to_bundle(streams_for([work.study.slug]), facts_only=work.parameters["facts_only"])
        work.step(1, 2, "writing the file")
        path = exported_file(bundle["sha256"])
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Complete or not there: a half-written file is never found under the name.
            part = path.with_suffix(f".{work.claim.job_id}-{work.claim.fence}")
            part.unlink(missing_ok=True)
            write_bundle(bundle, part)
            os.replace(part, path)
        work.step(2, 2, "written")
        return {"sha256": bundle["sha256"], "bytes": path.stat().st_size}

    def record(self, work: Work, computed: dict[str, Any]) -> JobOutput:
        return JobOutput(
            sentence=f"A bundle of {computed['bytes']:,} bytes, content sha256 {computed['sha256']}.",
            links=[{"label": "Download the bundle", "address": reverse("job-file", args=[work.job.pk])}],
            document=computed,
        )
