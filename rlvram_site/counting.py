"""How a number of things is written, in one place: ``six configurations``, ``one slot``, ``1,024 files``."""

from __future__ import annotations

_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip

_IRREGULAR = {
    "query": "queries",
    "entry": "entries",
    "family": "families",
    "history": "histories",
    "branch": "branches",
}


def plural(singular: str) -> str:
    """The plural of a noun, or of the last word of several."""
    *before, last = singular.split(" ")
    return " ".join([*before, _IRREGULAR.get(last, f"{last}s")])


def count_word(number: int) -> str:
    """``six`` up to twelve, digits with thousands separators beyond; zero is ``no``."""
    return _NUMBERS[number] if 0 <= number < len(_NUMBERS) else f"{number:,}"


def counted(number: int, singular: str, several: str = "") -> str:
    """``six configurations``, ``one configuration``, ``no configurations``: for a sentence."""
    return f"{count_word(number)} {singular if number == 1 else several or plural(singular)}"


def figures(number: int, singular: str, several: str = "") -> str:
    """``6 configurations``, ``1 configuration``, ``0 configurations``: beside other figures."""
    return f"{number:,} {singular if number == 1 else several or plural(singular)}"
