"""The protocol that holds: the frozen base with its amendments, and what its rules mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rlvram_site.ledger.canonical import digest
from studies.archive.facts import rules_form
from studies.estimation import protocol as rules_of
from studies.estimation.rules import ProtocolRules
from studies.estimation.tries import PROTOCOL_KEYS, SlotTries, slot_tries
from studies.estimation.wording import TEXT_KEYS, sentence_for
from studies.models import Amendment, FittedModel, Protocol, Study
from studies.services.errors import ServiceError
from studies.services.ledger_order import first_sequence, sequence_of, sequences


@dataclass(frozen=True)
class ProtocolKey:
    """One key of a protocol for a page: its value in facts form and our sentence for it, if it is a rule."""

    key: str
    value: Any
    sentence: str


def base_protocol(study: Study) -> Protocol:
    """The frozen base protocol.

    Raises ``ServiceError`` if the study has none yet.
    """
    protocol = study.protocols.first()
    if protocol is None:
        raise ServiceError(f"study {study.slug} has no protocol yet")
    return protocol


def recorded_amendments(study: Study) -> list[Amendment]:
    return list(study.amendments.order_by("number"))


def for_rules(amendment: Amendment) -> rules_of.Amendment:
    previous = amendment.document.get("previous_feature_order")
    return rules_of.Amendment(
        name=f"amendment {amendment.number}",
        base_protocol_sha256=amendment.base_sha256,
        updates=rules_form(amendment.updates, f"amendment {amendment.number}"),
        previous_feature_order=None if previous is None else tuple(previous),
    )


def effective_protocol(study: Study, *, place: int | None = None) -> dict[str, Any]:
    """Base protocol and amendments in order, in facts form.

    The same whether the study was imported with its authors' prose or with facts only. With ``place``, a
    number in the study's ledger, only what was amended before it counts.
    Raises ``ServiceError`` without a protocol and ``EstimationError`` for an amendment that is not allowed.
    """
    base = base_protocol(study)
    amendments = recorded_amendments(study)
    if place is not None and amendments:
        numbers = sequences(study.amendments.all())
        amendments = [item for item in amendments if numbers[item.pk] < place]
    return rules_of.effective_protocol(
        rules_form(base.document),
        [for_rules(item) for item in amendments],
        base_sha256=base.sha256,
    )


def effective_sha256(study: Study) -> str:
    """sha256 of the effective protocol's canonical JSON."""
    return digest(effective_protocol(study))


def rules(study: Study) -> ProtocolRules:
    """The typed rules of the effective protocol."""
    return rules_of.parse_rules(effective_protocol(study))


def rules_behind(model: FittedModel) -> ProtocolRules:
    """The rules that held when a recorded fit was sealed; when it was recorded, if no seal came after it."""
    fitted, study = sequence_of(model), model.study
    return rules_of.parse_rules(
        effective_protocol(study, place=max(fitted, first_sequence(study.stream, study.seals.all()) or 0))
    )


def sealed_rules(study: Study) -> ProtocolRules:
    """The rules that held when the study's predictions were sealed; today's while nothing is sealed."""
    return rules_of.parse_rules(
        effective_protocol(study, place=first_sequence(study.stream, study.seals.all()))
    )


def tries_by_study(studies: Iterable[int]) -> dict[int, SlotTries]:
    """How often a slot of each study may be tried, by the study's primary key.

    Reads the base protocol alone: how often a slot is tried is frozen with it. A study without a protocol
    sets no limit.
    Raises ``EstimationError`` for a rule that can't be read.
    """
    found = dict.fromkeys(studies, SlotTries())
    keys = [f"document__{key}" for key in PROTOCOL_KEYS]
    for study, *values in Protocol.objects.filter(study__in=found).values_list("study", *keys):
        found[study] = slot_tries(dict(zip(PROTOCOL_KEYS, values, strict=True)))
    return found


def rule_list(study: Study) -> list[ProtocolKey]:
    """Every key of the effective protocol for a page, rules with our sentences first."""
    found = [
        ProtocolKey(key, value, sentence_of(key, value)) for key, value in _flat(effective_protocol(study))
    ]
    return sorted(found, key=lambda item: (not item.sentence, item.key))


def _flat(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        path = f"{prefix}{key}"
        if (
            isinstance(value, dict)
            and set(value) != {"text_sha256"}
            and any(name.startswith(f"{path}.") for name in TEXT_KEYS)
        ):
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def sentence_of(key: str, value: Any) -> str:
    """Our sentence for a rule's value; empty for what is no rule."""
    if key in TEXT_KEYS and isinstance(value, str):
        return sentence_for(key, value)
    return ""
