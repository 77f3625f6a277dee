"""What a study planned: protocol, amendments, targets and seed slots, read into records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.archive import columns
from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.layout import (
    CONFIGURATIONS,
    POOL_SLUG,
    SOURCE_AUTHORS,
    SOURCE_LICENCE,
    SOURCE_NAME,
    Documents,
    Layout,
)
from studies.archive.pools import configuration_record, read_configurations
from studies.archive.records import Record
from studies.archive.tables import Row, read_table
from studies.estimation.errors import EstimationError
from studies.estimation.protocol import Amendment, effective_protocol, parse_rules
from studies.estimation.rules import ProtocolRules
from studies.estimation.study import check_target_ids

_AMENDMENT_FIELDS = ("base_protocol_sha256", "amended_at_utc", "updates", "reason")


@dataclass(frozen=True)
class Plan:
    """The frozen part of a study. ``slots`` has the schedule's rows in their order."""

    rules: ProtocolRules
    targets: list[Row]
    slots: list[Row]


def read_plan(root: Root, documents: Documents) -> Plan:
    """Rules, targets and schedule, checked against each other.

    Raises ``ArchiveError``: an amendment that touches a frozen key or another base, a target that is not
    planned or not known, a slot without its configuration, a seed that the protocol does not have.
    """
    rules = read_rules(root, documents)
    layout = documents.layout
    targets = read_configurations(root, layout.path("targets.csv"))
    slots = read_table(
        root.read(layout.path("matrix.csv")), layout.path("matrix.csv"), columns.MATRIX, key="experiment_id"
    )
    try:
        check_target_ids([row.cells["configuration_id"] for row in targets], rules)
    except EstimationError as error:
        raise ArchiveError(f"{layout.path('targets.csv')}: {error}") from None
    _check_slots(slots, targets, rules, layout)
    return Plan(rules, targets, slots)


def effective_document(root: Root, documents: Documents) -> dict[str, Any]:
    """The effective protocol: base and amendments in their order, as the archive spells it."""
    try:
        amendments = [
            Amendment.from_document(item.path, item.values) for item in _checked(documents.amendments)
        ]
        return effective_protocol(
            documents.protocol.values, amendments, base_sha256=root.sha256(documents.protocol.path)
        )
    except EstimationError as error:
        raise ArchiveError(f"{documents.layout.folder}: {error}") from None


def read_rules(root: Root, documents: Documents) -> ProtocolRules:
    """The typed rules of the effective protocol."""
    effective = effective_document(root, documents)
    try:
        return parse_rules(effective)
    except EstimationError as error:
        raise ArchiveError(f"{documents.layout.folder}: {error}") from None


def _checked(amendments: list[Document]) -> list[Document]:
    for amendment in amendments:
        amendment.text("base_protocol_sha256")
        amendment.mapping("updates")
        amendment.text("reason", optional=True)
    return amendments


def _check_slots(slots: list[Row], targets: list[Row], rules: ProtocolRules, layout: Layout) -> None:
    by_id = {row.cells["configuration_id"]: row for row in targets}
    seeds: dict[str, list[int]] = {name: [] for name in by_id}
    for slot in slots:
        name = slot.text("configuration_id")
        if name not in by_id:
            raise slot.fail("configuration_id", name, f"a configuration of {layout.path('targets.csv')}")
        seed = slot.whole("training_seed")
        if seed not in rules.evaluation_seeds or seed in seeds[name]:
            raise slot.fail("training_seed", seed, f"each of {list(rules.evaluation_seeds)} once for {name}")
        seeds[name].append(seed)
        for column in columns.SHARED_WITH_TARGETS:
            if slot.cells[column] != by_id[name].cells[column]:
                raise slot.fail(
                    column, slot.cells[column], f"{by_id[name].cells[column]!r} as in its configuration"
                )
    for name, found in seeds.items():
        if len(found) != len(rules.evaluation_seeds):
            raise ArchiveError(
                f"{layout.path('matrix.csv')}: {name} has seeds {sorted(found)}, "
                f"expected {list(rules.evaluation_seeds)}"
            )


def plan_records(root: Root, documents: Documents, plan: Plan) -> list[Record]:
    """Study, targets, slots, protocol, amendments: everything that stood before the first prediction."""
    layout, protocol = documents.layout, documents.protocol
    study = {
        "slug": layout.slug,
        "title": layout.title,
        "question": layout.question,
        "pool": POOL_SLUG,
        "parent": layout.parent or None,
        "source_name": SOURCE_NAME,
        "source_authors": SOURCE_AUTHORS,
        "source_licence": SOURCE_LICENCE,
    }
    base = {
        "version": plan.rules.protocol_version,
        "sha256": root.sha256(protocol.path),
        "source_path": protocol.path,
        "frozen_at": protocol.moment(layout.frozen_key),
        "document": protocol.values,
    }
    return [
        Record("study", study),
        *(configuration_record(row) for row in plan.targets),
        *(_slot(row, position) for position, row in enumerate(plan.slots)),
        Record("protocol", base),
        *(_amendment(root, item, number) for number, item in enumerate(documents.amendments, start=1)),
    ]


def _slot(row: Row, position: int) -> Record:
    ordinals = row.text("gpu_subset_ordinals").split(";")
    if not all(item.isdigit() for item in ordinals) or len(ordinals) != row.whole("gpu_count"):
        raise row.fail(
            "gpu_subset_ordinals", ";".join(ordinals), "one ordinal for each task device, joined by ;"
        )
    fields: dict[str, Any] = {
        "configuration": row.text("configuration_id"),
        "seed": row.whole("training_seed"),
        "position": position,
        "experiment_id": row.text("experiment_id"),
        "pair_id": row.text("pair_id"),
        "period": row.whole("period"),
        "device_ordinals": [int(item) for item in ordinals],
        "timeout_seconds": row.whole("per_process_timeout_seconds"),
        "settings": row.cells,
    }
    return Record("slot", fields)


def _amendment(root: Root, document: Document, number: int) -> Record:
    return Record(
        "amendment",
        {
            "protocol": "protocol",
            "number": number,
            "base_sha256": document.text("base_protocol_sha256"),
            "sha256": root.sha256(document.path),
            "source_path": document.path,
            "amended_at": document.moment("amended_at_utc"),
            "updates": document.mapping("updates"),
            "reason": document.text("reason", optional=True),
            "document": {
                key: value for key, value in document.values.items() if key not in _AMENDMENT_FIELDS
            },
        },
    )


def refuse_pool_targets(plan: Plan, pool_ids: set[str]) -> None:
    """A target that was already measured is no prediction."""
    for row in plan.targets:
        if row.cells["configuration_id"] in pool_ids:
            raise row.fail(
                "configuration_id",
                row.cells["configuration_id"],
                f"a configuration outside the pool ({CONFIGURATIONS})",
            )
