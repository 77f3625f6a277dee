"""A table of a page as rows of cells, read from the markup that our own templates write, and written again.

Templates escape ``>`` and quotes in values, so tags can be told apart without a parser of broken HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_PART = re.compile(r"<(/?)(caption|thead|tbody|tfoot|tr|th|td)\b((?:[^>\"]|\"[^\"]*\")*)>")
_HIDDEN = re.compile(
    r'<span class="(?:visually-hidden|glyph)"[^>]*>.*?</span>|<(svg|script)\b.*?</\1>', re.DOTALL
)
_MARK = re.compile(
    r'<span class="[^"]*\bcell\b[^"]*"[^>]*>.*?<span class="visually-hidden">(.*?)</span></span>', re.DOTALL
)
_HASH = re.compile(r'<button\b[^>]*\bdata-copy="([^"]*)"[^>]*>.*?</button>', re.DOTALL)
_BREAK = re.compile(r"<(?:br|/li|/p|/dd|/dt|/div)\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")
_SPAN = re.compile(r'\b(col|row)span="?(\d+)')

HALF = 44
"""Letters of a cell that half a phone's width holds in few lines."""


def plain(markup: str) -> str:
    """What a cell says, on one line: hashes whole, marks as their words, line breaks as semicolons."""
    text = _MARK.sub(r"\1", markup)
    text = _HASH.sub(r"\1", text)
    text = _BREAK.sub("; ", _HIDDEN.sub("", text))
    text = " ".join(html.unescape(_TAG.sub("", text)).split())
    return re.sub(r"(?: ?; ?)+", "; ", text).strip("; ")


@dataclass
class Cell:
    """One cell: its tag, the attributes as written, what stands in it."""

    tag: str
    attributes: str
    inner: str

    @property
    def text(self) -> str:
        return plain(self.inner)

    @property
    def columns(self) -> int:
        return self._span("col")

    @property
    def rows(self) -> int:
        return self._span("row")

    @property
    def is_number(self) -> bool:
        return bool(re.search(r'\bclass="[^"]*\bnumber\b', self.attributes))

    def _span(self, way: str) -> int:
        return next((int(found[2]) for found in _SPAN.finditer(self.attributes) if found[1] == way), 1)

    def markup(self, label: str = "", *, wide: bool = False) -> str:
        said = f' data-label="{html.escape(label)}"' if label else ""
        said += " data-wide" if wide else ""
        return f"<{self.tag}{self.attributes}{said}>{self.inner}</{self.tag}>"


@dataclass
class Row:
    attributes: str
    cells: list[Cell] = field(default_factory=list)


@dataclass
class Table:
    """``attributes`` are the table's own; rows of head, body and foot in order. All bodies are one."""

    attributes: str
    caption: str = ""
    body_attributes: str = ""
    head: list[Row] = field(default_factory=list)
    body: list[Row] = field(default_factory=list)
    foot: list[Row] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """One name for each column, from the last row of the head whose cells are one column wide."""
        for row in reversed(self.head):
            if all(cell.columns == 1 for cell in row.cells):
                return [cell.text for cell in row.cells]
        return [cell.text for row in self.head[-1:] for cell in row.cells for _ in range(cell.columns)]

    @property
    def is_regular(self) -> bool:
        """Whether each row stands for itself and has every column, so that rows can be sorted or left out."""
        width = len(self.names)
        return (
            len(self.head) == 1
            and width > 1
            and all(len(row.cells) == width for row in self.body)
            and all(cell.columns == cell.rows == 1 for row in (*self.head, *self.body) for cell in row.cells)
        )

    def labelled(self) -> Iterator[list[tuple[Cell, str]]]:
        """Cells of the body with their column's name; none for a row's head or a cell of several columns."""
        names = self.names
        taken: dict[int, int] = {}
        for row in self.body:
            line, place = [], 0
            for cell in row.cells:
                while taken.get(place, 0) > 0:
                    taken[place] -= 1
                    place += 1
                named = cell.tag == "td" and cell.columns == 1 and place < len(names)
                line.append((cell, names[place] if named else ""))
                for column in range(place, place + cell.columns):
                    taken[column] = cell.rows - 1
                place += cell.columns
            yield line

    def markup(self) -> str:
        parts = [f"<table{self.attributes}>"]
        if self.caption:
            parts.append(f"<caption>{self.caption}</caption>")
        parts += _section("thead", "", [(row, [cell.markup() for cell in row.cells]) for row in self.head])
        lines = [
            [cell.markup(label, wide=bool(label) and len(cell.text) > HALF) for cell, label in line]
            for line in self.labelled()
        ]
        parts += _section("tbody", self.body_attributes, list(zip(self.body, lines, strict=True)))
        parts += _section("tfoot", "", [(row, [cell.markup() for cell in row.cells]) for row in self.foot])
        return "".join([*parts, "</table>"])


def _section(tag: str, attributes: str, rows: list[tuple[Row, list[str]]]) -> list[str]:
    if not rows:
        return []
    lines = [f"<tr{row.attributes}>{''.join(cells)}</tr>\n" for row, cells in rows]
    return [f"<{tag}{attributes}>", *lines, f"</{tag}>"]


def read(attributes: str, inner: str) -> Table | None:
    """The table between ``<table …>`` and ``</table>``; None where it has no head to name its columns."""
    table = Table(attributes)
    section, start = table.body, 0
    cell: Cell | None = None
    for tag in _PART.finditer(inner):
        closing, name, attributes = tag[1] == "/", tag[2], tag[3]
        if name == "caption":
            table.caption = inner[start : tag.start()] if closing else ""
            start = tag.end()
        elif name in ("thead", "tbody", "tfoot"):
            section = {"thead": table.head, "tbody": table.body, "tfoot": table.foot}[name]
            if name == "tbody" and not closing and attributes:
                table.body_attributes = attributes
        elif name == "tr":
            if not closing:
                section.append(Row(attributes))
        elif not closing:
            cell, start = Cell(name, attributes, ""), tag.end()
        elif cell is not None and section:
            cell.inner = inner[start : tag.start()]
            section[-1].cells.append(cell)
            cell = None
    return table if table.head else None
