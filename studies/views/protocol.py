"""The protocol that holds, and each amendment as what it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from studies.services.errors import UNREADABLE
from studies.services.lead import lead
from studies.services.plan import amendments, protocols
from studies.services.predictions.recorded import panel_set
from studies.services.whose_word import protocol_word
from studies.text.amending import what_decides
from studies.text.diffs import DiffPiece, value_diff
from studies.text.reasons import reason_sha256, reason_words
from studies.text.words import counted, listed, sentence
from studies.views.common import get_study, study_page


@dataclass(frozen=True)
class KeyDiff:
    """One changed key: both values, and what went and came."""

    change: amendments.KeyChange
    pieces: list[DiffPiece]
    is_list: bool


@dataclass(frozen=True)
class AmendmentDiff:
    """One amendment with the changed keys."""

    change: amendments.AmendmentEffect
    keys: list[KeyDiff]
    why: str
    why_sha256: str
    otherwise: str


def protocol(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        base = protocols.base_protocol(study)
        changes = amendments.effects(study)
        rules = protocols.rule_list(study)
        effective = protocols.effective_sha256(study)
    except UNREADABLE as error:
        return study_page(request, study, "protocol", sentence=f"Nothing can be shown yet: {error}.")
    predictions = panel_set(study)
    seal = predictions.seals.order_by("pk").first() if predictions else None
    return study_page(
        request, study, "protocol",
        base=base,
        word=protocol_word(base),
        sentence=_sentence(base.version, changes),
        amendments=[
            AmendmentDiff(
                change,
                [_diff(key) for key in change.keys],
                reason_words(change.amendment),
                reason_sha256(change.amendment),
                what_decides(change),
            )
            for change in changes
        ],
        lead=lead(study, seal),
        rules=rules,
        effective_sha256=effective,
        seal=seal,
        files=list(study.sourcefiles.all()),
    )  # fmt: skip


def _diff(key: amendments.KeyChange) -> KeyDiff:
    before: Any = key.before_sentence or key.before
    after: Any = key.after_sentence or key.after
    return KeyDiff(key, value_diff(before, after), isinstance(after, list))


def _sentence(version: str, changes: list[amendments.AmendmentEffect]) -> str:
    if not changes:
        return f"Protocol {version} holds as it was frozen; nothing amended it."
    parts = [
        f"{change.word} {change.amendment.number} changed {counted(len(change.keys), 'key')}"
        for change in changes
    ]
    return sentence(f"protocol {version} holds as amended: {listed(parts)}.")
