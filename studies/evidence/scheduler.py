"""Slurm's accounting records: lines of `sacct -P`, one per job and per step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo

from host.kinds import SACCT_FIELDS
from studies.evidence.errors import EvidenceError

MOST_ROWS = 100_000
"""Rows of one file; accounting of a whole cluster is another matter than that of a run."""

_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class SchedulerRow:
    """One line of accounting. Fields that it does not hold are empty or None.

    Attributes:
        line: its number in the file, from 1.
        text: the line itself.
        job_id: as Slurm shows it, with array element and without step: `5055845_3`.
        raw_id: the plain number of the job.
        step: `batch`, `extern`, `0`, … or empty for the job itself.
        state: first word: `COMPLETED`, `OUT_OF_MEMORY`, `CANCELLED`, …
        cancelled_by: numeric user of `CANCELLED by N`, else empty.
        exit_code, signal: the two halves of `ExitCode`.
        start, end: cluster-local, whole seconds; with a zone only if the caller gave one.
        elapsed_seconds: seconds.
    """

    line: int
    text: str
    job_id: str
    raw_id: str
    step: str
    name: str
    state: str
    cancelled_by: str
    exit_code: int | None
    signal: int | None
    start: datetime | None
    end: datetime | None
    elapsed_seconds: int | None
    allocated: str
    nodes: str
    reason: str

    def belongs_to(self, job: str) -> bool:
        """Whether the line is about that job, by either of its names."""
        return job in (self.job_id, self.raw_id) or job == self.job_id.split("_")[0].split("+")[0]


def parse_sacct(
    lines: Iterable[str], file: str, zone: tzinfo | None = None
) -> tuple[tuple[SchedulerRow, ...], tuple[str, ...]]:
    """The rows of `sacct -P` (or `-p`) output, and what could not be read, each with its line number.

    Args:
        lines: with or without a header. Without one, the fields are `SACCT_FIELDS`.
        file: named in problems.
        zone: time zone of the cluster, if known.

    Raises:
        EvidenceError: more than `MOST_ROWS` rows.
    """
    names: tuple[str, ...] = SACCT_FIELDS
    rows: list[SchedulerRow] = []
    problems: list[str] = []
    unread = 0
    for number, line in enumerate(lines, start=1):
        text = line.lstrip("\ufeff").strip()
        if not text:
            continue
        cells = text.split("|")
        if cells[0] in ("JobID", "JobIDRaw"):
            names = tuple(name for name in cells if name)
            continue
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != len(names):
            unread += 1
            if unread > _MOST_PROBLEMS:
                continue
            wanted = f"{len(names)} ({'|'.join(names)})"
            problems.append(f"{file} line {number}: {len(cells)} fields, expected {wanted}")
            continue
        if len(rows) >= MOST_ROWS:
            raise EvidenceError(file, "rows", f"over {MOST_ROWS}", f"at most {MOST_ROWS} rows of accounting")
        rows.append(_row(number, text, dict(zip(names, cells, strict=True)), zone))
    if unread > _MOST_PROBLEMS:
        problems.append(f"{file}: {unread - _MOST_PROBLEMS} more lines with another number of fields")
    return tuple(rows), tuple(problems)


def _row(number: int, text: str, cells: dict[str, str], zone: tzinfo | None) -> SchedulerRow:
    shown = cells.get("JobID", "") or cells.get("JobIDRaw", "")
    job, _, step = shown.partition(".")
    state, _, rest = cells.get("State", "").strip().partition(" ")
    code, _, signal = cells.get("ExitCode", "").strip().partition(":")
    both = _is_whole(code, 9) and _is_whole(signal, 9)
    elapsed = cells.get("ElapsedRaw", "").strip()
    return SchedulerRow(
        line=number,
        text=text,
        job_id=job,
        raw_id=cells.get("JobIDRaw", "").partition(".")[0],
        step=step,
        name=cells.get("JobName", ""),
        state=state.rstrip("+"),
        cancelled_by=rest.removeprefix("by").strip() if state.startswith("CANCELLED") else "",
        exit_code=int(code) if both else None,
        signal=int(signal) if both else None,
        start=_time(cells.get("Start", ""), zone),
        end=_time(cells.get("End", ""), zone),
        elapsed_seconds=int(elapsed) if _is_whole(elapsed, 15) else None,
        allocated=cells.get("AllocTRES", ""),
        nodes=cells.get("NodeList", ""),
        reason=cells.get("Reason", ""),
    )


def _is_whole(text: str, most_digits: int) -> bool:
    return len(text) <= most_digits and text.isascii() and text.isdigit()


def _time(text: str, zone: tzinfo | None) -> datetime | None:
    """`Unknown` and `None` are how Slurm writes a time that has not come."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
