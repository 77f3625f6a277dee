"""Compare two JSON trees: words, ids and counts exactly, measured numbers within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

RTOL = 1e-9
ATOL = 1e-6


@dataclass(frozen=True)
class Mismatch:
    """One place where the trees differ: its path, both values, and what is wrong."""

    path: str
    expected: object
    found: object
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; expected {self.expected!r}, found {self.found!r}"


@dataclass
class Comparison:
    """Result of a comparison.

    Attributes:
        mismatches: every difference that the tolerance doesn't cover.
        compared: leaves compared.
        largest_deviation: largest absolute difference of two numbers, covered or not.
        largest_deviation_path: where that is; None when no two numbers differ.
    """

    mismatches: list[Mismatch] = field(default_factory=list)
    compared: int = 0
    largest_deviation: float = 0.0
    largest_deviation_path: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the trees agree. Comparing nothing is not agreement."""
        return not self.mismatches and self.compared > 0


def compare(
    expected: object,
    found: object,
    rtol: float = RTOL,
    atol: float = ATOL,
    ignore: Collection[str] = (),
) -> Comparison:
    """Walk both trees and report every difference by its path.

    Two numbers agree when |found − expected| ≤ atol + rtol · |expected|, if at least one of them is a
    float; two whole numbers, texts, booleans and nulls must be equal. A whole number and a float of the same
    value agree. Null and zero don't, and neither do true and 1. Not-a-number agrees with nothing.

    Args:
        expected, found: trees of dicts, lists and JSON values.
        rtol, atol: tolerance for floats.
        ignore: keys left out wherever they stand, on either side.
    """
    result = Comparison()
    _walk(expected, found, "$", result, rtol, atol, frozenset(ignore))
    return result


def _walk(
    expected: object,
    found: object,
    path: str,
    result: Comparison,
    rtol: float,
    atol: float,
    ignore: frozenset[str],
) -> None:
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found} - ignore, key=str):
            here = f"{path}.{key}"
            if key not in found:
                result.mismatches.append(Mismatch(here, expected[key], None, "missing"))
            elif key not in expected:
                result.mismatches.append(Mismatch(here, None, found[key], "not expected"))
            else:
                _walk(expected[key], found[key], here, result, rtol, atol, ignore)
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        if len(expected) != len(found):
            result.mismatches.append(Mismatch(path, len(expected), len(found), "another length"))
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            _walk(one, other, f"{path}[{index}]", result, rtol, atol, ignore)
    else:
        result.compared += 1
        _compare_leaf(expected, found, path, result, rtol, atol)


def _compare_leaf(
    expected: object, found: object, path: str, result: Comparison, rtol: float, atol: float
) -> None:
    if not (_is_number(expected) and _is_number(found)):
        if type(expected) is not type(found) or expected != found:
            result.mismatches.append(Mismatch(path, expected, found, "not equal"))
        return
    assert isinstance(expected, int | float)
    assert isinstance(found, int | float)
    exact = isinstance(expected, int) and isinstance(found, int)
    try:
        deviation = float(abs(found - expected))
    except OverflowError:
        deviation = math.inf
    if math.isnan(deviation):
        result.mismatches.append(Mismatch(path, expected, found, "not a number"))
        return
    if deviation > result.largest_deviation:
        result.largest_deviation, result.largest_deviation_path = deviation, path
    if exact:
        agrees = expected == found
    else:
        agrees = math.isfinite(deviation) and deviation <= atol + rtol * abs(expected)
    if not agrees:
        result.mismatches.append(Mismatch(path, expected, found, f"deviates by {deviation:.3g}"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
