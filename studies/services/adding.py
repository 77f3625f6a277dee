"""Adding rows to a study, all or none. The same again is found, other content under a key is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import models, transaction

from rlvram_site.ledger.canonical import canonical
from rlvram_site.ledger.chain import lock_stream, record_all
from studies.services.errors import UploadConflict, UploadProblem


def add_or_find(
    stream: str,
    wanted: Sequence[Any],
    key: str,
    recorded: models.QuerySet,
    allowed: Callable[[], None] = lambda: None,
) -> list[tuple[Any, bool]]:
    """Record the rows of ``wanted`` that are new; each comes back with whether it is.

    ``key`` is the attribute by which a row is found among ``recorded``. ``allowed`` is asked, once the stream
    is held, before anything new is recorded. Raises ``UploadConflict``, or whatever ``allowed`` raises.
    """
    with transaction.atomic():
        lock_stream(stream)
        names = [getattr(row, key) for row in wanted]
        have = {getattr(row, key): row for row in recorded.filter(**{f"{key}__in": names})}
        problems: list[UploadProblem] = []
        fresh: list[Any] = []
        result: list[tuple[Any, bool]] = []
        for index, row in enumerate(wanted):
            name = getattr(row, key)
            earlier = have.get(name)
            if earlier is None:
                have[name] = row
                fresh.append(row)
                result.append((row, True))
                continue
            if _content(earlier) != _content(row):
                problems.append(
                    UploadProblem(
                        index, key, f"{name!r} is already recorded with other content; nothing was changed"
                    )
                )
            result.append((earlier, False))
        if problems:
            raise UploadConflict(problems)
        if fresh:
            allowed()
            record_all(fresh)
        return result


def _content(row: models.Model) -> dict[str, Any]:
    return {field.attname: canonical(field.to_python(getattr(row, field.attname))) for field in _columns(row)}


def _columns(row: models.Model) -> Iterable[models.Field]:
    return (field for field in row._meta.concrete_fields if field.name not in ("id", "recorded_at"))
