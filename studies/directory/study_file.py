"""`study.yaml`: what the study is, which models it has, and how its slots are scheduled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.checkpoints.architecture import ModelFiles, read_model
from studies.directory.problems import Problems
from studies.directory.yaml_file import YamlFile, read_yaml
from studies.estimation.errors import EstimationError
from studies.estimation.volumes import Architecture

NAME = "study.yaml"
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS = {
    "slug", "title", "question", "pool", "pool_title", "parent", "people", "licence", "accelerator", "models",
    "schedule",
}  # fmt: skip
_MODEL_KEYS = {"model_id", "family", "revision", "lora_rank"}
_SCHEDULE_KEYS = {
    "order_seed", "pair_by_gpu_count", "devices", "timeout_seconds", "most_slots", "most_gpu_hours",
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """One folder of `models/`: how the study calls the model, and what its files say."""

    name: str
    model_id: str
    family: str
    revision: str
    lora_rank: int
    files: ModelFiles

    @property
    def architecture(self) -> Architecture:
        """What the rules read."""
        return Architecture.from_metadata(self.to_record())

    def to_record(self) -> dict[str, object]:
        """The columns of a recorded architecture."""
        return {
            "model_id": self.model_id,
            "family": self.family,
            "revision": self.revision,
            "lora_rank": self.lora_rank,
            **self.files.to_record(),
        }


@dataclass(frozen=True)
class ScheduleRule:
    """How slots are made where no `schedule.csv` lists them.

    Attributes:
        order_seed: seed of the random order.
        pair_by_gpu_count: whether the two GPU counts of a workload, level, model and seed form a pair.
        devices: devices of an allocation.
        timeout_seconds: of one process; None without.
        most_slots, most_gpu_hours: what the plan may ask for at most; None without a limit.
    """

    order_seed: int
    pair_by_gpu_count: bool
    devices: int
    timeout_seconds: int | None
    most_slots: int | None = None
    most_gpu_hours: int | None = None


@dataclass(frozen=True)
class StudyFile:
    """The file, read. Texts that were missing are empty; then there is a problem that says so."""

    file: YamlFile
    slug: str
    title: str
    question: str
    pool: str
    pool_title: str
    parent: str
    people: str
    licence: str
    accelerator: str
    models: dict[str, Model]
    unreadable_models: frozenset[str]
    schedule: ScheduleRule | None


def read_study_file(folder: Path, problems: Problems) -> StudyFile:
    """Read the file and the models that it names."""
    file = read_yaml(folder, NAME, problems)
    reader = _Reader(file, problems)
    reader.only("", _KEYS)
    models, unreadable = _models(folder, reader, problems)
    people = file.values.get("people", [])
    if not isinstance(people, list) or not all(isinstance(name, str) and name.strip() for name in people):
        reader.refuse("people", people, "a list of names")
        people = []
    return StudyFile(
        file=file,
        slug=reader.slug("slug"),
        title=reader.text("title", 200),
        question=reader.text("question", 5000),
        pool=reader.slug("pool"),
        pool_title=reader.text("pool_title", 200, optional=True),
        parent=reader.slug("parent", optional=True),
        people=", ".join(people),
        licence=reader.text("licence", 100, optional=True),
        accelerator=reader.text("accelerator", 100),
        models=models,
        unreadable_models=unreadable,
        schedule=_schedule(reader),
    )


def _models(folder: Path, reader: _Reader, problems: Problems) -> tuple[dict[str, Model], frozenset[str]]:
    """The models, and the names and ids of those that can't be read: their rows are not refused as well."""
    given = reader.file.values.get("models", {})
    if not isinstance(given, dict):
        reader.refuse("models", given, "a mapping from each folder of models/ to its model")
        return {}, frozenset()
    found: dict[str, Model] = {}
    listed = set(given)
    for name, values in given.items():
        path = f"models.{name}"
        if not isinstance(values, dict):
            reader.refuse(path, values, "model_id, family, revision and lora_rank")
            continue
        reader.only(path, _MODEL_KEYS)
        listed.add(str(values.get("model_id")))
        rank = reader.whole(f"{path}.lora_rank", 1, 4096)
        texts = [reader.text(f"{path}.{key}", 200) for key in ("model_id", "family")]
        revision = reader.text(f"{path}.revision", 64, optional=True)
        if "/" in name or name.startswith("."):
            reader.refuse(path, name, "the name of a folder in models/")
            continue
        if rank is None or not all(texts):
            continue
        place = f"models/{name}"
        try:
            files = read_model(folder / "models" / name, lora_rank=rank)
        except EstimationError as error:
            problems.add_error(f"{place}/{error.offender}", None, error)
            continue
        found[name] = Model(name, texts[0], texts[1], revision, rank, files)
    ids = [model.model_id for model in found.values()]
    for model in found.values():
        if ids.count(model.model_id) > 1:
            reader.refuse(f"models.{model.name}.model_id", model.model_id, "each model once")
    readable = {name for model in found.values() for name in (model.name, model.model_id)}
    return found, frozenset(listed - readable)


