"""What files of recorded rows have in common: format and version, the digest, and the types of their values.

Each kind of file has a form of its own (``studies.archive.bundle``, ``admission.services.exchange``); what is
asked of any of them before a row is made stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from django.db import models

from rlvram_site.ledger.canonical import digest

_Item = TypeVar("_Item")


class ExchangeError(ValueError):
    """A file that is not what it should be; the text names the file, what it says and what was expected."""


def check_form(document: Any, name: str, *, form: str, version: int) -> dict[str, Any]:
    """``document`` as an object of this format and version. Raises ``ExchangeError``."""
    if not isinstance(document, dict):
        raise ExchangeError(f"{name}: is {type(document).__name__}, expected one JSON object")
    if document.get("format") != form:
        raise ExchangeError(f'{name}: format is {document.get("format")!r:.60}, expected "{form}"')
    found = document.get("version")
    if type(found) is not int or found != version:
        raise ExchangeError(f"{name}: version is {found!r:.60}; this site reads {version}")
    return document


def check_digest(content: Any, stated: object, name: str) -> None:
    """Raise ``ExchangeError`` unless ``stated`` is the digest of ``content``."""
    try:
        computed = digest(content)
    except ValueError as error:
        raise ExchangeError(f"{name}: {error}") from None
    if stated != computed:
        raise ExchangeError(f"{name}: sha256 is {stated!r:.80}, the content's is {computed}: it was changed")


def type_problem(column: models.Field, value: Any) -> str:
    """What a column's value must be in a file, if this one is of another JSON type; else empty.

    Django would quietly convert some: 7 to a text, true to a number, "1" to a whole number.
    """
    if value is None:
        return "" if column.null else "a value"
    kinds, words = _json_types(column)
    return "" if not kinds or type(value) in kinds else words


def _json_types(column: models.Field) -> tuple[tuple[type, ...], str]:
    if isinstance(column, models.CharField | models.TextField):
        return (str,), "text"
    if isinstance(column, models.DateField):
        return (str,), "a day or time as text"
    if isinstance(column, models.BooleanField):
        return (bool,), "true or false"
    if isinstance(column, models.IntegerField):
        return (int,), "a whole number"
    if isinstance(column, models.FloatField):
        return (int, float), "a number"
    return (), ""


def stretches(items: Iterable[_Item], cut: Callable[[_Item, _Item], bool]) -> Iterator[list[_Item]]:
    """Items that can be recorded at once: a new stretch begins where ``cut(previous, item)`` holds."""
    run: list[_Item] = []
    for item in items:
        if run and cut(run[-1], item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run
