"""When something was said, no more precisely than it was said.

A statement may give an instant, a minute in some zone, a part of a day ("late evening Mountain") or only a
day. Each becomes an interval; statements sort by the middle of theirs, so that a bare day neither jumps ahead
of nor falls behind everything that happened on it.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

# Nothing on an issue tracker lies outside, and nothing inside overflows once a zone is applied.
FIRST_YEAR, LAST_YEAR = 1970, 9000


class Precision(StrEnum):
    """How much of a time was given."""

    INSTANT = "instant"
    MINUTE = "minute"
    PART_OF_DAY = "part_of_day"
    DAY = "day"
    UNKNOWN = "unknown"


ZONES = {
    "utc": "UTC", "gmt": "UTC", "z": "UTC",
    "mountain": "America/Denver", "mt": "America/Denver", "mst": "America/Denver", "mdt": "America/Denver",
    "pacific": "America/Los_Angeles", "pt": "America/Los_Angeles", "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "central": "America/Chicago", "ct": "America/Chicago", "cst": "America/Chicago", "cdt": "America/Chicago",
    "eastern": "America/New_York", "et": "America/New_York", "est": "America/New_York",
    "edt": "America/New_York",
    "cet": "Europe/Berlin", "cest": "Europe/Berlin",
}  # fmt: skip

# Hours of the local day; 24 is the midnight that ends it. Longer names first, so that they are found first.
PARTS_OF_DAY = {
    "early morning": (5, 8), "late morning": (10, 12), "morning": (6, 12),
    "early afternoon": (12, 15), "late afternoon": (15, 18), "afternoon": (12, 18),
    "early evening": (17, 20), "late evening": (21, 24), "evening": (18, 22),
    "midday": (11, 14), "noon": (11, 13), "late night": (22, 24), "night": (20, 24),
}  # fmt: skip

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
DAY = re.compile(
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})"
    rf"|(?P<month>{MONTH})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>\d{{4}})\b)?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month2>{MONTH})(?:,?\s+(?P<year2>\d{{4}})\b)?",
    re.IGNORECASE,
)
_ZONE = r"(?P<zone>" + "|".join(sorted(ZONES, key=len, reverse=True)) + r")\b(?:\s+time)?"
CLOCK = re.compile(
    rf"[T,\s]*(?:at\s+)?(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?:\.\d+)?)?"
    rf"\s*(?P<half>[ap]\.?m\b\.?)?\s*(?:{_ZONE}|(?P<offset>[+-]\d{{2}}:?\d{{2}}))?",
    re.IGNORECASE,
)
PART = re.compile(
    rf"[,\s]*(?:in the\s+)?(?P<part>{'|'.join(PARTS_OF_DAY)})\b(?:[,\s]+{_ZONE})?", re.IGNORECASE
)


@dataclass(frozen=True)
class StatedTime:
    """A time as stated: the words, their precision, the calendar day they name and the interval they allow.

    ``earliest`` and ``latest`` are UTC and bound a half-open interval; for an instant they are equal.
    """

    words: str
    precision: Precision
    day: dt.date
    earliest: dt.datetime
    latest: dt.datetime

    @property
    def last(self) -> dt.datetime:
        """The last moment that the words allow."""
        return self.latest if self.earliest == self.latest else self.latest - dt.timedelta(microseconds=1)

    @property
    def sort_at(self) -> dt.datetime:
        """Middle of the interval."""
        return self.earliest + (self.latest - self.earliest) / 2


def on_day(day: dt.date, words: str = "") -> StatedTime:
    """A bare day. No zone is known, so it is read as the UTC day."""
    start = dt.datetime.combine(day, dt.time(), dt.UTC)
    return StatedTime(words or day.isoformat(), Precision.DAY, day, start, start + dt.timedelta(days=1))


def at_instant(moment: dt.datetime, words: str = "") -> StatedTime:
    """An instant with its zone. Raises ``ValueError`` for a time without one."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    utc = moment.astimezone(dt.UTC)
    return StatedTime(words or f"{utc:%Y-%m-%dT%H:%M:%SZ}", Precision.INSTANT, utc.date(), utc, utc)


def unknown(near: StatedTime) -> StatedTime:
    """No time was given; the statement keeps its place beside ``near``."""
    return StatedTime("", Precision.UNKNOWN, near.day, near.earliest, near.latest)


