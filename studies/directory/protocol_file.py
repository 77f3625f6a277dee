"""`protocol.yaml`: the rules as the author writes them, and the document that is frozen.

Counts and ids that follow from the other files need not be typed: they are filled in, and checked where the
author typed them all the same. Every other key stands as it is written; what the product must execute is
checked by `studies.estimation.protocol.parse_rules`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.directory.problems import Problems
from studies.directory.yaml_file import YamlFile, read_yaml
from studies.estimation.errors import EstimationError
from studies.estimation.protocol import parse_rules
from studies.estimation.rules import ProtocolRules
from studies.evidence.completion import check_pattern
from studies.evidence.errors import EvidenceError

NAME = "protocol.yaml"


@dataclass(frozen=True)
class PlanFacts:
    """What the other files say: ids of targets and sources in order, source studies, slots and pairs."""

    targets: Sequence[str]
    sources: Sequence[str]
    source_studies: Collection[str]
    slots: int
    pairs: int


def read_protocol(folder: Path, problems: Problems) -> YamlFile:
    """The file as it is written."""
    return read_yaml(folder, NAME, problems)


def complete(
    file: YamlFile, facts: PlanFacts, problems: Problems
) -> tuple[dict[str, Any], ProtocolRules | None]:
    """The document to freeze, and its rules; None, with the problem noted, if they can't be executed.

    `source_configuration_ids` and `source_studies` are the pool's labelled configurations and their studies
    unless the author chooses among them.
    """
    document = dict(file.values)
    if document.get("prediction_origins") is None:
        _choose(document, "source_studies", sorted(facts.source_studies), file, problems)
        _choose(document, "source_configuration_ids", list(facts.sources), file, problems)
        _same(
            document, "source_configurations", len(document["source_configuration_ids"] or ()), file, problems
        )
        _same(document, "target_configuration_ids", list(facts.targets), file, problems)
    _same(document, "target_configurations", len(facts.targets), file, problems)
    _same(document, "planned_processes", facts.slots, file, problems)
    _same(document, "planned_pairs", facts.pairs, file, problems)
    _pattern(document, file, problems)
    broken = bool(problems)
    if broken and not file.values:
        return document, None
    try:
        rules = parse_rules(_as_if_whole(document) if broken else document)
    except EstimationError as error:
        problems.add_error(NAME, file.line(error.field), error)
        return document, None
    return document, None if broken else rules


def _as_if_whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with something in place of what the other files failed to give, to read the rest of it."""
    whole = dict(document)
    seeds = whole.get("evaluation_seeds")
    for ids in ("target_configuration_ids", "source_configuration_ids", "source_studies"):
        whole[ids] = whole.get(ids) or ["one"]
    if "prediction_origins" not in whole:
        whole["target_configurations"] = len(whole["target_configuration_ids"])
    whole["source_configurations"] = len(whole["source_configuration_ids"])
    whole["planned_processes"] = whole["target_configurations"] * (
        len(seeds) if isinstance(seeds, list) else 1
    )
    return whole | {"planned_pairs": 0}


def _pattern(document: dict[str, Any], file: YamlFile, problems: Problems) -> None:
    try:
        check_pattern(document, NAME)
    except EvidenceError as error:
        problems.add(NAME, file.line(error.field), error.field, error.value, error.expected)


def _same(document: dict[str, Any], key: str, value: Any, file: YamlFile, problems: Problems) -> None:
    if key in document and document[key] != value:
        problems.add(
            NAME, file.line(key), key, document[key], f"{value}, as the other files say; or leave it out"
        )
    document[key] = value


def _choose(document: dict[str, Any], key: str, known: list[str], file: YamlFile, problems: Problems) -> None:
    chosen = document.setdefault(key, known)
    if not isinstance(chosen, list):
        problems.add(NAME, file.line(key), key, chosen, "a list")
        document[key] = known
        return
    for number, name in enumerate(chosen):
        if name not in known:
            problems.add(NAME, file.line(f"{key}.{number}"), key, name, "one that the pool has with a label")
