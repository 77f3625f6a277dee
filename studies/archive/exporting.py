"""Studies in the database as the streams of a bundle, with everything they rest on."""

from __future__ import annotations

from collections.abc import Iterable

from studies.archive.errors import ArchiveError
from studies.archive.records import Stream, dump_stream
from studies.models import Pool, Study


def streams_for(slugs: Iterable[str]) -> list[Stream]:
    """The named studies with their parents and pools, pools first and parents before follow-ups.

    Raises ``ArchiveError`` for a slug that no study has.
    """
    studies: dict[str, Study] = {}
    for slug in slugs:
        _add(slug, studies)
    pools: dict[str, Pool] = {study.pool.slug: study.pool for study in studies.values() if study.pool}
    return [*map(dump_stream, pools.values()), *map(dump_stream, studies.values())]


def _add(slug: str, found: dict[str, Study]) -> None:
    if slug in found:
        return
    study = Study.objects.select_related("pool", "parent").filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none is recorded"
        raise ArchiveError(f"study {slug!r} is not recorded, expected one of: {known}")
    if study.parent:
        _add(study.parent.slug, found)
    found[slug] = study
