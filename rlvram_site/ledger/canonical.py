"""One spelling for every recorded value, so that a digest means the same on both database engines."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import uuid
from decimal import Decimal
from functools import lru_cache
from typing import Any


def canonical(value: Any) -> Any:
    """``value`` in plain JSON types.

    Times become UTC with microseconds. Raises ``ValueError`` for what one of the two engines would refuse,
    round or forget: NaN and infinities, NUL characters, lone surrogates, object keys that are not text.
    """
    if isinstance(value, dict):
        return {_key(key): canonical(item) for key, item in value.items()}
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, int):  # bool is an int as well
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone and cannot be recorded")
        return value.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return hashlib.sha256(bytes(value)).hexdigest()
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    raise ValueError(f"{type(value).__name__} cannot be recorded: {value!r}")


def _number(value: float) -> int | float:
    """A whole float becomes an integer, since PostgreSQL's ``jsonb`` forgets which of the two it was given.

    It is the integer that the float is written as (1e23 is 10**23), because that is what ``jsonb`` keeps.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number and cannot be recorded")
    return int(Decimal(float.__repr__(value))) if value.is_integer() else value


def _text(value: str) -> str:
    if "\x00" in value:
        raise ValueError(f"text with a NUL character cannot be recorded: {value[:80]!r}")
    if value.isascii():
        return value
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"text with a lone surrogate cannot be recorded: {value[:80]!r}") from error
    return value


@lru_cache(maxsize=4096)  # the same few column names come again in every row
def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"object key {key!r} is {type(key).__name__}, expected text")
    return _text(key)


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys; non-ASCII text stays as it is."""
    return json.dumps(
        canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()
