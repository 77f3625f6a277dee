"""One spelling for every recorded value, so that a digest means the same on both database engines."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import uuid
from decimal import Decimal
from typing import Any


def canonical(value: Any) -> Any:
    """``value`` in plain JSON types.

    Times become UTC with microseconds; a whole float becomes an integer, because PostgreSQL's ``jsonb``
    does not remember which of the two it was given. Raises ``ValueError`` for NaN and infinities.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is not a finite number and cannot be recorded")
        return int(value) if value.is_integer() else value
    if value is None or isinstance(value, str | bool | int):
        return value
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
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    raise ValueError(f"{type(value).__name__} cannot be recorded: {value!r}")


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys; non-ASCII text stays as it is."""
    return json.dumps(
        canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
