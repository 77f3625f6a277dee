"""How a study is cited: BibTeX for a paper, CITATION.cff for a repository. Pure functions."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Citation:
    """``authors`` as the source joins them, by commas and "and"; ``sealed_on`` is the seal's day, UTC."""

    slug: str
    title: str
    authors: str
    source: str
    licence: str
    address: str
    sealed_on: dt.date | None
    head_sha256: str

    @property
    def names(self) -> list[str]:
        return [name for name in re.split(r",\s*(?:and\s+)?|\s+and\s+", self.authors) if name]

    @property
    def note(self) -> str:
        parts = [f"part of {self.source}"] if self.source else []
        parts.append(f"chain head {self.head_sha256}")
        return ", ".join(parts)

    def bibtex(self) -> str:
        fields = {
            "title": self.title,
            "author": " and ".join(self.names),
            "year": str(self.sealed_on.year) if self.sealed_on else "",
            "month": str(self.sealed_on.month) if self.sealed_on else "",
            "howpublished": f"\\url{{{self.address}}}",
            "note": self.note,
        }
        lines = [
            f"  {name} = {{{value if name == 'howpublished' else bib_text(value)}}},"
            for name, value in fields.items()
            if value
        ]
        return "\n".join([f"@misc{{{self.slug},", *lines, "}"]) + "\n"

    def cff(self) -> str:
        """Values are JSON strings, which YAML reads as they are."""
        lines = ["cff-version: 1.2.0", "message: Please cite this study as below.", "type: dataset"]
        lines.append(f"title: {json.dumps(self.title, ensure_ascii=False)}")
        lines.append("authors:")
        lines += [
            f"  - name: {json.dumps(name, ensure_ascii=False)}" for name in self.names or ["not stated"]
        ]
        if self.sealed_on:
            lines.append(f"date-released: {self.sealed_on.isoformat()}")
        if self.licence:
            lines.append(f"license: {json.dumps(self.licence, ensure_ascii=False)}")
        lines.append(f"url: {json.dumps(self.address, ensure_ascii=False)}")
        lines += [
            "identifiers:",
            "  - type: other",
            f"    value: {json.dumps(self.head_sha256)}",
            "    description: sha256 of the newest record of the study's chain",
        ]
        return "\n".join(lines) + "\n"


def bib_text(text: str) -> str:
    """``text`` between the braces of a BibTeX field."""
    for letter in ("\\", "{", "}"):
        text = text.replace(letter, "")
    return re.sub(r"([&%$#_])", r"\\\1", text)
