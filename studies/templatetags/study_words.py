"""The study's names as pages write them, and what they ask of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rlvram_site.witness.stamping import stamp_of
from studies.estimation.reasons import Cell, Column, Ref, Table
from studies.models import Pool, Seal
from studies.models.predictions import MADE_HERE
from studies.services.outcomes.evidence_checks import bytes_of
from studies.text import words
from studies.text.sentences import feature_words

register = template.Library()
register.filter("method", words.method_words)
register.filter("family", words.family_words)
register.filter("label", words.label_words)
register.filter("workload", words.workload_words)
register.filter("sentence", words.sentence)


@register.inclusion_tag("studies/_reasons_table.html")
def reasons_table(table: Table, pool: Pool | None = None) -> dict[str, Any]:
    """A method's own table of reasons; its references become links into ``pool``."""
    return {
        "table": table,
        "rows": [_cells(row, table, pool) for row in table.rows],
        "total": _cells(table.total, table, pool),
    }


@dataclass(frozen=True)
class ShownCell:
    """One cell ready for a page."""

    text: str | SafeString
    number: bool


def _cells(row: Sequence[Cell], table: Table, pool: Pool | None) -> list[ShownCell]:
    return [_cell(value, column, pool) for value, column in zip(row, table.columns, strict=False)]


def _cell(value: Cell, column: Column, pool: Pool | None) -> ShownCell:
    if isinstance(value, Ref):
        if pool is None:
            return ShownCell(value.configuration_id, False)
        address = reverse("pool-configuration", args=[pool.slug, value.configuration_id])
        return ShownCell(
            format_html('<a class="identifier" href="{}">{}</a>', address, value.configuration_id), False
        )
    if value is None:
        return ShownCell("–", True)
    if isinstance(value, str):
        return ShownCell(_sentence_word(value), False)
    return ShownCell(f"{value:,.{column.digits}f}", True)


def _sentence_word(text: str) -> str:
    """A feature's protocol name in words; every other text as it is."""
    return feature_words(text) if text.endswith("_gib") else text


register.filter("bytes_of", bytes_of)


@register.inclusion_tag("studies/_stamp.html")
def time_stamp(seal: Seal) -> dict[str, Any]:
    """By whose clock a seal was there: an outside authority's, or this site's own."""
    late = seal.source_path != MADE_HERE
    return {"stamp": stamp_of(seal.pk), "recorded_at": seal.recorded_at, "late": late}
