"""Recording what is sent under a key of the sender's own, once, however often it is sent.

The same content again changes nothing; other content under a key that stands is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import transaction

from admission import estimator
from admission.models import Measurement, RecordedReplay, StatusUpdate, TrackedIssue, Witness
from admission.models.base import IssueRecord, Origin
from admission.services.exchange import as_plain
from admission.services.identity import lock
from admission.services.recording import record_row, stated_time
from admission.services.timeline import find_statement

_Row = TypeVar("_Row", bound=IssueRecord)
# How a row came here, and what is computed from it, is no part of what was sent.
_NOT_CONTENT = {"origin", "results"}
_TIME = {"stated_words", "stated_precision", "stated_day", "sort_at"}


class OtherContent(Exception):
    """A key is recorded already and says something else; ``field`` is the first that differs."""

    def __init__(self, key: str, field: str, message: str) -> None:
        self.key, self.field, self.message = key, field, message
        super().__init__(f"{key}: {message}")


@transaction.atomic
def record_once(
    issue: TrackedIssue, row: _Row, stem: str, *, stated: str = "", otherwise: str = "",
    origin: Origin = Origin.UPLOAD,
) -> tuple[_Row, bool]:  # fmt: skip
    """The recorded row, and whether it is new. A row without a key gets one made from ``stem``.

    Without ``stated``, a new row was stated when ``otherwise`` says (empty: now), and nothing is said about
    the time of one that stands.
    Raises ``ValidationError`` by field, ``OtherContent`` for a key that stands with other content.
    """
    lock(issue)
    if isinstance(row, StatusUpdate):
        row.heading = row.heading or row.claim
    found = find_statement(issue, row.key) if row.key else None
    if found is None:
        if isinstance(row, StatusUpdate):
            stem = f"{stem}-{stated_time(stated or otherwise).day:%Y%m%d}"
        record_row(issue, row, stem, stated or otherwise, origin)
        return row, True
    there = found.row
    if type(there) is not type(row):
        raise OtherContent(row.key, "key", f"{row.key!r} is a record in {found.section} already")
    if stated:
        row.set_stated(stated_time(stated))
    _check_same(there, row, _NOT_CONTENT if stated else _NOT_CONTENT | _TIME)
    return there, False


def _check_same(there: IssueRecord, sent: IssueRecord, left_out: Iterable[str]) -> None:
    names = {(target._meta.label, target.pk): target.key for target in _targets(there)}
    mine, theirs = as_plain(there, names), as_plain(sent, names)
    for field in sorted({*mine, *theirs} - {*left_out}):
        if mine.get(field) != theirs.get(field):
            raise OtherContent(
                there.key,
                field,
                f"is recorded under {there.key!r} as {mine.get(field)!r:.80}; nothing was changed",
            )


def _targets(row: IssueRecord) -> Iterable[IssueRecord]:
    for column in row._meta.concrete_fields:
        target = getattr(row, column.name) if column.is_relation else None
        if isinstance(target, IssueRecord):
            yield target


@transaction.atomic
def record_witness(
    issue: TrackedIssue, witness: Witness, measurements: Iterable[tuple[Measurement, str]], stated: str = ""
) -> tuple[Witness, bool]:
    """A witness with its measurements (each with its own stated time, or the witness's), all or nothing.

    The flag says whether anything of it is new. Errors as in ``record_once``.
    """
    witness, new = record_once(issue, witness, "witness", stated=stated)
    for measurement, said in measurements:
        measurement.witness = witness
        _, added = record_once(issue, measurement, "measurement", stated=said, otherwise=stated)
        new = new or added
    return witness, new


def replay_row(
    witness: Witness, *, key: str, title: str, document: dict[str, Any], policies: list[str]
) -> RecordedReplay:
    """A replay computed here, to be recorded beside ``witness``.

    Raises the estimator's ``InputError`` and ``PolicyError``.
    """
    results = estimator.replay(document, policies)
    return RecordedReplay(
        key=key, witness=witness, title=title, document=document, policies=policies, results=results
    )
