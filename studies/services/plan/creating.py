"""Beginning a study: from a checked folder to recorded plan and frozen protocol, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import transaction
from django.utils import timezone

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import lock_stream, record, record_all
from rlvram_site.ledger.models import LedgerRecord
from studies.directory import study_file
from studies.directory.files import listing, write_files
from studies.directory.problems import Problem, Problems
from studies.directory.reading import Known, KnownPool, StudyDirectory, read_directory
from studies.directory.yaml_file import read_yaml
from studies.estimation.labels import Label
from studies.models import (
    Configuration,
    ModelArchitecture,
    Pool,
    PoolOutcome,
    Protocol,
    SeedSlot,
    SourceFile,
    Study,
)
from studies.models.predictions import MADE_HERE
from studies.services.errors import ServiceError
from studies.services.plan.pools import architectures

SOURCE = MADE_HERE
FOLDER = "the study's folder"


class FolderRefused(ServiceError):
    """A folder with problems; nothing was recorded."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def known() -> Known:
    """What is recorded already, as far as a new study may refer to it."""
    return Known(
        studies=frozenset(Study.objects.values_list("slug", flat=True)),
        pools={pool.slug: _known_pool(pool) for pool in Pool.objects.prefetch_related("architectures")},
    )


def _known_pool(pool: Pool) -> KnownPool:
    labelled = pool.configurations.filter(pool_outcome__observed_state__in=list(Label))
    return KnownPool(
        models=architectures(pool),
        sources=dict(labelled.values_list("configuration_id", "source_study")),
    )


def check(folder: Path) -> tuple[StudyDirectory | None, list[Problem]]:
    """Read a folder against what is recorded; nothing changes."""
    directory, problems = read_directory(folder, known())
    return directory, problems.all


def create(folder: Path) -> Study:
    """Record the study that a folder describes, and freeze its protocol at this moment.

    The protocol's sha256 is that of its canonical JSON, computed here.
    Raises ``FolderRefused`` with every problem.
    """
    files = listing(folder) if folder.is_dir() else {}
    directory, problems = check(folder)
    if directory is None:
        raise FolderRefused(problems)
    with transaction.atomic():
        pool = _pool(directory)
        # Whoever begins a study of this name, or adds to this pool, at the same time waits here.
        lock_stream(pool.stream)
        study = _study(directory, pool)
        lock_stream(study.stream)
        record_all(_pool_rows(directory, pool))
        record(study)
        record_all(_plan(directory, study))
        record(
            Protocol(
                study=study,
                version=directory.rules.protocol_version,
                sha256=digest(directory.protocol),
                source_path=SOURCE,
                frozen_at=timezone.now(),
                document=directory.protocol,
            )
        )
        record_all(_files(study, files))
    return study


def create_once(folder: Path) -> tuple[Study, bool]:
    """Record the study of a folder, or find the one that was recorded from exactly these files.

    Raises ``FolderRefused``; a study of the same name from other files is among the problems.
    """
    slug = read_yaml(folder, study_file.NAME, Problems()).values.get("slug")
    found = Study.objects.filter(slug=slug).first() if isinstance(slug, str) and "\x00" not in slug else None
    if found is not None:
        rows = SourceFile.objects.filter(study=found, declared_in=FOLDER)
        recorded = dict(rows.values_list("path", "sha256"))
        if recorded and recorded == {path: sha256 for path, (sha256, _) in listing(folder).items()}:
            return found, False
    return create(folder), True


@contextmanager
def as_folder(files: Mapping[str, bytes]) -> Iterator[Path]:
    """The files in a folder that is there for a moment."""
    with TemporaryDirectory(prefix="study-") as name:
        write_files(files, Path(name))
        yield Path(name)


def _files(study: Study, files: Mapping[str, tuple[str, int]]) -> Iterator[LedgerRecord]:
    for path, (sha256, size) in files.items():
        yield SourceFile(
            study=study, declared_in=FOLDER, path=path, sha256=sha256, state=SourceFile.State.VERIFIED,
            size_bytes=size,
        )  # fmt: skip


def _pool(directory: StudyDirectory) -> Pool:
    file = directory.study
    if not directory.new_pool:
        return Pool.objects.get(slug=file.pool)
    pool = Pool(
        slug=file.pool,
        title=file.pool_title or f"Configurations measured before {file.title}",
        source_name=SOURCE,
        source_authors=file.people,
        source_licence=file.licence,
    )
    record(pool)
    return pool


def _study(directory: StudyDirectory, pool: Pool) -> Study:
    file = directory.study
    return Study(
        slug=file.slug,
        title=file.title,
        question=file.question,
        pool=pool,
        parent=Study.objects.get(slug=file.parent) if file.parent else None,
        source_name=SOURCE,
        source_authors=file.people,
        source_licence=file.licence,
    )


def _pool_rows(directory: StudyDirectory, pool: Pool) -> Iterator[LedgerRecord]:
    configurations = [Configuration(pool=pool, **row.record) for row in directory.pool_rows]
    yield from configurations
    for row, configuration in zip(directory.pool_rows, configurations, strict=True):
        yield PoolOutcome(configuration=configuration, **row.outcome)
    for model in directory.models:
        yield ModelArchitecture(pool=pool, **model.to_record())


def _plan(directory: StudyDirectory, study: Study) -> Iterator[LedgerRecord]:
    configurations = {
        row.settings.configuration_id: Configuration(study=study, **row.record) for row in directory.rows
    }
    yield from configurations.values()
    for slot in directory.slots:
        fields = slot.to_record()
        name = fields.pop("configuration")
        yield SeedSlot(study=study, configuration=configurations[str(name)], **fields)
