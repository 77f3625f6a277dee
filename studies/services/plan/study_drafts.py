"""Studies in writing: whose they are, their files, what is missing, and turning one into a recorded study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from rlvram_site.access import is_staff
from studies.directory import study_file
from studies.directory.files import MAX_BYTES, MAX_FILES, belongs
from studies.directory.problems import Problem, Problems
from studies.directory.reading import StudyDirectory
from studies.directory.yaml_file import read_yaml
from studies.models import DraftFile, Study, StudyDraft
from studies.services.errors import ServiceError
from studies.services.plan import creating

EXAMPLE = Path(__file__).resolve().parents[2] / "samples" / "new-study"
MOST_DRAFTS = 50
"""Drafts of one person that are not recorded yet."""


class DraftChanged(ServiceError):
    """Somebody saved the draft since it was read; nothing of this change was kept."""


def visible_to(user: Any) -> QuerySet[StudyDraft]:
    """The drafts that somebody sees: the own ones, and for staff every one."""
    drafts = StudyDraft.objects.select_related("owner", "study")
    return drafts if is_staff(user) else drafts.filter(owner=user.pk)


def example_files() -> dict[str, bytes]:
    """The commented example that ``new_study`` writes."""
    found = {path.relative_to(EXAMPLE).as_posix(): path for path in sorted(EXAMPLE.rglob("*"))}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file() and belongs(name)}


def begin(owner: Any, files: Mapping[str, bytes]) -> StudyDraft:
    """A new draft with these files. Raises ``ServiceError`` if the person has too many already."""
    with transaction.atomic():
        if StudyDraft.objects.filter(owner=owner, study=None).count() >= MOST_DRAFTS:
            raise ServiceError(f"you have {MOST_DRAFTS} drafts; throw one away first")
        draft = StudyDraft(owner=owner)
        draft.save()
        _put(draft, files)
    return draft


def save_files(draft: StudyDraft, version: int, files: Mapping[str, bytes | None]) -> None:
    """Put files into the draft; None takes one away. ``version`` is that of the draft when it was read.

    Raises ``DraftChanged``, or ``ServiceError`` for a path that no folder has, too many files, too many
    bytes, or a draft that was recorded.
    """
    for path in files:
        if not belongs(path):
            raise ServiceError(f"{path[:100]!r} is no file of a study's folder")
    with transaction.atomic():
        changed = StudyDraft.objects.filter(pk=draft.pk, version=version, study=None).update(
            version=F("version") + 1
        )
        if not changed:
            draft.refresh_from_db()
            if draft.study_id is not None:
                raise ServiceError("this draft was recorded as a study, so it changes no more")
            raise DraftChanged("somebody saved this draft since you opened it; look at it again")
        DraftFile.objects.filter(draft=draft, path__in=list(files)).delete()
        _put(draft, {path: content for path, content in files.items() if content is not None})


def _put(draft: StudyDraft, files: Mapping[str, bytes]) -> None:
    DraftFile.objects.bulk_create(
        DraftFile(draft=draft, path=path, content=content) for path, content in files.items()
    )
    rows = draft.files.all()
    if len(rows) > MAX_FILES or sum(len(row.content) for row in rows) > MAX_BYTES:
        raise ServiceError(f"a draft has at most {MAX_FILES} files of {MAX_BYTES:,} bytes together")
    draft.refresh_from_db()
    draft.title, draft.changed_at = _title(draft), timezone.now()
    draft.save(update_fields=["title", "changed_at"])


def files_of(draft: StudyDraft) -> dict[str, bytes]:
    """The draft's files by path."""
    return {row.path: bytes(row.content) for row in draft.files.all()}


def _title(draft: StudyDraft) -> str:
    files = files_of(draft)
    if study_file.NAME not in files:
        return ""
    with creating.as_folder({study_file.NAME: files[study_file.NAME]}) as folder:
        title = read_yaml(folder, study_file.NAME, Problems()).values.get("title")
    return title.replace("\x00", "")[:200] if isinstance(title, str) else ""


def check(draft: StudyDraft) -> tuple[StudyDirectory | None, list[Problem]]:
    """What the draft would record, or every problem: the same that a folder is asked."""
    with creating.as_folder(files_of(draft)) as folder:
        return creating.check(folder)


def freeze(draft: StudyDraft, version: int) -> Study:
    """Record the draft's study and freeze its protocol now.

    Raises ``FolderRefused`` with every problem, ``DraftChanged``, or ``ServiceError`` for one that was
    recorded before.
    """
    with transaction.atomic():
        held = StudyDraft.objects.select_for_update().get(pk=draft.pk)
        if held.study_id is not None:
            raise ServiceError("this draft was recorded already")
        if held.version != version:
            raise DraftChanged("somebody saved this draft since you opened it; look at it again")
        with creating.as_folder(files_of(held)) as folder:
            study = creating.create(folder)
        held.study, held.changed_at = study, timezone.now()
        held.save(update_fields=["study", "changed_at"])
    return study
