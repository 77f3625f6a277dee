"""A whole folder, read and checked. Each file is read, however broken the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.directory import configurations, protocol_file, schedule, schedule_table
from studies.directory.problems import Problems
from studies.directory.study_file import Model, StudyFile, read_study_file
from studies.estimation.errors import EstimationError
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture, Settings


@dataclass(frozen=True)
class KnownPool:
    """A pool that the site has already.

    Attributes:
        models: architectures by model id.
        sources: ids of the configurations that have a label, with the study each came from.
    """

    models: Mapping[str, Architecture]
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Known:
    """What the site has already, by slug."""

    studies: frozenset[str] = frozenset()
    pools: Mapping[str, KnownPool] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyDirectory:
    """Everything that the folder plans, ready to be recorded.

    Attributes:
        models: architectures that the pool does not have yet.
        pool_rows: measured configurations, if the folder brings its own pool.
        new_pool: whether the pool is made from this folder.
        protocol: the document to freeze.
    """

    study: StudyFile
    models: Sequence[Model]
    new_pool: bool
    pool_rows: Sequence[configurations.PoolRow]
    rows: Sequence[configurations.ReadRow]
    slots: Sequence[schedule.Slot]
    protocol: dict[str, Any]
    rules: ProtocolRules

    @property
    def gpu_counts(self) -> dict[str, int]:
        """GPUs of each planned configuration, by id."""
        return {row.settings.configuration_id: row.settings.gpu_count for row in self.rows}

    @property
    def most_gpu_seconds(self) -> int | None:
        """The most GPU time that the plan can take, s; None where slots have no time-out."""
        return schedule.gpu_seconds(self.slots, self.gpu_counts)


def read_directory(folder: Path, known: Known) -> tuple[StudyDirectory | None, Problems]:
    """Read and check a folder; nothing is written.

    Returns:
        the directory, or None if there is a problem, and all problems.
    """
    problems = Problems()
    if not folder.is_dir():
        problems.add(str(folder), None, "folder", None, "a folder with study.yaml")
        return None, problems
    study = read_study_file(folder, problems)
    protocol = protocol_file.read_protocol(folder, problems)
    pool = known.pools.get(study.pool)
    own_pool = (folder / configurations.POOL_NAME).exists()
    _check_study(study, known, pool, own_pool, problems)
    models = _architectures(study, pool)
    defaults = configurations.Defaults(
        study.slug or "study", study.accelerator, *_limits(protocol.values), study.unreadable_models
    )
    rows = configurations.read_configurations(folder, models, defaults, problems)
    pool_rows = configurations.read_pool(folder, models, defaults, problems) if own_pool else []
    slots = _slots(folder, study, protocol.values, rows, problems)
    facts = protocol_file.PlanFacts(
        targets=[row.settings.configuration_id for row in rows],
        sources=sorted(row.settings.configuration_id for row in pool_rows) if own_pool else sorted(
            pool.sources if pool else ()
        ),
        source_studies={row.settings.study for row in pool_rows} if own_pool else set(
            pool.sources.values() if pool else ()
        ),
        slots=len(slots),
        pairs=len({slot.pair_id for slot in slots if slot.pair_id}),
    )  # fmt: skip
    _check_targets(rows, facts.sources, problems)
    document, rules = protocol_file.complete(protocol, facts, problems)
    if problems or rules is None:
        return None, problems
    new = [model for model in study.models.values() if pool is None or model.model_id not in pool.models]
    return StudyDirectory(study, new, own_pool, pool_rows, rows, slots, document, rules), problems


def _check_study(
    study: StudyFile, known: Known, pool: KnownPool | None, own_pool: bool, problems: Problems
) -> None:
    def refuse(key: str, value: str, expected: str) -> None:
        problems.add(study.file.name, study.file.line(key), key, value, expected)

    if study.slug in known.studies:
        refuse("slug", study.slug, "a slug that no study has")
    if study.parent and study.parent not in known.studies:
        refuse(
            "parent", study.parent, "a recorded study: " + (", ".join(sorted(known.studies)) or "none yet")
        )
    if study.pool and pool is None and not own_pool:
        refuse(
            "pool", study.pool,
            "a recorded pool (" + (", ".join(sorted(known.pools)) or "none yet") + f"), or a "
            f"{configurations.POOL_NAME} beside this file",
        )  # fmt: skip
    if pool is not None and own_pool:
        refuse(
            "pool",
            study.pool,
            f"another slug: this pool is recorded, and {configurations.POOL_NAME} makes one",
        )
    for model in study.models.values():
        recorded = pool.models.get(model.model_id) if pool else None
        if recorded is not None and recorded != model.architecture:
            refuse(
                f"models.{model.name}", model.model_id,
                "the numbers that the pool has of this model; leave the folder out to take those",
            )  # fmt: skip


def _architectures(study: StudyFile, pool: KnownPool | None) -> dict[str, Architecture]:
    """By every name that the column `model` may give: a folder of the study's, or a model id."""
    models = dict(pool.models) if pool else {}
    for model in study.models.values():
        models[model.name] = models[model.model_id] = model.architecture
    return models