def _schedule(reader: _Reader) -> ScheduleRule | None:
    given = reader.file.values.get("schedule")
    if given is None:
        return None
    if not isinstance(given, dict):
        reader.refuse("schedule", given, ", ".join(sorted(_SCHEDULE_KEYS)))
        return None
    reader.only("schedule", _SCHEDULE_KEYS)
    order = reader.whole("schedule.order_seed", 0, 2**31 - 1)
    devices = reader.whole("schedule.devices", 1, 1024)
    timeout = reader.whole("schedule.timeout_seconds", 1, 30 * 86_400, optional=True)
    slots = reader.whole("schedule.most_slots", 1, 10**9, optional=True)
    hours = reader.whole("schedule.most_gpu_hours", 1, 10**9, optional=True)
    if hours is not None and timeout is None:
        reader.refuse("schedule.most_gpu_hours", hours, "timeout_seconds beside it, or nobody knows the cost")
    paired = given.get("pair_by_gpu_count", False)
    if not isinstance(paired, bool):
        reader.refuse("schedule.pair_by_gpu_count", paired, "true or false")
        return None
    if order is None or devices is None:
        return None
    return ScheduleRule(order, paired, devices, timeout, slots, hours)


class _Reader:
    """Values of one file by dotted path; each refusal notes the line."""

    def __init__(self, file: YamlFile, problems: Problems) -> None:
        self.file, self._problems = file, problems

    def refuse(self, path: str, value: object, expected: str) -> None:
        self._problems.add(self.file.name, self.file.line(path), path, value, expected)

    def only(self, path: str, known: set[str]) -> None:
        """Refuse keys that nothing reads: a misspelt one would be lost silently."""
        for key in self._get(path) if path else self.file.values:
            if key not in known:
                self.refuse(f"{path}.{key}" if path else key, key, "one of " + ", ".join(sorted(known)))

    def text(self, path: str, longest: int, *, optional: bool = False) -> str:
        value = self._get(path)
        if value is None and optional:
            return ""
        if not isinstance(value, str) or not value.strip() or len(value) > longest:
            self.refuse(path, value, f"a text of 1 to {longest} characters")
            return ""
        return value.strip()

    def slug(self, path: str, *, optional: bool = False) -> str:
        value = self._get(path)
        if value is None and optional:
            return ""
        if not isinstance(value, str) or len(value) > 100 or not _SLUG.fullmatch(value):
            self.refuse(path, value, "lower-case letters and digits, joined by single hyphens")
            return ""
        return value

    def whole(self, path: str, lowest: int, highest: int, *, optional: bool = False) -> int | None:
        value = self._get(path)
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            self.refuse(path, value, f"a whole number from {lowest} to {highest}")
            return None
        return value

    def _get(self, path: str) -> Any:
        value: Any = self.file.values
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value
