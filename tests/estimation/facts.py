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

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT.parent / "shared" / "rlvrambench" / "benchmark"

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


def published_facts() -> Facts:
    """The archive beside the repository.

    Raises:
        FileNotFoundError: it isn't there.
    """
    if not ARCHIVE.is_dir():
        raise FileNotFoundError(ARCHIVE)
    return facts_of_archive(ARCHIVE)


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
