"""The one reader of JSON that comes from outside. It needs neither Django nor the rest of the site.

Two programs must not read one text differently, and what is read must be recordable on both database engines.
So these are refused: a key given twice in one object, NaN and infinities (also a number too large for a
float), whole numbers of hundreds of digits, deep nesting, and text that is not UTF-8.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

MAX_DEPTH = 100
"""Levels of objects and lists that are read where a caller asks for no other number."""
MAX_INTEGER_DIGITS = 300
_SPACE = " \t\r\n"


class JsonError(ValueError):
    """Text that is no strict JSON: where, what was found there, and what was expected."""

    def __init__(self, name: str, place: str, found: str, expected: str) -> None:
        self.name, self.place, self.found, self.expected = name, place, found, expected
        where = f"{name} {place}".strip()
        super().__init__(f"{where}{': ' if where else ''}{found}, expected {expected}")


def read_json(
    content: str | bytes, name: str = "", *, max_bytes: int | None = None, max_depth: int = MAX_DEPTH
) -> Any:
    """The one JSON value of a text, or of UTF-8 bytes with or without a byte order mark.

    ``name`` says in an error which text it was; ``max_bytes`` counts characters of a text.
    Raises ``JsonError``.
    """
    text = _text(content, name, max_bytes)
    reader = _StrictDecoder(name)
    start = _after_space(text, 0)
    value, end = reader.value(text, start)
    if (end := _after_space(text, end)) != len(text):
        raise JsonError(name, _place(text, end), "something behind the value", "one JSON value")
    reader.check_depth(value, max_depth)
    return value


def read_json_values(text: str, name: str, *, max_depth: int = MAX_DEPTH) -> Iterator[Any]:
    """Every JSON value of a text that holds several, one after the other. Raises ``JsonError``."""
    reader = _StrictDecoder(name)
    position = _after_space(text, 0)
    while position < len(text):
        value, position = reader.value(text, position)
        reader.check_depth(value, max_depth)
        yield value
        position = _after_space(text, position)


def too_deep(value: Any, levels: int) -> bool:
    """Whether ``value`` has more than ``levels`` levels of objects and lists."""
    if isinstance(value, dict):
        return levels == 0 or any(too_deep(item, levels - 1) for item in value.values())
    if isinstance(value, list):
        return levels == 0 or any(too_deep(item, levels - 1) for item in value)
    return False


def _text(content: str | bytes, name: str, max_bytes: int | None) -> str:
    if max_bytes is not None and len(content) > max_bytes:
        unit = "characters" if isinstance(content, str) else "bytes"
        raise JsonError(name, "", f"{len(content):,} {unit}", f"at most {max_bytes:,}")
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonError(name, f"byte {error.start}", "no UTF-8", "UTF-8 text") from None


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _place(text: str, position: int) -> str:
    before = text[:position]
    return f"line {before.count(chr(10)) + 1} column {position - before.rfind(chr(10))}"


class _StrictDecoder:
    """A decoder whose refusals name the text that is read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._once,
            parse_constant=self._no_constant,
            parse_float=self._finite,
            parse_int=self._integer,
        )

    def value(self, text: str, position: int) -> tuple[Any, int]:
        """The value that starts at ``position``, and where it ends."""
        try:
            return self._decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno} column {error.colno}"
            raise JsonError(self._name, place, f"not JSON ({error.msg})", "JSON") from None
        except RecursionError:
            self._too_deep(MAX_DEPTH)

    def check_depth(self, value: Any, levels: int) -> None:
        """Raise ``JsonError`` for a value of more than ``levels`` levels."""
        if too_deep(value, levels):
            self._too_deep(levels)

    def _too_deep(self, levels: int) -> NoReturn:
        self._refuse("objects and lists nested too deeply", f"at most {levels} levels")

    def _refuse(self, found: str, expected: str) -> NoReturn:
        raise JsonError(self._name, "", found, expected)

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                self._refuse(f"key {key[:80]!r} stands twice in one object", "once")
            found[key] = value
        return found

    def _no_constant(self, word: str) -> NoReturn:
        self._refuse(f"{word} is not a number", "a finite number or null")

    def _finite(self, word: str) -> float:
        number = float(word)
        if not math.isfinite(number):
            self._refuse(f"{word[:40]} is too large", "a finite number or null")
        return number

    def _integer(self, word: str) -> int:
        if len(word) > MAX_INTEGER_DIGITS:
            self._refuse(f"a number of {len(word)} digits", f"at most {MAX_INTEGER_DIGITS}")
        return int(word)
