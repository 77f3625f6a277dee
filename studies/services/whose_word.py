"""Whose word a hash or a time is: checked here, or stated by the source it came from."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from rlvram_site.ledger.canonical import digest
from studies.archive.layout import LAYOUTS
from studies.models import Protocol, Seal, Study
from studies.models.predictions import MADE_HERE
from studies.services.ledger_order import imported
from studies.services.predictions.bindings import seal_sha256

CHECKED, STATED = "checked here", "stated by the source"


@dataclass(frozen=True)
class Word:
    """Whose word something is.

    Attributes:
        word: ``CHECKED`` or ``STATED``.
        source: whose, for a person; empty for what is this site's own.
        imported_at: when it was recorded here.
        command: what a reader can run to check it.
    """

    word: str
    source: str
    imported_at: dt.datetime
    command: str

    @property
    def checked(self) -> bool:
        """Whether this site computed it itself."""
        return self.word == CHECKED


@dataclass(frozen=True)
class Words:
    """Whose word a study's protocol, seal and history are; None for what it does not have."""

    protocol: Word | None
    seal: Word | None
    history: Word


def protocol_word(protocol: Protocol) -> Word:
    """The protocol's hash is checked where this site made it of the recorded document."""
    made_here = protocol.sha256 == digest(protocol.document) and protocol.source_path == MADE_HERE
    return _word(protocol.study, made_here and not imported(protocol), protocol.recorded_at)


def seal_word(seal: Seal) -> Word:
    """The seal's hash is checked where this site made it of what the seal says."""
    made_here = seal.made_here and seal_sha256(seal) == seal.sha256
    return _word(seal.study, made_here and not imported(seal), seal.recorded_at)


def words(study: Study) -> Words:
    """Whose word everything is, for the pages that show hashes and times."""
    protocol, seal = study.protocols.first(), study.seals.order_by("pk").first()
    return Words(
        protocol_word(protocol) if protocol else None,
        seal_word(seal) if seal else None,
        _word(study, not imported(study), study.recorded_at),
    )


def _word(study: Study, checked: bool, moment: dt.datetime) -> Word:
    if checked:
        return Word(CHECKED, "", moment, f"python manage.py verify_study {study.slug} --refit")
    parts = [study.source_name, study.source_authors, study.source_licence]
    source = ", ".join(part for part in parts if part) or "whoever sent it"
    how = "--archive PATH --refit --output report.json" if study.slug in LAYOUTS else "--refit"
    return Word(STATED, source, moment, f"python manage.py verify_study {study.slug} {how}")