def _limits(protocol: Mapping[str, Any]) -> tuple[int | None, int | None]:
    found = [protocol.get(key) for key in ("device_capacity_mib", "memory_margin_limit_mib")]
    plain = [value if isinstance(value, int) and not isinstance(value, bool) else None for value in found]
    return plain[0], plain[1]


def _slots(
    folder: Path, study: StudyFile, protocol: Mapping[str, Any], rows: Sequence[configurations.ReadRow],
    problems: Problems,
) -> list[schedule.Slot]:  # fmt: skip
    settings: list[Settings] = [row.settings for row in rows]
    lines = {row.settings.configuration_id: row.line for row in rows}
    seeds = protocol.get("evaluation_seeds")
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        return []  # the protocol's own reader says what is wrong with them
    if (folder / schedule_table.NAME).exists():
        if study.schedule is not None:
            problems.add(
                study.file.name, study.file.line("schedule"), "schedule", "given",
                f"either this or {schedule_table.NAME}",
            )  # fmt: skip
        return schedule_table.read_schedule(folder, settings, seeds, problems)
    if study.schedule is None:
        problems.add(
            study.file.name, None, "schedule", None, f"order_seed and devices, or a {schedule_table.NAME}"
        )
        return []
    try:
        slots = schedule.make_schedule(settings, seeds, study.schedule)
        _check_caps(study, settings, slots, problems)
        return slots
    except EstimationError as error:
        problems.add_error(configurations.NAME, lines.get(error.offender), error)
        return []


def _check_caps(
    study: StudyFile, settings: Sequence[Settings], slots: Sequence[schedule.Slot], problems: Problems
) -> None:
    """Note a plan that asks for more than its author allows."""
    rule = study.schedule
    assert rule is not None
    seconds = schedule.gpu_seconds(slots, {item.configuration_id: item.gpu_count for item in settings})
    hours = None if seconds is None else seconds / 3600
    for key, cap, found in (
        ("most_slots", rule.most_slots, len(slots)), ("most_gpu_hours", rule.most_gpu_hours, hours),
    ):  # fmt: skip
        if cap is not None and found is not None and found > cap:
            path = f"schedule.{key}"
            problems.add(
                study.file.name, study.file.line(path), path, cap, f"at least {found:,g}, what is planned"
            )


def _check_targets(
    rows: Sequence[configurations.ReadRow], sources: Sequence[str], problems: Problems
) -> None:
    measured = set(sources)
    for row in rows:
        name = row.settings.configuration_id
        if name in measured:
            problems.add(
                configurations.NAME, row.line, "configuration_id", name,
                "an id that the pool does not have: a target is never fitted on",
            )  # fmt: skip