def parse_instant(text: str) -> StatedTime:
    """GitHub's ``2026-09-07T14:03:11Z``. Raises ``ValueError`` that shows the text."""
    try:
        stated = at_instant(dt.datetime.fromisoformat(text), text)
        if not FIRST_YEAR <= stated.day.year <= LAST_YEAR:
            raise ValueError(text)
        return stated
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:60]!r} is not a time such as 2026-09-07T14:03:11Z") from None


def _calendar_day(match: re.Match[str], reference: dt.date) -> dt.date | None:
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
    else:
        month_word = (match["month"] or match["month2"]).lower().rstrip(".")
        month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month_word[:3]))
        day = int(match["day"] or match["day2"])
        given = match["year"] or match["year2"]
        year = int(given) if given else reference.year
        # A day without its year is the last such day that the reference allows (one day for time zones).
        if not given and (month, day) > ((late := reference + dt.timedelta(days=1)).month, late.day):
            year -= 1
        parts = [year, month, day]
    try:
        found = dt.date(*parts)
    except ValueError:
        return None
    return found if FIRST_YEAR <= found.year <= LAST_YEAR else None


def find(text: str, reference: dt.date) -> tuple[StatedTime, int, int] | None:
    """The first time stated in ``text`` with where it starts and ends, or None.

    ``reference`` is a day on which the text is known to have existed; it gives a missing year.
    """
    for match in DAY.finditer(text):
        day = _calendar_day(match, reference)
        if day is not None:
            return _with_hours(text, match, day)
    return None


def parse(text: str, reference: dt.date) -> StatedTime:
    """A whole field as a stated time. Raises ``ValueError`` that says what is understood."""
    stripped = text.strip()
    found = find(stripped, reference)
    if found is None or found[1] != 0 or found[2] != len(stripped):
        raise ValueError(
            f"{stripped[:60]!r} is not understood as a time; write for example 2026-09-18, "
            "September 18, 2026, 2026-09-18 14:03 UTC, or September 18, 2026, late evening Mountain"
        )
    return found[0]


def _with_hours(text: str, match: re.Match[str], day: dt.date) -> tuple[StatedTime, int, int]:
    start = match.start()
    clock = CLOCK.match(text, match.end())
    if clock and (hours := _clock(clock)) is not None:
        end = clock.end() - (len(clock[0]) - len(clock[0].rstrip()))
        zone = _zone(clock)
        if zone is not None:
            return _at_clock(text[start:end], day, hours, zone, seconds=bool(clock["second"])), start, end
        # A clock time without a zone says no more than the day does, but the words are kept.
        return on_day(day, text[start:end]), start, end
    part = PART.match(text, match.end())
    if part and part["zone"]:
        first, last = PARTS_OF_DAY[part["part"].lower()]
        zone = ZoneInfo(ZONES[part["zone"].lower()])
        midnight = dt.datetime.combine(day, dt.time(), zone)
        words = text[start : part.end()]
        span = (_local(midnight, first), _local(midnight, last))
        return StatedTime(words, Precision.PART_OF_DAY, day, *span), start, part.end()
    end = part.end() if part else match.end()
    return on_day(day, text[start:end]), start, end


def _local(midnight: dt.datetime, hour: int) -> dt.datetime:
    """``hour`` o'clock of the wall clock on midnight's day, in UTC (24: the next midnight)."""
    return (midnight + dt.timedelta(hours=hour)).astimezone(dt.UTC)


def _clock(clock: re.Match[str]) -> dt.time | None:
    hour, minute, second = int(clock["hour"]), int(clock["minute"]), int(clock["second"] or 0)
    if clock["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if clock["half"].lower().startswith("p") else 0)
    try:
        return dt.time(hour, minute, second)
    except ValueError:
        return None


def _zone(clock: re.Match[str]) -> dt.tzinfo | None:
    if clock["zone"]:
        return ZoneInfo(ZONES[clock["zone"].lower()])
    if clock["offset"]:
        sign = -1 if clock["offset"][0] == "-" else 1
        digits = clock["offset"][1:].replace(":", "")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        return dt.timezone(sign * dt.timedelta(minutes=minutes)) if minutes < 24 * 60 else None
    return None


def _at_clock(words: str, day: dt.date, clock: dt.time, zone: dt.tzinfo, *, seconds: bool) -> StatedTime:
    moment = dt.datetime.combine(day, clock, zone).astimezone(dt.UTC)
    if seconds:
        return StatedTime(words, Precision.INSTANT, day, moment, moment)
    return StatedTime(words, Precision.MINUTE, day, moment, moment + dt.timedelta(minutes=1))
