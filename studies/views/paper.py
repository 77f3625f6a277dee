"""A study for a paper: an appendix on one page, its citation, and all tables and figures in one archive."""

from __future__ import annotations

import copy
import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.safestring import mark_safe

from rlvram_site.csv_download import csv_lines
from rlvram_site.ledger.chain import head
from rlvram_site.tables.pages import NamedTable, as_latex, rows_of, tables_of
from studies.models import Study
from studies.services.whose_word import words
from studies.text.citation import Citation
from studies.views import costs, methods, outcomes, overview, pairs, protocol, unscored
from studies.views.common import get_study, study_page

PARTS: tuple[tuple[str, str, Callable[[HttpRequest, str], HttpResponse]], ...] = (
    ("study", "The panel", overview.overview),
    ("unscored", "Unscored approvals", unscored.unscored),
    ("outcomes", "Outcomes", outcomes.outcomes),
    ("methods", "Methods", methods.methods),
    ("pairs", "Matched pairs", pairs.pairs),
    ("costs", "Costs", costs.costs),
    ("protocol", "Protocol", protocol.protocol),
)
_FIGURE = re.compile(r'<figure class="chart" id="([^"]+)">.*?</figure>', re.DOTALL)
_FIGURE_DATA = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
_SENTENCE = re.compile(r'<p class="sentence"[^>]*>(.*?)</p>', re.DOTALL)
_BOX = re.compile(r'<div class="scroll"[^>]*>\s*<table\b.*?</table>\s*</div>', re.DOTALL)
WHOLE = "whole.sort=1"
"""A query that asks for lists in one piece; no table has the name."""

FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive, so that the same records give the same bytes."""


@dataclass(frozen=True)
class Part:
    """One page of the study, as it shows itself: its sentence, figures by name, and tables."""

    name: str
    title: str
    address: str
    sentence: str
    figures: dict[str, str]
    boxes: list[str]
    tables: list[NamedTable]


def paper(request: HttpRequest, slug: str) -> HttpResponse:
    """The appendix: what the study's pages show, one below the other, for paper or a PDF."""
    study = get_study(slug)
    cited = _citation(request, study)
    return study_page(
        request, study, "paper", parts=read_parts(request, study), citation=cited, bibtex=cited.bibtex(),
        cff=cited.cff(), head=head(study.stream), words=words(study),
    )  # fmt: skip


def citation_bib(request: HttpRequest, slug: str) -> HttpResponse:
    return _file(_citation(request, get_study(slug)).bibtex(), f"{slug}.bib", "application/x-bibtex")


def citation_cff(request: HttpRequest, slug: str) -> HttpResponse:
    return _file(_citation(request, get_study(slug)).cff(), "CITATION.cff", "text/yaml")


def archive(request: HttpRequest, slug: str) -> HttpResponse:
    """Everything for the paper as one zip; SHA256SUMS in it checks the rest."""
    study = get_study(slug)
    files = archive_files(read_parts(request, study), _citation(request, study), words(study).history.command)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in files.items():
            bundle.writestr(zipfile.ZipInfo(f"{slug}/{name}", FIRST_MOMENT), content, zipfile.ZIP_DEFLATED)
    return _file(packed.getvalue(), f"{slug}.zip", "application/zip")


def _file(content: str | bytes, name: str, kind: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    charset = "" if isinstance(content, bytes) else "; charset=utf-8"
    return HttpResponse(content, content_type=kind + charset, headers=headers)


def _citation(request: HttpRequest, study: Study) -> Citation:
    seal = study.seals.order_by("pk").first()
    return Citation(
        slug=study.slug,
        title=study.title,
        authors=study.source_authors,
        source=study.source_name,
        licence=study.source_licence,
        address=request.build_absolute_uri(study.get_absolute_url()),
        sealed_on=seal.sealed_at.date() if seal else None,
        head_sha256=head(study.stream).sha256,
    )


def read_parts(request: HttpRequest, study: Study) -> list[Part]:
    """The study's pages as anybody gets them, without what this address asks of its own page."""
    asked = copy.copy(request)
    asked.GET = QueryDict(WHOLE)
    parts, seen = [], set()
    for name, title, view in PARTS:
        page = view(asked, study.slug).content.decode()
        figures = {found[1]: found[0] for found in _FIGURE.finditer(page) if found[1] not in seen}
        seen |= set(figures)
        sentence = _SENTENCE.search(page)
        parts.append(
            Part(
                name, title, reverse(name, args=[study.slug]),
                html.unescape(re.sub(r"<[^>]*>", "", sentence[1])) if sentence else "",
                {key: mark_safe(text) for key, text in figures.items()},  # noqa: S308 - our own page's markup
                [mark_safe(_without_ids(found[0])) for found in _BOX.finditer(page)],  # noqa: S308
                tables_of(page),
            )
        )  # fmt: skip
    return parts


def _without_ids(markup: str) -> str:
    """On one page with others an id would stand twice."""
    return re.sub(r'(<[^>]*?) id="[^"]*"', r"\1", markup)


def archive_files(parts: list[Part], cited: Citation, command: str) -> dict[str, bytes]:
    """Names and contents, ``SHA256SUMS`` last; the same records give the same bytes."""
    texts: dict[str, str] = {"citation.bib": cited.bibtex(), "CITATION.cff": cited.cff()}
    for part in parts:
        for item in part.tables:
            stem = f"tables/{part.name}-{item.name}"
            texts[f"{stem}.csv"] = "".join(csv_lines(item.table.names, rows_of(item.table)))
            texts[f"{stem}.tex"] = as_latex(item)
        for name, markup in part.figures.items():
            found = _FIGURE_DATA.search(markup)
            texts[f"figures/{name}.json"] = json.dumps(json.loads(found[1]) if found else {}, indent=1) + "\n"
    texts["README.txt"] = _about(parts, cited, command)
    files = {name: text.encode() for name, text in sorted(texts.items())}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return {**files, "SHA256SUMS": sums.encode()}


def _about(parts: list[Part], cited: Citation, command: str) -> str:
    lines: list[Any] = [
        cited.title, cited.address, "",
        *(f"{part.title}: {part.sentence}" for part in parts if part.sentence), "",
        "tables/   each table of these pages as CSV, and as LaTeX that needs booktabs and amssymb",
        "figures/  each figure as plotly's JSON; its SVG is saved from the page, where it is drawn", "",
        "To verify that these files are whole:", "  sha256sum --check SHA256SUMS", "",
        f"The chain of the study's records ended at {cited.head_sha256}. On the site:", f"  {command}",
        "  python manage.py verify_ledger",
        f"  python manage.py export_ledger study/{cited.slug} --output ledger.jsonl",
        "Without the site, with the one file that it hands out:",
        "  python rlvram_verify.py ledger.jsonl",
        "",
    ]  # fmt: skip
    return "\n".join(lines)
