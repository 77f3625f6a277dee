"""Strict reading of single values: from CSV text and from typed JSON. Blank is never a default."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeGuard

from studies.estimation.errors import EstimationError

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS = {"True": True, "False": False}


def is_finite_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a number that a float can hold; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def text_in(row: Mapping[str, object], field: str, offender: str) -> str:
    """A text that is not blank."""
    value = _present(row, field, offender, "a text that is not blank")
    if not isinstance(value, str) or not value.strip():
        raise EstimationError(offender, field, value, "a text that is not blank")
    return value


def whole_in(row: Mapping[str, str], field: str, offender: str) -> int:
    """A whole number in plain decimal digits, at most 18 of them."""
    value = _present(row, field, offender, "a whole number")
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise EstimationError(offender, field, value, "a whole number")
    return int(value)


def number_in(row: Mapping[str, str], field: str, offender: str) -> float:
    """A finite decimal number."""
    value = _present(row, field, offender, "a finite number")
    try:
        number = float(value) if isinstance(value, str) and value == value.strip() else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in str(value):
        raise EstimationError(offender, field, value, "a finite number")
    return number


def boolean_in(row: Mapping[str, str], field: str, offender: str) -> bool:
    """Exactly `True` or `False`; a blank is an error, because both answers change the volumes."""
    value = _present(row, field, offender, "True or False")
    if not isinstance(value, str) or value not in _BOOLEANS:
        raise EstimationError(offender, field, value, "True or False")
    return _BOOLEANS[value]


def require_whole(value: object, offender: str, field: str, at_least: int | None = None) -> int:
    """`value` as a typed whole number; a boolean is not one."""
    expected = "a whole number" if at_least is None else f"a whole number of at least {at_least}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise EstimationError(offender, field, value, expected)
    if at_least is not None and value < at_least:
        raise EstimationError(offender, field, value, expected)
    return value


def require_number(value: object, offender: str, field: str) -> float:
    """`value` as a typed finite number; a boolean is not one."""
    if not is_finite_number(value):
        raise EstimationError(offender, field, value, "a finite number")
    return float(value)


def require_boolean(value: object, offender: str, field: str) -> bool:
    """`value` as a typed boolean."""
    if not isinstance(value, bool):
        raise EstimationError(offender, field, value, "true or false")
    return value


def require_text(value: object, offender: str, field: str) -> str:
    """`value` as a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise EstimationError(offender, field, value, "a text that is not blank")
    return value


def _present(row: Mapping[str, object], field: str, offender: str, expected: str) -> object:
    if field not in row:
        raise EstimationError(offender, field, None, expected + " (the column is missing)")
    return row[field]
