"""One reading of ``as_of``, for every page, table and address that takes it.

A day alone means its end in UTC; a time means that moment, in UTC unless it names another offset.
"""

from __future__ import annotations

import datetime as dt
import re

FIRST_YEAR, LAST_YEAR = 1970, 2199
EXPECTED = (
    "expected a day such as 2026-09-17, which means its end in UTC, "
    f"or a time such as 2026-09-17T14:30:00Z, from {FIRST_YEAR} to {LAST_YEAR}"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?",
    re.ASCII | re.IGNORECASE,
)


class AsOfError(ValueError):
    """Something given as ``as_of`` that is neither a day nor a time; says what was expected."""


def parse_as_of(text: str | None) -> dt.datetime | None:
    """The moment that ``text`` means, in UTC; None for nothing, which means now. Raises ``AsOfError``."""
    given = (text or "").strip()
    if not given:
        return None
    try:
        if _DAY.fullmatch(given):
            moment = end_of_day(dt.date.fromisoformat(given))
        elif _TIME.fullmatch(given):
            plain = re.sub(r"\s?(?:UTC|Z)$", "+00:00", given.upper())
            moment = dt.datetime.fromisoformat(plain)
            moment = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
        else:
            raise ValueError(given)
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise ValueError(given)
    except (ValueError, OverflowError):
        shown = given if len(given) <= 60 else f"{given[:60]}…"
        raise AsOfError(f"as_of is “{shown}”, {EXPECTED}") from None
    return moment


def end_of_day(day: dt.date) -> dt.datetime:
    """The last microsecond of ``day`` in UTC."""
    return dt.datetime.combine(day, dt.time.max, dt.UTC)


def moment_of(as_of: dt.date | dt.datetime | None) -> dt.datetime | None:
    """``as_of`` as a moment: a bare day is its end."""
    if as_of is None or isinstance(as_of, dt.datetime):
        return as_of
    return end_of_day(as_of)


def is_end_of_day(moment: dt.datetime) -> bool:
    """Whether a moment was given as a bare day."""
    return moment.time() == dt.time.max


def as_of_text(moment: dt.datetime | None) -> str:
    """The shortest ``as_of`` that means ``moment``; empty for now."""
    if moment is None:
        return ""
    if is_end_of_day(moment):
        return moment.date().isoformat()
    return moment.replace(tzinfo=None).isoformat() + "Z"
