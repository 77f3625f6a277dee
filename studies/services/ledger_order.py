"""The order of things in a study's ledger. Stated times can be typed; sequence numbers cannot."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from rlvram_site.ledger.models import LedgerEntry, LedgerRecord
from studies.models import Attempt, NonLaunch, Study

IMPORT = "import"
"""Who records what comes with an archive or a bundle, in the ledger."""
ESTABLISHES_OUTCOME = (Attempt.Outcome.COMPLETED, Attempt.Outcome.MEMORY_FAILURE)


def sequence_of(row: LedgerRecord) -> int:
    """The row's number in its stream, from 1."""
    return LedgerEntry.objects.get(record_type=row._meta.label_lower, record_id=row.pk).sequence


def imported(row: LedgerRecord) -> bool:
    """Whether a row came with an archive or a bundle; whatever it says of itself, it wasn't made here."""
    return LedgerEntry.objects.filter(
        record_type=row._meta.label_lower, record_id=row.pk, actor=IMPORT
    ).exists()


def sequences(rows: QuerySet) -> dict[int, int]:
    """Sequence numbers by primary key, in one query."""
    links = LedgerEntry.objects.filter(
        record_type=rows.model._meta.label_lower, record_id__in=rows.values("pk")
    )
    return dict(links.values_list("record_id", "sequence"))


def first_sequence(stream: str, rows: QuerySet) -> int | None:
    """The smallest sequence number of these rows of a stream, or None if there is none."""
    # One link after the other until one fits, instead of the smallest of all that do.
    links = LedgerEntry.objects.filter(
        Exists(rows.order_by().filter(pk=OuterRef("record_id"))),
        stream__name=stream,
        record_type=rows.model._meta.label_lower,
    )
    return links.order_by("sequence").values_list("sequence", flat=True).first()


def first_outcome(study: Study) -> int | None:
    """Sequence number of the first recorded outcome of a target: a completion or a diagnosed memory failure.

    Planned or not, counted or excluded: whoever could read it knew something.
    """
    return first_sequence(study.stream, Attempt.objects.filter(outcome__in=ESTABLISHES_OUTCOME))


def first_launch(study: Study) -> int | None:
    """Sequence number of the first recorded launch or failed launch, whatever it established."""
    numbers = [
        first_sequence(study.stream, Attempt.objects.all()),
        first_sequence(study.stream, NonLaunch.objects.all()),
    ]
    return min((number for number in numbers if number is not None), default=None)
