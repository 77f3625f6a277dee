"""Recording attempts: each invocation once, all of a batch or none, nothing over an earlier one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import lock_stream, record_all
from studies.estimation.labels import is_peak
from studies.evidence.completion import CompletionRule
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.errors import EvidenceError
from studies.models import Attempt, EvidenceBlob, EvidenceFile, Protocol, Refusal, SeedSlot, Study
from studies.services.errors import UploadConflict, UploadProblem, UploadRefused
from studies.services.outcomes.derivation import Observed, UploadedFile, completion_rule, derive
from studies.services.outcomes.derivation_apart import DerivationStopped
from studies.services.outcomes.evidence_bytes import blobs_for, forget_pending
from studies.services.outcomes.evidence_checks import EvidenceUnavailable
from studies.services.plan.slot_names import unknown_slot
from studies.services.refusals import refusals_kept

_LONGEST_REASON = 500
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1
PLAIN_COLUMNS = (
    "elapsed_seconds", "runtime_seconds", "task_gpu_seconds", "reserved_gpu_seconds", "task_gpu_count",
)  # fmt: skip


@dataclass(frozen=True)
class FileEntry:
    """A file as an upload names it. ``stored`` says that its bytes are here; else only the hash is known."""

    name: str
    kind: str
    sha256: str
    size_bytes: int | None
    stored: bool

    def content(self) -> dict[str, Any]:
        """What counts when two uploads are compared."""
        return {"name": self.name, "kind": self.kind, "sha256": self.sha256, "size_bytes": self.size_bytes}


@dataclass(frozen=True)
class AttemptUpload:
    """One attempt as it was sent, already checked field by field.

    ``values`` are by the API's names: ``invocation_id`` and, if they were sent, ``slot`` (experiment id),
    ``started_at``, ``ended_at``, ``exit_code``, ``signal``, ``requested_steps``, ``log``, ``samples``,
    ``scheduler`` (texts), ``device_peaks_mib``, ``other_processes``, ``claimed_diagnosis``, ``job_id``,
    ``execution_commit``, ``repository``, ``pull_request``, ``unplanned``, ``host``,
    ``facts``, the numbers of ``PLAIN_COLUMNS``, and ``declared`` (outcome,
    source, diagnosis, stage, reason, peak_mib, observed_peak_mib). One that corrects a wrong entry has that
    one's invocation id in ``supersedes`` and says in ``supersedes_reason`` what is wrong with it.
    """

    values: Mapping[str, Any]
    files: Sequence[FileEntry] = ()

    @property
    def invocation_id(self) -> str:
        return self.values["invocation_id"]

    def sha256(self) -> str:
        """Digest of everything that was sent, in whatever order."""
        files = sorted((item.content() for item in self.files), key=lambda item: item["name"])
        return digest({**self.values, "files": files} if files else self.values)


@dataclass(frozen=True)
class Recorded:
    """What became of one upload: a new row, or the row that already had the same content."""

    invocation_id: str
    attempt_id: int
    new: bool
    row: Attempt | None = None
    """The new row as it was recorded; None where it stood already."""


@dataclass
class _Batch:
    """Uploads by invocation, each once, with their digests and places."""

    uploads: dict[str, AttemptUpload] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)


@refusals_kept(Refusal.What.OUTCOME, UploadConflict)
def record_attempts(study: Study, uploads: Sequence[AttemptUpload]) -> list[Recorded]:
    """Record all of these attempts, or none.

    The same invocation with the same content is found, not recorded again. Raises ``UploadConflict`` where
    the content is another one, ``UploadRefused`` for evidence that can't be read as what it should be and
    for a ``supersedes`` whose place an upload can't take.
    """
    batch = _once(uploads)
    # A look before the work; for one small record the work costs less than the look.
    look = len(batch.uploads) > 1 or any(item.files for item in uploads)
    found = _known(study, batch, batch.uploads) if look else {}
    new = [name for name in batch.uploads if name not in found]
    recorded: dict[str, Attempt] = {}
    if new:
        rows = _rows(study, batch, new)
        with transaction.atomic():
            # One writer of a study at a time: what is not there now cannot appear before the rows stand.
            stream = lock_stream(study.stream)
            found |= _known(study, batch, new)
            recorded = {name: rows[name] for name in new if name not in found}
            _supersede(study, batch, recorded)
            blobs, sent = _bytes(study, batch, recorded)
            files = [
                item
                for name, row in recorded.items()
                for item in _file_rows(study, row, batch.uploads[name], blobs)
            ]
            record_all([*sent, *recorded.values(), *files], locked=stream)
            forget_pending(study, blobs)
    return [
        Recorded(name, row.pk, True, row)
        if (row := recorded.get(name := item.invocation_id))
        else Recorded(name, found[name], False)
        for item in uploads
    ]


def _once(uploads: Sequence[AttemptUpload]) -> _Batch:
    batch = _Batch()
    problems = []
    for index, upload in enumerate(uploads):
        name, sha256 = upload.invocation_id, upload.sha256()
        if name not in batch.uploads:
            batch.uploads[name], batch.digests[name], batch.places[name] = upload, sha256, index
        elif batch.digests[name] != sha256:
            problems.append(
                UploadProblem(
                    index, "invocation_id",
                    f"{name!r} stands in this batch twice with different content, expected each once",
                )
            )  # fmt: skip
    if problems:
        raise UploadRefused(problems)
    return batch


def _known(study: Study, batch: _Batch, names: Iterable[str]) -> dict[str, int]:
    """Recorded attempts among these, by invocation. Raises ``UploadConflict`` for other content."""
    rows = Attempt.objects.filter(study=study, invocation_id__in=list(names)).values_list(
        "invocation_id", "content_sha256", "pk"
    )
    found, problems = {}, []
    for name, sha256, pk in rows:
        found[name] = pk
        if sha256 != batch.digests[name]:
            problems.append(
                UploadProblem(
                    batch.places[name], "invocation_id",
                    f"{name!r} is already recorded with other content, expected the same or another id",
                )
            )  # fmt: skip
    if problems:
        raise UploadConflict(sorted(problems, key=lambda item: item.index))
    return found


def _supersede(study: Study, batch: _Batch, rows: Mapping[str, Attempt]) -> None:
    """Point each row at the wrong entry that its upload names. The study's stream is locked."""
    named = {name: wrong for name in rows if (wrong := batch.uploads[name].values.get("supersedes"))}
    found = Attempt.objects.filter(study=study, invocation_id__in=named.values()).select_related("slot")
    wrong_rows = {row.invocation_id: row for row in found} if named else {}
    problems, taken = [], set()
    for name, row in rows.items():
        if wrong := named.get(name):
            row.supersedes = row if wrong == name else wrong_rows.get(wrong)
            if row.supersedes is None:
                message = f"{wrong!r} is not recorded in this study, expected a recorded invocation id"
                problems.append(UploadProblem(batch.places[name], "supersedes", message))
                continue
            if wrong in taken:
                message = f"{wrong!r} is superseded in this batch twice, expected once"
                problems.append(UploadProblem(batch.places[name], "supersedes", message))
            taken.add(wrong)
        if wrong or row.supersedes_reason:
            problems += [
                UploadProblem(batch.places[name], field, message)
                for field, message in row.supersession_problems().items()
            ]
    if problems:
        raise UploadRefused(sorted(problems, key=lambda item: item.index))


