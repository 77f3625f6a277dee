"""Bringing an archive or a bundle into the database: all or nothing, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from django.db import transaction

from rlvram_site.ledger.chain import acting
from studies.archive.bundle import read_bundle
from studies.archive.errors import ArchiveError
from studies.archive.hashes import counts
from studies.archive.loading import Progress, differences, load_stream, load_suite_into, owner_of
from studies.archive.reading import read_archive
from studies.archive.records import SUITE_KINDS, Stream, kinds_in
from studies.models import Pool, Study
from studies.services.ledger_order import IMPORT
from studies.services.predictions.seals import check_inherited
from studies.services.scores.evaluation import record_evaluations
from studies.services.transfer.submissions import has_suite, load_suite

SHOWN_DIFFERENCES = 5


@dataclass
class Report:
    """What an import did to one pool or study."""

    slug: str
    kind: str
    changed: bool
    counts: dict[str, int]
    hashes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """What was read, ready to be imported. ``hashes`` has the states of named files by study."""

    streams: Sequence[Stream]
    hashes: dict[str, dict[str, int]]

    @property
    def size(self) -> int:
        """Number of records."""
        return sum(len(stream.records) for stream in self.streams)


def read_source(path: Path, wanted: Iterable[str] = ()) -> Source:
    """Read an archive's root folder or a bundle file; ``wanted`` are slugs, none means all.

    Raises ``ArchiveError``; the database is not touched.
    """
    wanted = list(wanted)
    if path.is_dir():
        archive = read_archive(path, wanted)
        return Source(
            [archive.pool, *(study.stream for study in archive.studies)],
            {study.stream.slug: dict(counts(study.files)) for study in archive.studies},
        )
    if not path.exists():
        raise ArchiveError(f"{path}: not there, expected the root folder of an archive or a bundle file")
    streams = read_bundle(path)
    for slug in wanted:
        if slug not in [stream.slug for stream in streams if not stream.is_pool]:
            raise ArchiveError(f"{path.name}: study {slug!r} is not in it")
    return Source([item for item in streams if item.is_pool or not wanted or item.slug in wanted], {})


def import_source(source: Source, progress: Progress = lambda count: None) -> list[Report]:
    """Record what is not recorded yet, in one transaction.

    Raises ``ArchiveError`` if something recorded already differs, or if a record cannot be taken; then
    nothing was written.
    """
    with transaction.atomic(), acting(IMPORT):
        return [_import(stream, source.hashes.get(stream.slug, {}), progress) for stream in source.streams]


def _import(stream: Stream, hashes: dict[str, int], progress: Progress) -> Report:
    kind = "pool" if stream.is_pool else "study"
    owner = owner_of(stream)
    if owner is not None:
        changed = _add_suite(stream, owner)
        _refuse_differences(stream, owner, kind)
        progress(len(stream.records))
        return Report(stream.slug, kind, changed, kinds_in(stream.records), hashes)
    parent = stream.head.get("parent")
    if parent and not Study.objects.filter(slug=parent).exists():
        raise ArchiveError(
            f"study {stream.slug} follows {parent}, which is not imported yet; import {parent} first"
        )
    loaded = load_stream(stream, progress)
    if isinstance(loaded, Study):
        check_inherited(loaded)
        record_evaluations(loaded)
    else:
        load_suite(loaded)  # refuses a suite whose queries contradict each other or the pool
    return Report(stream.slug, kind, True, kinds_in(stream.records), hashes)


def _add_suite(stream: Stream, owner: Pool | Study) -> bool:
    """A pool recorded by a version that knew no transfer suite gets the suite now. Whether it did."""
    if not isinstance(owner, Pool) or has_suite(owner):
        return False
    if not any(record.kind in SUITE_KINDS for record in stream.records):
        return False
    load_suite_into(owner, stream)
    load_suite(owner)
    return True


def _refuse_differences(stream: Stream, owner: Pool | Study, kind: str) -> None:
    found = list(islice(differences(stream, owner), SHOWN_DIFFERENCES + 1))
    if found:
        shown = "; ".join(found[:SHOWN_DIFFERENCES]) + (" and more" if len(found) > SHOWN_DIFFERENCES else "")
        raise ArchiveError(
            f"{kind} {stream.slug} is already recorded and this one differs: {shown}. Nothing was changed."
        )
