"""The device map: which task device stands in which column of the sampled memory."""

from __future__ import annotations

from collections.abc import Mapping

from studies.evidence.errors import EvidenceError

_LEADING_CELLS = (1, 3)
"""Cells before the first device: the time alone, or time, step and phase."""


def parse_device_map(document: object, file: str) -> dict[int, str]:
    """UUID by device column, from 0, out of the JSON of a device map.

    Read are `{"UUID": column}`, a list of `{"uuid": …, "column": …}` (bare or under `devices`), and a list
    of UUIDs in the order of the columns (bare, or under `task_device_uuids`, `uuids` or `columns`). Columns
    that count from the start of the CSV row instead of from the first device are recognised, because they
    then start at 1 or 3 and leave no column 0.

    Raises:
        EvidenceError: another form, or a column given twice.
    """
    found: dict[int, str] = {}
    for uuid, column in _pairs(document, file):
        if isinstance(column, bool) or not isinstance(column, int) or column < 0:
            raise EvidenceError(file, f"column of {uuid}", column, "a whole number from 0")
        if column in found:
            raise EvidenceError(file, "column", column, f"each column once, {found[column]} has it already")
        found[column] = uuid
    if (
        found
        and min(found) in _LEADING_CELLS
        and sorted(found) == list(range(min(found), min(found) + len(found)))
    ):
        shift = min(found)
        return {column - shift: uuid for column, uuid in found.items()}
    return found


def _pairs(document: object, file: str) -> list[tuple[str, object]]:
    if isinstance(document, Mapping):
        for key in ("devices", "task_devices", "device_map", "columns", "task_device_uuids", "uuids"):
            if isinstance(document.get(key), list | dict):
                return _pairs(document[key], file)
        if document and all(isinstance(value, int) for value in document.values()):
            return [(str(uuid), column) for uuid, column in document.items()]
        if document and all(
            str(key).isdecimal() and isinstance(value, str) for key, value in document.items()
        ):
            return [(uuid, int(column)) for column, uuid in document.items()]
    if isinstance(document, list):
        if all(isinstance(entry, str) for entry in document):
            return [(uuid, column) for column, uuid in enumerate(document)]
        if all(isinstance(entry, Mapping) and "uuid" in entry for entry in document):
            return [
                (str(entry["uuid"]), entry.get("column", entry.get("csv_column", position)))
                for position, entry in enumerate(document)
            ]
    raise EvidenceError(file, "device map", document, "the UUID of each task device and its column")