def _rows(study: Study, batch: _Batch, names: Sequence[str]) -> dict[str, Attempt]:
    wanted = {slot for name in names if (slot := batch.uploads[name].values.get("slot"))}
    planned = SeedSlot.objects.filter(study=study, experiment_id__in=wanted).values_list(
        "experiment_id", "pk", "configuration__total_training_steps"
    )
    slots = {name: (pk, steps) for name, pk, steps in planned} if wanted else {}
    pattern = _completion_pattern(study)
    rules: dict[int | None, CompletionRule] = {}
    rows, problems = {}, []
    for name in names:
        upload = batch.uploads[name]
        slot_id, steps = slots.get(named := upload.values.get("slot") or "", (None, None))
        if named and slot_id is None and not upload.values.get("unplanned"):
            problems.append(UploadProblem(batch.places[name], "slot", unknown_slot(study, named)))
            continue
        if slot_id is not None and upload.values.get("unplanned"):
            problems.append(
                UploadProblem(batch.places[name], "unplanned", f"expected none: {named!r} is planned")
            )
            continue
        try:
            if steps not in rules:
                rules[steps] = completion_rule({"completion_pattern": pattern}, steps)
            rows[name] = _row(study, upload, slot_id, rules[steps], batch.digests[name])
        except EvidenceError as error:
            problems.append(UploadProblem(batch.places[name], error.field, str(error)))
        except DerivationStopped as error:
            problems.append(UploadProblem(batch.places[name], "files", str(error)))
        except EvidenceUnavailable as error:
            problems.append(UploadProblem(batch.places[name], "files", f"{error}: send the bytes again"))
    if problems:
        raise UploadRefused(problems)
    return rows


