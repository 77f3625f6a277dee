"""Exported files as JSON values.

``gh api --paginate`` prints one array after the other, ``--slurp`` an array of arrays, other tools one object
a line; all of them are sequences of JSON values separated by white space.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from typing import Any

from rlvram_site.strict_json import MAX_DEPTH, JsonError, read_json_values

MAX_BYTES = 256 * 1024 * 1024
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class ExportError(ValueError):
    """An exported file that cannot be read; the text names the file, the place and what was expected."""


def decode(data: bytes, name: str) -> str:
    """UTF-8 with or without a byte order mark, or UTF-16 with one (PowerShell writes that)."""
    if len(data) > MAX_BYTES:
        raise ExportError(f"{name} has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ExportError(
            f"{name} is not {encoding.removesuffix('-sig').upper()} text: byte {error.start} is no character"
        ) from None


def values(text: str, name: str) -> list[Any]:
    """Every JSON value in ``text``, in order. Raises ``ExportError`` with line and column."""
    try:
        found = list(read_json_values(text, name))
    except JsonError as error:
        raise ExportError(f"{error}, as 'gh api' prints it") from None
    if not found:
        raise ExportError(f"{name} is empty; expected what 'gh api' prints")
    return found


def pages(found: list[Any]) -> Iterator[Any]:
    """The items of several pages: arrays are opened (also an array of arrays), other values stay."""
    for value in found:
        if isinstance(value, list):
            yield from pages(value)
        else:
            yield value


def storable(value: Any, name: str, depth: int = 0) -> Any:
    """``value`` as both database engines can hold it.

    U+0000 and halves of surrogate pairs, which PostgreSQL refuses, become U+FFFD.
    Raises ``ExportError`` for numbers outside the range of a double and for deep nesting.
    """
    if depth > MAX_DEPTH:
        raise ExportError(f"{name}: values are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ExportError(f"{name}: a number is too large to be held")
    if isinstance(value, list):
        return [storable(item, name, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean(key): storable(item, name, depth + 1) for key, item in value.items()}
    return value


def clean(text: str) -> str:
    """``text`` without U+0000 and lone surrogates."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
