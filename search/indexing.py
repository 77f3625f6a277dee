"""Follows the ledger: each new record gets its row, and a row is never changed, because no record is.

How far each stream was read is kept by its sequence numbers, which have no gap; so a transaction that ends
later than its neighbours is not passed over.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from search.documents import Describer, describer_of
from search.models import LONGEST_LABEL, SearchDocument, SearchPosition

BATCH = 500


def streams_behind() -> QuerySet[LedgerStream]:
    """Streams with records that have no row yet. One look into an index per stream."""
    links = LedgerEntry.objects.filter(stream=OuterRef("pk"))
    following = links.filter(sequence=OuterRef("search_position__sequence") + 1)
    return LedgerStream.objects.filter(
        Q(search_position__isnull=True, pk__in=LedgerStream.objects.filter(Exists(links)))
        | Q(Exists(following), search_position__isnull=False)
    ).order_by("pk")


def is_behind() -> bool:
    """Whether any record has no row yet."""
    return streams_behind().exists()


def follow(most: int | None = None, tell: Callable[[int], None] | None = None) -> int:
    """Read at most ``most`` new links of all streams together (all of them without). Returns how many.

    ``tell`` is called after each batch with its number of links.
    """
    done = 0
    for stream in streams_behind():
        while most is None or done < most:
            read = _follow_stream(stream, BATCH if most is None else min(BATCH, most - done))
            if not read:
                break
            done += read
            if tell:
                tell(read)
    return done


def rebuild(tell: Callable[[int], None] | None = None) -> int:
    """Forget every row and read the ledger from its beginning. Returns the number of links."""
    with transaction.atomic():
        SearchPosition.objects.all().delete()
        SearchDocument.objects.all().delete()
    return follow(tell=tell)


@transaction.atomic
def _follow_stream(stream: LedgerStream, most: int) -> int:
    SearchPosition.objects.get_or_create(stream=stream)
    position = SearchPosition.objects.select_for_update().get(stream=stream)
    links = list(
        LedgerEntry.objects.filter(stream=stream, sequence__gt=position.sequence)
        .order_by("sequence")
        .values_list("sequence", "record_type", "record_id")[:most]
    )
    if not links:
        return 0
    wanted: dict[str, list[int]] = {}
    for _, record_type, record_id in links:
        wanted.setdefault(record_type, []).append(record_id)
    documents = [
        row
        for record_type, ids in wanted.items()
        if (describer := describer_of(record_type)) is not None
        for row in _documents(stream, record_type, describer, ids)
    ]
    SearchDocument.objects.bulk_create(documents)
    position.sequence = links[-1][0]
    position.save(update_fields=["sequence"])
    return len(links)


def _documents(
    stream: LedgerStream, record_type: str, describer: Describer, ids: list[int]
) -> list[SearchDocument]:
    rows = (
        describer.model._default_manager.filter(pk__in=ids).select_related(*describer.related).order_by("pk")
    )
    found = []
    for row in rows:
        document = describer.describe(row)
        if document is None:
            continue
        label = " ".join(document.label.split())
        text = document.text
        found.append(
            SearchDocument(
                stream=stream,
                record_type=record_type,
                record_id=row.pk,
                kind=describer.kind,
                label=label[:LONGEST_LABEL],
                label_key=label.lower()[:LONGEST_LABEL],
                place=document.place[:300],
                words=text,
                haystack=f"{label} {text}".lower(),
                address=document.address,
                recorded_at=row.recorded_at,  # type: ignore[attr-defined]
            )
        )
    return found