_patterns: dict[tuple[int, dt.datetime], str | None] = {}


def _completion_pattern(study: Study) -> str | None:
    """The base protocol's key. No amendment may touch it, so it is asked for once."""
    key = (study.pk, study.recorded_at)
    if key not in _patterns:
        found = Protocol.objects.filter(study=study).values_list("document__completion_pattern", flat=True)[
            :1
        ]
        if not found:
            return None
        _patterns[key] = found[0]
    return _patterns[key]


def _row(
    study: Study, upload: AttemptUpload, slot_id: int | None, rule: CompletionRule, sha256: str
) -> Attempt:
    values = upload.values
    row = Attempt(
        study=study,
        slot_id=slot_id,
        slot_name=values.get("slot"),
        invocation_id=upload.invocation_id,
        content_sha256=sha256,
        started_at=values.get("started_at"),
        ended_at=values.get("ended_at"),
        exit_code=values.get("exit_code"),
        exit_signal=values.get("signal"),
        job_id=values.get("job_id") or "",
        execution_commit=values.get("execution_commit") or "",
        claimed_diagnosis=values.get("claimed_diagnosis"),
        supersedes_reason=values.get("supersedes_reason"),
        facts=_facts(values),
        texts={kind: values[kind] for kind in ("log", "samples", "scheduler") if values.get(kind)} or None,
        **{name: values[name] for name in PLAIN_COLUMNS if values.get(name) is not None},
    )
    if row.elapsed_seconds is None and row.started_at and row.ended_at:
        row.elapsed_seconds = (row.ended_at - row.started_at).total_seconds()
    if declared := values.get("declared"):
        _declare(row, declared)
    else:
        _derive(row, derive(_observed(values, upload.files), rule))
    return row


def _facts(values: Mapping[str, Any]) -> dict[str, Any]:
    facts = dict(values.get("facts") or {})
    if values.get("host"):
        facts["host"] = values["host"]
    if values.get("requested_steps") is not None:
        facts["requested_steps"] = values["requested_steps"]
    facts |= {name: values[name] for name in ("repository", "pull_request") if values.get(name) is not None}
    return facts


def _declare(row: Attempt, declared: Mapping[str, Any]) -> None:
    row.origin = Attempt.Origin.DECLARED
    row.outcome = declared["outcome"]
    row.source = declared["source"]
    row.diagnosis = declared.get("diagnosis") or ""
    row.stage = declared.get("stage") or ""
    row.reason = declared.get("reason") or ""
    row.peak_mib = declared.get("peak_mib")
    row.observed_peak_mib = declared.get("observed_peak_mib")


def _observed(values: Mapping[str, Any], files: Sequence[FileEntry]) -> Observed:
    return Observed(
        exit_code=values.get("exit_code"),
        exit_signal=values.get("signal"),
        started_at=values.get("started_at"),
        ended_at=values.get("ended_at"),
        steps=values.get("requested_steps"),
        job_id=values.get("job_id") or "",
        texts={kind: values[kind] for kind in ("log", "samples", "scheduler") if values.get(kind)},
        device_peaks_mib=values.get("device_peaks_mib"),
        other_processes=values.get("other_processes") or (),
        claimed=values.get("claimed_diagnosis") or "",
        files=[UploadedFile(item.name, item.kind, item.sha256) for item in files if item.stored],
    )


