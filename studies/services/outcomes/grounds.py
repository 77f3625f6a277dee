"""What an outcome rests on: the line of its evidence that decides, or the row of a source's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studies.models import Attempt, SourceFile, Study


@dataclass(frozen=True)
class Ground:
    """Where an outcome is read from.

    Attributes:
        file: the log or table.
        line: line in the log, None for a table.
        text: the deciding line itself, empty for a table.
        row: value of ``invocation_id`` in the table, empty for a log.
        sha256: of the table, empty where it is not recorded.
    """

    file: str
    line: int | None = None
    text: str = ""
    row: str = ""
    sha256: str = ""


def grounds(study: Study, attempts: Iterable[Attempt]) -> dict[int, Ground]:
    """Grounds of these attempts by primary key, in one query; one without evidence and source has none."""
    found = {row.pk: ground for row in attempts if (ground := _ground(row)) is not None}
    tables = {ground.file for ground in found.values() if ground.row}
    if not tables:
        return found
    files = SourceFile.objects.filter(study=study, path__in=tables)
    known = dict(files.values_list("path", "sha256"))
    return {
        pk: Ground(ground.file, row=ground.row, sha256=known.get(ground.file, "")) if ground.row else ground
        for pk, ground in found.items()
    }


def _ground(attempt: Attempt) -> Ground | None:
    lines = [line for line in attempt.evidence or () if isinstance(line, dict) and line.get("text")]
    deciding = next((line for line in lines if line.get("role") == "deciding"), lines[0] if lines else None)
    if deciding is not None:
        return Ground(deciding.get("file", ""), deciding.get("line"), deciding["text"])
    return Ground(attempt.source, row=attempt.invocation_id) if attempt.source else None
