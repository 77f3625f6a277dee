"""How somebody wants to see a table: words in its rows, the column of their order, columns left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rlvram_site.tables.markup import Row, Table

_NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Arrangement:
    """Of one table. ``sort`` is a column's place from 1, negative for largest first, 0 for none."""

    words: str = ""
    sort: int = 0
    hidden: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.words or self.sort or self.hidden)


def asked(table: str, query: Mapping[str, str], hidden: list[str]) -> Arrangement:
    """From ``NAME.q``, ``NAME.sort`` and ``NAME.hide`` of an address; what is no number is not given."""
    sort = query.get(f"{table}.sort", "")
    return Arrangement(
        query.get(f"{table}.q", "").strip(),
        int(sort) if re.fullmatch(r"-?\d{1,3}", sort) else 0,
        frozenset(int(text) for text in hidden if re.fullmatch(r"\d{1,3}", text)),
    )


def is_asked(query: Mapping[str, str]) -> bool:
    """Whether the address arranges a table or asks for a file of one: then all its rows are wanted."""
    return any(re.search(r"\.(q|sort|as)$", name) and query[name] for name in query)


def arrange(table: Table, wanted: Arrangement) -> None:
    """Change ``table`` in place; only a regular one can be arranged."""
    if not table.is_regular:
        return
    if wanted.words:
        words = wanted.words.casefold().split()
        table.body = [row for row in table.body if _has(row, words)]
    width = len(table.names)
    if 0 < abs(wanted.sort) <= width:
        place = abs(wanted.sort) - 1
        filled = [row for row in table.body if row.cells[place].text not in ("", "–")]
        blank = [row for row in table.body if row.cells[place].text in ("", "–")]
        filled.sort(key=lambda row: sort_key(row.cells[place].text), reverse=wanted.sort < 0)
        table.body = filled + blank
    kept = [place for place in range(width) if place + 1 not in wanted.hidden or place == 0]
    if len(kept) < width:
        for row in (*table.head, *table.body, *table.foot):
            if len(row.cells) == width:
                row.cells = [row.cells[place] for place in kept]


def _has(row: Row, words: list[str]) -> bool:
    text = " ".join(cell.text for cell in row.cells).casefold()
    return all(word in text for word in words)


def sort_key(text: str) -> tuple[int, float, str]:
    """A number by its value, with its words behind it; everything else by its letters, after the numbers."""
    found = _NUMBER.match(text)
    if found and not _DATE.match(text):
        return (0, float(found[0].replace(",", "").replace("−", "-")), text[found.end() :].casefold())
    return (1, 0.0, text.casefold())
