"""What the records of studies, pools and transfer suites are found by."""

from __future__ import annotations

from django.urls import reverse

from search.documents import Document, describes
from studies.models import (
    Allocation,
    Amendment,
    Attempt,
    Configuration,
    Event,
    EvidenceFile,
    Exclusion,
    ModelArchitecture,
    NonLaunch,
    Pool,
    Protocol,
    Seal,
    SeedSlot,
    SourceFile,
    Study,
    TransferSubmission,
)


def _page(name: str, study: Study, *more: str, place: str = "") -> str:
    address = reverse(name, args=[study.slug, *more])
    return f"{address}#{place}" if place else address


@describes(Study, "study", "Studies")
def study(row: Study) -> Document:
    words = (row.slug, row.question, row.source_name, row.source_authors, row.source_licence)
    return Document(row.title, row.get_absolute_url(), "studies", words)


@describes(Pool, "pool", "Pools")
def pool(row: Pool) -> Document:
    return Document(row.title, row.get_absolute_url(), "pools", (row.slug,))


@describes(Configuration, "configuration", "Configurations", ("study", "pool"))
def configuration(row: Configuration) -> Document:
    owner = row.study or row.pool
    gpus = f"{row.gpu_count} GPU{'' if row.gpu_count == 1 else 's'}"
    words = (
        row.case_id, row.model_name, row.model_id, row.model_family, row.workload_name, row.workload_id,
        row.configuration_level, row.condition, gpus, row.accelerator, row.algorithm, row.adaptation,
    )  # fmt: skip
    return Document(row.configuration_id, row.get_absolute_url(), str(owner), words)


@describes(SeedSlot, "slot", "Slots", ("study", "configuration"))
def slot(row: SeedSlot) -> Document:
    words = (row.configuration.configuration_id, f"seed {row.seed}", row.pair_id)
    return Document(row.experiment_id, _page("slot", row.study, row.experiment_id), str(row.study), words)


@describes(Attempt, "attempt", "Attempts", ("study", "slot"))
def attempt(row: Attempt) -> Document:
    words = (
        row.get_outcome_display(), row.diagnosis, row.reason, row.evidence_line, row.job_id, row.source,
        row.slot.experiment_id if row.slot else row.slot_name, row.execution_commit, row.content_sha256,
        row.supersedes_reason, row.stage,
    )  # fmt: skip
    return Document(row.invocation_id, _page("attempt", row.study, row.invocation_id), str(row.study), words)


@describes(EvidenceFile, "evidence", "Evidence files", ("study", "attempt"))
def evidence(row: EvidenceFile) -> Document:
    words = (row.sha256, row.get_kind_display(), row.attempt.invocation_id)
    return Document(row.name, _page("attempt", row.study, row.attempt.invocation_id), str(row.study), words)


@describes(Exclusion, "exclusion", "Exclusions", ("study", "attempt"))
def exclusion(row: Exclusion) -> Document:
    address = _page("attempt", row.study, row.attempt.invocation_id)
    return Document(str(row), address, str(row.study), (row.reason, row.author))


@describes(NonLaunch, "never-launched", "Slots never launched", ("study", "slot"))
def never_launched(row: NonLaunch) -> Document:
    name = row.slot.experiment_id
    return Document(name, _page("slot", row.study, name), str(row.study), (row.diagnosis, row.reason))


@describes(Event, "event", "Events", ("study",))
def event(row: Event) -> Document:
    words = (row.kind, row.get_status_display(), row.detail, row.job_id, row.source_commit)
    address = _page("events", row.study, place=f"event-{row.position}")
    return Document(row.title, address, str(row.study), words)


@describes(Allocation, "allocation", "Allocations", ("study",))
def allocation(row: Allocation) -> Document:
    words = (row.pair_id, row.scheduler_state)
    return Document(row.job_id, _page("costs", row.study), str(row.study), words)


@describes(Protocol, "protocol", "Protocols", ("study",))
def protocol(row: Protocol) -> Document:
    return Document(
        f"protocol {row.version}", _page("protocol", row.study), str(row.study), (row.sha256, row.source_path)
    )


@describes(Amendment, "amendment", "Amendments", ("study",))
def amendment(row: Amendment) -> Document:
    words = (row.reason, " ".join(row.updates), row.sha256, row.source_path)
    address = _page("protocol", row.study, place=f"amendment-{row.number}")
    return Document(f"amendment {row.number}", address, str(row.study), words)


@describes(Seal, "seal", "Seals", ("study", "prediction_set"))
def seal(row: Seal) -> Document:
    words = (
        row.sha256, row.source_path, row.protocol_sha256, *row.input_sha256, *row.input_sha256.values(),
        *row.output_sha256.values(), row.parent_seal_sha256,
    )  # fmt: skip
    name = f"seal of {row.prediction_set.name}"
    return Document(name, _page("protocol", row.study), str(row.study), words)


@describes(SourceFile, "source", "Source files", ("study",))
def source(row: SourceFile) -> Document:
    words = (row.sha256, row.declared_in, row.get_state_display())
    return Document(row.path, _page("protocol", row.study), str(row.study), words)


@describes(ModelArchitecture, "model", "Models", ("pool",))
def model(row: ModelArchitecture) -> Document:
    words = (row.family, row.revision, row.config_sha256)
    return Document(row.model_id, row.pool.get_absolute_url(), str(row.pool), words)


@describes(TransferSubmission, "submission", "Submissions to transfer suites", ("pool",))
def submission(row: TransferSubmission) -> Document:
    words = (row.version, row.author, row.declaration, row.content_sha256, row.get_selected_track_display())
    return Document(row.name, row.get_absolute_url(), str(row.pool), words)