def _derive(row: Attempt, derived: dict[str, Any]) -> None:
    data = _recordable(derived)
    row.origin = Attempt.Origin.DERIVED
    row.outcome = data["outcome"]
    row.diagnosis = data["diagnosis"] or ""
    row.reason = data["reason"][:_LONGEST_REASON]
    row.evidence = data.pop("evidence")
    row.claimed_diagnosis = (data["claimed_kind"] or "")[:60] or None
    row.derivation = data
    if row.exit_code is None and row.exit_signal is None:
        row.exit_code = _whole(data["exit_code"])
        row.exit_signal = _whole(data["signal"]) if data["exit_code"] is None else None
    peak = data["peak_mib"]
    if not is_peak(peak):
        peak = None
    if row.outcome == Attempt.Outcome.COMPLETED:
        row.peak_mib = peak
    row.observed_peak_mib = peak


def _whole(value: int | None) -> int | None:
    """A number from a file, if the column can hold it."""
    return value if value is not None and _SMALLEST <= value <= _LARGEST else None


def _recordable(value: Any) -> Any:
    """Texts from files, without what a recorded text can't hold."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_recordable(key): _recordable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_recordable(item) for item in value]
    return value


def _bytes(
    study: Study, batch: _Batch, names: Iterable[str]
) -> tuple[dict[str, EvidenceBlob], list[EvidenceBlob]]:
    """The stored bytes that these uploads name, by sha256, and the new ones. The stream is locked."""
    files = [(name, item) for name in names for item in batch.uploads[name].files]
    blobs, sent = blobs_for(study, (item.sha256 for _, item in files))
    gone = [
        UploadProblem(
            batch.places[name], "files", f"{item.name}: its bytes are not here any more, send them again"
        )
        for name, item in files
        if item.stored and item.sha256 not in blobs
    ]
    if gone:
        raise UploadRefused(gone)
    return blobs, sent


def _file_rows(
    study: Study, attempt: Attempt, upload: AttemptUpload, blobs: Mapping[str, EvidenceBlob]
) -> list[EvidenceFile]:
    return [
        EvidenceFile(
            study=study, attempt=attempt, blob=blobs[item.sha256] if item.stored else None, name=item.name,
            kind=item.kind, sha256=item.sha256, size_bytes=item.size_bytes,
        )
        for item in upload.files
    ]  # fmt: skip


GPU_MEMORY_WORDS = tuple(
    sorted(
        {
            word
            for item in Diagnosis
            if item.is_gpu_memory
            for word in (str(item), item.study_kind or str(item))
        }
    )
)
"""Diagnoses that a declared memory failure may have: ours and the study's own words for them."""

EVIDENCE_FIELDS = ("log", "samples", "scheduler", "device_peaks_mib", "other_processes", "claimed_diagnosis")
"""Parts of an upload from which an outcome is derived. A declared outcome comes without them."""


def declaration_problems(declared: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a declared outcome, by field; empty when nothing is."""
    outcome, peak = declared["outcome"], declared.get("peak_mib")
    diagnosis = declared.get("diagnosis") or ""
    problems: dict[str, str] = {}
    if outcome == Attempt.Outcome.COMPLETED:
        if not is_peak(peak):
            problems["peak_mib"] = "expected the completed process's peak in MiB, above zero"
        if diagnosis:
            problems["diagnosis"] = "expected none for a completed process"
        return problems
    if peak is not None:
        problems["peak_mib"] = (
            "expected none: only a completed process has a peak, what was seen goes into observed_peak_mib"
        )
    if outcome == Attempt.Outcome.MEMORY_FAILURE:
        if diagnosis not in GPU_MEMORY_WORDS:
            problems["diagnosis"] = f"expected one of {', '.join(GPU_MEMORY_WORDS)} for a GPU-memory failure"
    elif not diagnosis and not declared.get("reason"):
        problems["reason"] = "expected a reason or a diagnosis: why the slot stays unresolved"
    return problems
