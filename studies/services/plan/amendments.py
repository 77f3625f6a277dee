"""Amendments: what each changed, whether it is an amendment or a deviation, and recording one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.utils import timezone

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import Head, head, lock_stream, record
from studies.archive.errors import ArchiveError
from studies.archive.facts import rules_form
from studies.estimation import protocol as rules_of
from studies.estimation.errors import EstimationError
from studies.models import Amendment, Study
from studies.services.errors import ServiceError
from studies.services.ledger_order import first_launch, first_outcome, sequences
from studies.services.plan import protocols


class AmendmentWord(StrEnum):
    """What a change after the freeze is called. Derived from ledger order; nobody chooses it."""

    AMENDMENT = "amendment"
    AFTER_LAUNCH = "amendment after launch"
    DEVIATION = "deviation"


@dataclass(frozen=True)
class KeyChange:
    """What an amendment did to one protocol key; ``before`` is None for a key that is new.

    Values are in facts form: rule texts are words, other prose its hash. The sentences are ours, for a
    page, and empty where there is none.
    """

    key: str
    before: Any
    after: Any
    before_sentence: str
    after_sentence: str


@dataclass(frozen=True)
class AmendmentEffect:
    """One amendment with its derived word, what it changed, and the places that gave the word."""

    amendment: Amendment
    word: AmendmentWord
    keys: tuple[KeyChange, ...]
    place: int
    first_launch: int | None
    first_outcome: int | None


class HistoryMoved(ServiceError):
    """Something was recorded since the preview, so what was confirmed may no longer be what happens."""


@dataclass(frozen=True)
class Preview:
    """What recording an amendment now would mean.

    Attributes:
        number: its number.
        base_sha256: the base protocol that it binds to.
        word: what the ledger's order makes of it, whatever time is stated.
        keys: each changed key before and after, in facts form.
        before_sha256, after_sha256: of the effective protocol.
        head: the end of the study's ledger that all this rests on.
    """

    number: int
    base_sha256: str
    word: AmendmentWord
    keys: tuple[KeyChange, ...]
    before_sha256: str
    after_sha256: str
    head: Head


def preview_amendment(study: Study, updates: Mapping[str, Any]) -> Preview:
    """What these new values by key would change.

    Raises ``ServiceError``: no protocol, nothing changed, a key that the protocol froze, or values that are
    no rules of a protocol.
    """
    end = head(study.stream)
    base = protocols.base_protocol(study)
    number = 1 + max((item.number for item in study.amendments.all()), default=0)
    try:
        before = protocols.effective_protocol(study)
        new = rules_form(dict(updates), f"amendment {number}")
        amendment = rules_of.Amendment(f"amendment {number}", base.sha256, new)
        after = rules_of.effective_protocol(before, [amendment], base_sha256=base.sha256)
        _require_rules(before, after)
    except (EstimationError, ArchiveError) as error:
        raise ServiceError(str(error)) from error
    keys = tuple(
        KeyChange(
            key, before.get(key), value,
            protocols.sentence_of(key, before.get(key)), protocols.sentence_of(key, value),
        )
        for key, value in new.items()
        if before.get(key) != value
    )  # fmt: skip
    if not keys:
        raise ServiceError("These values are the ones that hold already, so there is nothing to amend.")
    return Preview(
        number=number,
        base_sha256=base.sha256,
        word=word_for(end.sequence + 1, first_launch(study), first_outcome(study)),
        keys=keys,
        before_sha256=digest(before),
        after_sha256=digest(after),
        head=end,
    )


def _require_rules(before: dict[str, Any], after: dict[str, Any]) -> None:
    """What could be read as rules must stay so."""
    try:
        rules_of.parse_rules(before)
    except EstimationError:
        return
    rules_of.parse_rules(after)


def record_amendment(
    study: Study, updates: Mapping[str, Any], *, reason: str, amended_at: dt.datetime | None, confirmed: str
) -> Amendment:
    """Record an amendment that was previewed; ``confirmed`` is the sha256 of the preview's head.

    ``amended_at`` is the time that its author states; it decides nothing. Raises ``HistoryMoved`` if the
    study's ledger has grown since the preview, and what ``preview_amendment`` raises.
    """
    with transaction.atomic():
        lock_stream(study.stream)
        preview = preview_amendment(study, updates)
        if preview.head.sha256 != confirmed:
            raise HistoryMoved(
                "Something was recorded in this study since the preview. Check what the amendment means now."
            )
        moment = amended_at or timezone.now()
        content = {
            "base_protocol_sha256": preview.base_sha256,
            "amended_at_utc": moment,
            "updates": dict(updates),
            "reason": reason,
        }
        amendment = Amendment(
            study=study,
            protocol=protocols.base_protocol(study),
            number=preview.number,
            base_sha256=preview.base_sha256,
            sha256=digest(content),
            amended_at=moment,
            updates=dict(updates),
            reason=reason,
        )
        record(amendment)
        return amendment


def word_for(number: int, launch: int | None, outcome: int | None) -> AmendmentWord:
    """The word for an amendment, from its own ledger number and the first launch's and outcome's."""
    if outcome is not None and outcome < number:
        return AmendmentWord.DEVIATION
    if launch is not None and launch < number:
        return AmendmentWord.AFTER_LAUNCH
    return AmendmentWord.AMENDMENT


def effects(study: Study) -> list[AmendmentEffect]:
    """Every amendment in order, with its derived word and the keys it changed."""
    amendments = protocols.recorded_amendments(study)
    if not amendments:
        return []
    numbers = sequences(study.amendments.all())
    launch, outcome = first_launch(study), first_outcome(study)
    held = rules_form(protocols.base_protocol(study).document)
    found = []
    for amendment in amendments:
        updates = protocols.for_rules(amendment).updates
        keys = tuple(
            KeyChange(
                key,
                held.get(key),
                value,
                protocols.sentence_of(key, held.get(key)),
                protocols.sentence_of(key, value),
            )
            for key, value in updates.items()
        )
        place = numbers[amendment.pk]
        found.append(
            AmendmentEffect(amendment, word_for(place, launch, outcome), keys, place, launch, outcome)
        )
        held = {**held, **updates}
    return found
