"""The real panel's plan without any outcome, and its recorded outcomes as uploads."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from studies.archive.bundle import read_bundle
from studies.archive.loading import load_stream
from studies.archive.records import Stream
from studies.models import Pool, Study
from tests.conftest import ROOT

BUNDLE = ROOT / "studies" / "samples" / "rlvrambench.json"
PLANNED = {
    "study", "protocol", "amendment", "configuration", "slot", "fitted_model", "prediction_set", "prediction",
    "seal",
}  # fmt: skip
DRAFT = {"study", "protocol", "configuration", "slot"}
ORIGINAL = "estimation"
COMMON = ("elapsed_seconds", "runtime_seconds", "task_gpu_seconds", "reserved_gpu_seconds", "task_gpu_count")


def load_plan(kinds: set[str] = PLANNED, slug: str = ORIGINAL) -> Study:
    """Pool and original study as they were when the predictions were sealed and nothing had run."""
    streams = read_bundle(BUNDLE)
    for stream in streams:
        if stream.is_pool and not Pool.objects.filter(slug=stream.slug).exists():
            load_stream(stream)
    original = next(item for item in streams if item.slug == ORIGINAL)
    original.head["slug"] = slug
    study = load_stream(Stream(slug, [record for record in original.records if record.kind in kinds]))
    assert isinstance(study, Study)
    return study


def amendment_one() -> dict[str, Any]:
    """What amendment 01 of the real study changed."""
    original = next(item for item in read_bundle(BUNDLE) if item.slug == ORIGINAL)
    return next(record.fields["updates"] for record in original.records if record.kind == "amendment")


def uploads(archive: Path | None) -> list[dict[str, Any]]:
    """Every launched process as a declared attempt: from the archive's table, else from the bundle."""
    return _from_table(archive) if archive else _from_bundle()


def _from_table(archive: Path) -> list[dict[str, Any]]:
    path = archive / "benchmark" / "estimation" / "results" / "processes.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["launched"] == "True"]
    names = {"elapsed_seconds": "invocation_elapsed_seconds", "runtime_seconds": "task_runtime_seconds",
             "reserved_gpu_seconds": "invocation_reservation_gpu_seconds"}  # fmt: skip
    return [
        _upload(
            row["invocation_id"], row["experiment_id"], _outcome(row["state"]), row["failure_kind"],
            row["completed_peak_mib"] if row["eligible"] == "True" else "", row["observed_task_peak_mib"],
            {"job_id": row["job_id"], "execution_commit": row["expected_execution_commit"]}
            | {name: row[names.get(name, name)] for name in COMMON},
        )
        for row in rows
    ]  # fmt: skip


def _from_bundle() -> list[dict[str, Any]]:
    stream = next(item for item in read_bundle(BUNDLE) if item.slug == ORIGINAL)
    found = [record.fields for record in stream.records if record.kind == "attempt"]
    return [
        _upload(
            row["invocation_id"], row["slot"], row["outcome"], row["diagnosis"], row["peak_mib"],
            row["observed_peak_mib"], {name: row[name] for name in ("job_id", "execution_commit", *COMMON)},
        )
        for row in found
    ]  # fmt: skip


def _outcome(state: str) -> str:
    return "completed" if state in ("within_margin", "above_margin") else state


def _upload(
    invocation: str, slot: str, outcome: str, diagnosis: str, peak: Any, observed: Any, facts: dict[str, Any]
) -> dict[str, Any]:
    declared = {
        "outcome": outcome,
        "source": "published table of processes",
        "diagnosis": "" if outcome == "completed" else diagnosis,
        "peak_mib": float(peak) if peak not in ("", None) else None,
        "observed_peak_mib": float(observed) if observed not in ("", None) else None,
    }
    if outcome == "unresolved":
        declared["reason"] = "the published table establishes no outcome"
    given = {name: value for name, value in facts.items() if value not in ("", None)}
    return {"invocation_id": invocation, "slot": slot, **given, "declared": declared}
