"""The documentation inside the site, in the version that runs: ``docs/*.md`` as pages under ``/docs/``."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

START = "index"
GLOSSARY = "glossary"
_PAGE = re.compile(r"^([a-z0-9-]+)\.md(#.*)?$")


@dataclass(frozen=True)
class ManualPage:
    """One page: its title and the rest as HTML. The text is this product's own, so it is trusted."""

    title: str
    body: SafeString


def page(request: HttpRequest, name: str = START) -> HttpResponse:
    if name not in _names():
        raise Http404(f"The documentation has no page {name!r}")
    return render(request, "manual.html", {"page": _page(name), "is_start": name == START})


def ready_file(request: HttpRequest, name: str) -> HttpResponse:
    """One of the files that are ready to be copied, as text."""
    files = {path.name: path for path in (_folder() / "ready").iterdir()}
    if name not in files:
        raise Http404(f"The documentation has no file {name!r}")
    return HttpResponse(files[name].read_text(encoding="utf-8"), content_type="text/plain; charset=utf-8")


def _folder() -> Path:
    return Path(settings.FILES_DIR) / "docs"


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(path.stem for path in _folder().glob("*.md"))


@lru_cache
def _page(name: str) -> ManualPage:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.push("links", _lead_to_pages)
    parser.core.ruler.push("tables", _wide_tables)
    tokens = parser.parse((_folder() / f"{name}.md").read_text(encoding="utf-8"))
    title = tokens[1].content
    body = tokens[3:]
    _name_headings(body)
    if name == GLOSSARY:
        _name_words(body)
    return ManualPage(title, mark_safe(parser.renderer.render(body, parser.options, {})))  # noqa: S308


def _lead_to_pages(state: StateCore) -> None:
    """Links between files become links between pages; what only a checkout has stays a name."""
    for block in state.tokens:
        for token in block.children or ():
            if token.type == "link_open":
                _lead(token)


def _lead(token: Token) -> None:
    target = str(token.attrs.get("href", ""))
    found = _PAGE.match(target)
    if found and found[1] in _names():
        rest = "" if found[1] == START else f"{found[1]}/"
        token.attrs["href"] = f"{reverse('manual')}{rest}{found[2] or ''}"
    elif target.startswith("ready/"):
        token.attrs["href"] = reverse("manual-file", args=[target.removeprefix("ready/")])
    elif not target.startswith(("#", "http:", "https:")):
        token.attrs = {"title": f"{target.removeprefix('../')} in the source"}


def _wide_tables(state: StateCore) -> None:
    tokens: list[Token] = []
    for token in state.tokens:
        if token.type == "table_open":
            token.attrSet("class", "full")
            tokens.append(Token("html_block", "", 0, content='<div class="scroll">'))
        if token.type == "th_open":
            token.attrSet("scope", "col")
        tokens.append(token)
        if token.type == "table_close":
            tokens.append(Token("html_block", "", 0, content="</div>\n"))
    state.tokens = tokens


def _name_headings(tokens: list[Token]) -> None:
    taken: set[str] = set()
    for opening, text in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            name = slugify(text.content) or "part"
            while name in taken:
                name += "-"
            taken.add(name)
            opening.attrSet("id", name)


def _name_words(tokens: list[Token]) -> None:
    """Each row of the glossary can be pointed at by its word."""
    for row, cell, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if row.type == "tr_open" and cell.type == "td_open":
            row.attrSet("id", slugify(text.content))
