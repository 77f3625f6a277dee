"""A study of any size that looks like the real one, the same for the same seed.

Settings and predictions are drawn from the real study's targets, outcomes with the real shares; every row
goes through the ledger as an import does.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rlvram_site.ledger.chain import record_all
from rlvram_site.ledger.models import LedgerRecord
from studies.archive.bundle import read_bundle
from studies.archive.loading import load_stream
from studies.archive.records import Stream
from studies.models import (
    Allocation,
    Attempt,
    Configuration,
    Event,
    Exclusion,
    Prediction,
    PredictionSet,
    Seal,
    SeedSlot,
    Study,
)
from studies.services.plan import protocols

BUNDLE = Path(__file__).resolve().parent.parent / "studies" / "samples" / "rlvrambench.json"
ORIGINAL = "estimation"
ATTEMPTS = 10
"""Attempts of one configuration, over its three slots."""

BATCH = 2000
SEALED = dt.datetime(2026, 8, 1, tzinfo=dt.UTC)
WORKLOADS = 24
LEVELS = 8
OUTCOMES = (("memory_failure", 0.42), ("unresolved", 0.28), ("completed", 0.30))
REASONS = (
    "host memory, not GPU memory, ended the process",
    "the scheduler cancelled the array",
    "the software stack failed before the first step",
    "no peak was sampled",
)
LABELS = (("memory_failure", 0.55), ("within_margin", 0.3), ("above_margin", 0.15))
EXCLUDED = 0.01
CORRECTED = 0.005
MARGIN_MIB, CAPACITY_MIB = 38_912, 40_960


def make_scale_study(configurations: int, seed: int = 1) -> Study:
    """Record a study of so many configurations with ``ATTEMPTS`` attempts each, its pool besides."""
    draw = random.Random(seed)
    streams = read_bundle(BUNDLE)
    for stream in streams:
        if stream.is_pool:
            load_stream(stream)
    original = next(stream for stream in streams if stream.slug == ORIGINAL)
    original.head["slug"] = "scale"
    wanted = {"study", "protocol", "amendment"}
    study = load_stream(Stream("scale", [item for item in original.records if item.kind in wanted]))
    assert isinstance(study, Study)
    settings = [record.fields for record in original.records if record.kind == "configuration"]
    seeds = protocols.rules(study).evaluation_seeds
    methods = sorted({record.fields["method"] for record in original.records if record.kind == "prediction"})

    planned = list(_configurations(study, settings, configurations, draw))
    _record(planned)
    slots = list(_slots(study, planned, seeds))
    _record(slots)
    prediction_set = PredictionSet(study=study, kind=PredictionSet.Kind.PANEL)
    prediction_set.save()
    _record(_predictions(study, prediction_set, planned, methods, draw))
    _seal(study, prediction_set)
    _record(_allocations(study, slots))
    attempts = _attempts(study, slots, draw)
    while part := list(islice(attempts, BATCH)):
        record_all(part)
        _record(_exclusions(study, part, draw))
        _record(_corrections(study, part, draw))
    _record(_events(study, max(10, configurations // 10)))
    return study


def _record(rows: Iterable[LedgerRecord]) -> None:
    pending = iter(rows)
    while part := list(islice(pending, BATCH)):
        record_all(part)


def _choose(shares: tuple[tuple[str, float], ...], draw: random.Random) -> str:
    return draw.choices([name for name, _ in shares], [share for _, share in shares])[0]


def _configurations(
    study: Study, settings: list[dict[str, Any]], number: int, draw: random.Random
) -> Iterator[Configuration]:
    """Two for each workload and level in turn, on two and on four GPUs, as the real panel pairs them."""
    columns = {field.name for field in Configuration._meta.concrete_fields} - {"id", "pool", "study"}
    for index in range(number):
        pair, period = divmod(index, 2)
        fields = {name: value for name, value in draw.choice(settings).items() if name in columns}
        fields |= {
            "configuration_id": f"c{index:06d}",
            "case_id": f"case-{pair:06d}",
            "workload_id": f"workload-{pair % WORKLOADS:02d}",
            "workload_name": f"Workload {pair % WORKLOADS:02d}",
            "legacy_dataset_id": f"workload-{pair % WORKLOADS:02d}",
            "configuration_level": f"c{pair // WORKLOADS % LEVELS + 1}",
            "gpu_count": 4 if period else 2,
        }
        yield Configuration(study=study, **fields)


def _slots(study: Study, planned: list[Configuration], seeds: Sequence[int]) -> Iterator[SeedSlot]:
    position = 0
    for configuration in planned:
        pair = configuration.case_id
        for seed in seeds:
            yield SeedSlot(
                study=study, configuration=configuration, seed=seed, position=position,
                experiment_id=f"{configuration.configuration_id}-seed{seed}", pair_id=f"{pair}-{seed}",
                period=1 if configuration.gpu_count == 2 else 2,
            )  # fmt: skip
            position += 1


def _predictions(
    study: Study,
    prediction_set: PredictionSet,
    planned: list[Configuration],
    methods: list[str],
    draw: random.Random,
) -> Iterator[Prediction]:
    for configuration in planned:
        for method in methods:
            label = _choose(LABELS, draw)
            yield Prediction(
                study=study, prediction_set=prediction_set, configuration=configuration, method=method,
                label=label, guard_applicable=False,
                peak_mib=None if label == "memory_failure" else draw.uniform(20_000, CAPACITY_MIB),
            )  # fmt: skip


def _seal(study: Study, prediction_set: PredictionSet) -> None:
    protocol = study.protocols.get()
    Seal(
        study=study, prediction_set=prediction_set, sha256="b" * 64, source_path="seal.json",
        sealed_at=SEALED, protocol_sha256=protocol.sha256,
    ).save()  # fmt: skip


def _allocations(study: Study, slots: list[SeedSlot]) -> Iterator[Allocation]:
    for number, pair in enumerate(dict.fromkeys(slot.pair_id for slot in slots)):
        start = SEALED + dt.timedelta(hours=1, minutes=number)
        yield Allocation(
            study=study, pair_id=pair, job_id=str(5_000_000 + number), gpu_count=4,
            scheduler_state="COMPLETED", started_at=start, ended_at=start + dt.timedelta(hours=2),
            whole_gpu_seconds=28_800.0, batch_gpu_seconds=28_000.0, observed_gpu_seconds=27_500.0,
        )  # fmt: skip


def _attempts(study: Study, slots: list[SeedSlot], draw: random.Random) -> Iterator[Attempt]:
    """``ATTEMPTS`` for each three slots, the first slot of each with the most, tries in their order."""
    share = [ATTEMPTS // 3 + (index < ATTEMPTS % 3) for index in range(3)]
    for turn in range(max(share)):
        for number, slot in enumerate(slots):
            if turn < share[number % 3]:
                yield _attempt(study, slot, f"{slot.experiment_id}-{turn}", number + turn * 7, draw)


def _attempt(study: Study, slot: SeedSlot, name: str, minutes: int, draw: random.Random) -> Attempt:
    outcome = _choose(OUTCOMES, draw)
    start = SEALED + dt.timedelta(hours=1, minutes=minutes)
    peak = draw.uniform(20_000, CAPACITY_MIB)
    return Attempt(
        study=study, slot=slot, invocation_id=name, outcome=outcome, origin=Attempt.Origin.DECLARED,
        source="generated", diagnosis="cuda_oom" if outcome == "memory_failure" else "",
        reason=draw.choice(REASONS) if outcome == "unresolved" else "",
        peak_mib=peak if outcome == "completed" else None, observed_peak_mib=peak,
        started_at=start, ended_at=start + dt.timedelta(minutes=40), elapsed_seconds=2400.0,
        runtime_seconds=2300.0, task_gpu_seconds=4800.0, reserved_gpu_seconds=5000.0, task_gpu_count=2,
        job_id=str(5_000_000 + minutes), execution_commit=f"{minutes % 50:040x}",
        facts={"host": {"device_model": "NVIDIA A100-SXM4-40GB", "device_count": 2}},
    )  # fmt: skip


def _exclusions(study: Study, attempts: Iterable[Attempt], draw: random.Random) -> Iterator[Exclusion]:
    for attempt in attempts:
        if draw.random() < EXCLUDED:
            yield Exclusion(
                study=study, attempt=attempt, reason="started on a wrong device", author="someone"
            )


def _corrections(study: Study, attempts: Iterable[Attempt], draw: random.Random) -> Iterator[Attempt]:
    for wrong in attempts:
        if draw.random() < CORRECTED and wrong.slot is not None:
            row = _attempt(study, wrong.slot, f"{wrong.invocation_id}-corrected", 0, draw)
            row.supersedes, row.supersedes_reason = wrong, "the wrong log was sent"
            yield row


def _events(study: Study, number: int) -> Iterator[Event]:
    for position in range(number):
        start = SEALED + dt.timedelta(minutes=position)
        yield Event(
            study=study, position=position, kind="preflight", status="completed", title=f"Check {position}",
            started_at=start, ended_at=start + dt.timedelta(minutes=5), gpu_seconds=600.0,
            facts={"training_launched": False},
        )  # fmt: skip
