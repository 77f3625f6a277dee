"""The published facts that the tests compare with, by the archive's own file names.

The tests see a `Facts`, not where it came from. `published_facts` is the one place that chooses.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from studies.estimation.labels import Resolution, SlotOutcome, resolve
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.protocol import Amendment, effective_protocol, parse_rules
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture, Settings
from studies.estimation.wording import in_own_words

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT.parent / "shared" / "rlvrambench" / "benchmark"

TAKEN_DOWN = Path(__file__).with_name("published.json")

ORIGINAL, FOLLOW_UP = "estimation", "host_capacity"
PANELS = (ORIGINAL, FOLLOW_UP)

PROSE = ("assumption", "reason", "interpretation", "scope", "numerical_environment")
"""Keys that hold sentences or versions; no number depends on them."""


@dataclass(frozen=True)
class Facts:
    """Parsed files by their path below the archive's benchmark folder.

    Attributes:
        documents: JSON documents as objects, tables as lists of rows of texts.
        sha256: digest of each file's bytes.
    """

    documents: Mapping[str, Any]
    sha256: Mapping[str, str]

    def __getitem__(self, path: str) -> Any:
        return self.documents[path]

    @cached_property
    def rules(self) -> ProtocolRules:
        """The original study's effective rules."""
        amendment = Amendment.from_document("amendment-01.json", self["estimation/amendment-01.json"])
        base = self["estimation/protocol.json"]
        return parse_rules(
            effective_protocol(base, [amendment], base_sha256=self.sha256["estimation/protocol.json"])
        )

    @cached_property
    def follow_up_rules(self) -> ProtocolRules:
        """The follow-up's rules."""
        return parse_rules(self["host_capacity/protocol.json"])

    @cached_property
    def architectures(self) -> dict[str, Architecture]:
        """Architectures by model id."""
        return {
            model: Architecture.from_metadata(entry)
            for model, entry in self["estimation/model_metadata.json"].items()
        }

    @cached_property
    def pool(self) -> Pool:
        """The fitting pool."""
        outcomes = {row["configuration_id"]: row for row in self["outcomes.csv"]}
        return Pool.of(
            PoolConfiguration.from_rows(row, outcomes[row["configuration_id"]], self.architectures)
            for row in self["configurations.csv"]
            if row["study"] in ("boundary", "four_gpu")
        )

    @cached_property
    def targets(self) -> list[Target]:
        """The original panel's targets, in the published order."""
        rows = map(Settings.from_row, self["estimation/targets.csv"])
        return [Target(settings, self.architectures[settings.model_id]) for settings in rows]

    def resolutions(self, panel: str) -> dict[str, Resolution]:
        """Each planned configuration of a panel, labelled from its processes."""
        slots: dict[str, list[SlotOutcome]] = {}
        for row in self[f"{panel}/results/processes.csv"]:
            slots.setdefault(row["configuration_id"], []).append(slot_of(row))
        margin = self.rules.memory_margin_limit_mib
        return {item: resolve(found, margin, configuration_id=item) for item, found in slots.items()}


def slot_of(row: Mapping[str, str]) -> SlotOutcome:
    """A row of a processes table as a slot."""
    seed = int(row["training_seed"])
    if row["eligible"] != "True":
        return SlotOutcome(seed, None)
    if row["completed"] == "True":
        return SlotOutcome(seed, "completed", float(row["completed_peak_mib"]))
    return SlotOutcome(seed, "memory_failure")


def resolution_row(configuration_id: str, resolution: Resolution) -> dict[str, Any]:
    """One configuration's outcome as the results table of the archive has it, without its settings."""
    return {
        "completed_peak_mib": resolution.completed_peak_mib,
        "completed_processes": resolution.completed_processes,
        "configuration_id": configuration_id,
        "eligible_processes": len(resolution.eligible_seeds),
        "eligible_seeds": list(resolution.eligible_seeds),
        "known_margin_exceedance": resolution.known_margin_exceedance,
        "known_memory_failure": resolution.known_memory_failure,
        "maximum_known_completed_peak_mib": resolution.maximum_known_completed_peak_mib,
        "planned_seeds": list(resolution.planned_seeds),
        "state": resolution.state,
        "unresolved_seeds": list(resolution.unresolved_seeds),
    }


def published_facts() -> Facts:
    """The archive beside the repository, or without it the figures that were taken down from it."""
    return facts_of_archive(ARCHIVE) if ARCHIVE.is_dir() else taken_down_facts()


def facts_of_archive(folder: Path) -> Facts:
    """Read every JSON document and table below `folder`."""
    documents, digests = {}, {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".csv"):
            continue
        name, content = path.relative_to(folder).as_posix(), path.read_bytes()
        digests[name] = hashlib.sha256(content).hexdigest()
        text = content.decode()
        documents[name] = (
            json.loads(text) if path.suffix == ".json" else list(csv.DictReader(text.splitlines(True)))
        )
    return Facts(documents, digests)


NEEDED = (
    "configurations.csv",
    "outcomes.csv",
    "estimation/protocol.json",
    "estimation/amendment-01.json",
    "estimation/model_metadata.json",
    "estimation/targets.csv",
    "estimation/retrospective.json",
    "estimation/fitted_model.json",
    "estimation/predictions.json",
    "estimation/results/configurations.csv",
    "host_capacity/protocol.json",
    "host_capacity/targets.csv",
    "host_capacity/predictions.json",
    *(
        f"{panel}/results/{name}"
        for panel in PANELS
        for name in ("configurations_flat.csv", "costs.json", "evaluation.json", "pairs.csv", "processes.csv")
    ),
)
"""What the tests compare with."""

UNUSED = (
    *("raw_record_provenance", "scheduler_scope_note", "timestamp_interval", "settings", "validation_errors"),
    *("artifact_path", "worker_initialization", "peak_measurement", "threadpools", "thread_environment"),
    *(key for key in PROSE if key != "numerical_environment"),
)
"""Keys and columns that no test reads: scheduler lines, sentences, repeated settings."""


def figures_of(facts: Facts) -> dict[str, Any]:
    """What `taken_down_facts` reads: figures, names and digests of `facts` without a sentence of theirs.

    A table is its column names and its rows; rule texts are our own words for them.
    """
    return {
        "format": "rlvram-published-figures",
        "source": "RLVRAMBench, Ondřej Kobza and Jan Šedivý, MIT (studies/samples/LICENSE-rlvrambench)",
        "sha256": dict(facts.sha256),
        "documents": {name: _figures(facts[name]) for name in NEEDED},
    }


def _figures(document: Any) -> Any:
    if isinstance(document, list) and document and "configuration_level" in document[0]:
        columns = [column for column in document[0] if column not in UNUSED]
        return {"columns": columns, "rows": [[row[column] for column in columns] for row in document]}
    if isinstance(document, Mapping) and "updates" in document:
        return in_own_words({**document, "updates": in_own_words(document["updates"])})
    if isinstance(document, Mapping) and "protocol_version" in document:
        return in_own_words(document)
    return _without(document)


def _without(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _without(value) for key, value in tree.items() if key not in UNUSED}
    return [_without(item) for item in tree] if isinstance(tree, list) else tree


def taken_down_facts() -> Facts:
    """The facts of `published.json`, tables as rows of texts again."""
    taken = json.loads(TAKEN_DOWN.read_text(encoding="utf-8"))
    documents = {
        name: [dict(zip(tree["columns"], row, strict=True)) for row in tree["rows"]]
        if isinstance(tree, dict) and set(tree) == {"columns", "rows"}
        else tree
        for name, tree in taken["documents"].items()
    }
    return Facts(documents, taken["sha256"])
