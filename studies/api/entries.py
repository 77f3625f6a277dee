"""Files that an upload names: what they are, and whether their bytes are here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework.exceptions import ValidationError

from studies.api.fields import FileNameField
from studies.models import Study
from studies.services.outcomes.attempts import FileEntry
from studies.services.outcomes.derivation import RESERVED_NAMES, file_kind, name_for_kind
from studies.services.outcomes.evidence_bytes import known_sizes
from studies.services.outcomes.evidence_checks import Bytes, states_of

FORM_FILES = ("files", "log", "samples", "scheduler", "devices", "trial")
"""Parts of a form that take files. All but ``files`` say what the file is, whatever its name."""

_name = FileNameField()


def file_entry(name: str, kind: str, sha256: str, size_bytes: int | None, *, stored: bool) -> FileEntry:
    """An entry with a usable name; an empty ``kind`` is read from the name."""
    _name.run_validation(name)
    kind = kind or file_kind(name)
    name = name_for_kind(name, kind)
    if name in RESERVED_NAMES:
        raise ValidationError(
            {"files": [f"{name} is the name of a text inside the record, expected another one"]}
        )
    return FileEntry(name, kind, sha256, size_bytes, stored)


def entries_of(study: Study, sent: Iterable[Mapping[str, Any]]) -> list[FileEntry]:
    """The entries of a record's ``files``. Raises ``ValidationError`` for bytes that are not here."""
    items = list(sent)
    if not items:
        return []
    blobs = known_sizes(study, (item["sha256"] for item in items))
    states = states_of({item["sha256"]: blobs[item["sha256"]] for item in items if item["sha256"] in blobs})
    problems: list[dict[str, list[str]]] = []
    entries = []
    for item in items:
        size, stored = item.get("size_bytes"), not item["private"]
        wrong: dict[str, list[str]] = {}
        if stored and item["sha256"] not in blobs:
            wrong["sha256"] = ["no bytes with this sha256 were uploaded: PUT them first, or say private"]
        elif stored and (state := states[item["sha256"]]) in (Bytes.MISSING, Bytes.DAMAGED):
            wrong["sha256"] = [f"evidence {state}: the bytes with this sha256 must be PUT again"]
        elif stored and size is not None and size != blobs[item["sha256"]]:
            wrong["size_bytes"] = [f"is {size}, expected {blobs[item['sha256']]} as the uploaded bytes have"]
        problems.append(wrong)
        if not wrong:
            entries.append(
                file_entry(
                    item["name"], item.get("kind", ""), item["sha256"],
                    blobs[item["sha256"]] if stored else size, stored=stored,
                )
            )  # fmt: skip
    if any(problems):
        raise ValidationError({"files": problems})
    return entries
