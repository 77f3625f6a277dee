"""Verifying a study by what is recorded of it here: chains, hashes, seal, fits, scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rlvram_site.ledger.verify import verify_streams
from studies.estimation.fit_comparison import fit_of
from studies.estimation.refit_worker import refit
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.ledger_order import imported
from studies.services.plan import protocols
from studies.services.predictions import bindings
from studies.services.predictions.refits import compare_fits, recorded_fit, refit_payload
from studies.services.scores.evaluation import stale_evaluations
from studies.services.whose_word import protocol_word


@dataclass(frozen=True)
class Statement:
    """One thing that was checked; ``holds`` is None where it rests on the source's word."""

    holds: bool | None
    text: str

    def __str__(self) -> str:
        return f"{'note' if self.holds is None else 'ok' if self.holds else 'FAILED':<8}{self.text}"


def verify_recorded(study: Study, *, fresh_fit: bool = False) -> Iterator[Statement]:
    """Statements about a study's chains, hashes, seal and scores; with ``fresh_fit`` about its fits, too.

    Raises ``ServiceError`` or ``EstimationError`` for a study whose protocol states no rule.
    """
    yield from _chains(study)
    base = protocols.base_protocol(study)
    if protocol_word(base).checked:
        yield Statement(True, f"protocol: sha256 {base.sha256} is that of its document")
    else:
        yield Statement(None, f"protocol: sha256 {base.sha256} is stated by the source")
    yield from _seals(study)
    if fresh_fit:
        yield from _fit(study)
    stale = stale_evaluations(study)
    yield Statement(
        not stale, f"scores: {'; '.join(stale) or 'recorded evaluations come out the same again'}"
    )


def _chains(study: Study) -> Iterator[Statement]:
    streams = [study.stream, *(owner.stream for owner in (study.pool, study.parent) if owner is not None)]
    for name in streams:
        for report in verify_streams(name):
            if report.head.stream == name:
                end = report.problem or f"{report.head.sequence} links, head {report.head.sha256}"
                yield Statement(report.ok, f"chain {name}: {end}")


def _seals(study: Study) -> Iterator[Statement]:
    for seal in study.seals.order_by("pk"):
        if not seal.made_here or imported(seal):
            yield Statement(None, f"seal: sha256 {seal.sha256} is stated by the source")
            continue
        found = bindings.problems(seal)
        bound = f"{len(seal.bound['rows'])} kinds of rows" if seal.bound else "documents only"
        yield Statement(
            not found, f"seal {seal.sha256}: {'; '.join(found) or f'binds {bound}, all as sealed'}"
        )
    if not study.seals.exists():
        yield Statement(None, "seal: nothing is sealed")


def _fit(study: Study) -> Iterator[Statement]:
    try:
        recorded, payload = recorded_fit(study), refit_payload(study)
    except ServiceError as error:
        yield Statement(None, f"fit: {error}")
        return
    if recorded is None:
        yield Statement(None, "fit: none is recorded")
        return
    verdict = compare_fits(recorded, fit_of(refit(payload)))
    for name, item in (("predictions", verdict.predictions), ("parameters", verdict.parameters)):
        more = f"; the first of them: {item.mismatches[0]}" if item.mismatches else ""
        differing = f"{len(item.mismatches)} of {item.compared} values differ{more}"
        yield Statement(item.passed, f"fit afresh, {name}: {differing}")
    # How far the classifier's parameters move depends on the library's version, so it decides nothing.
    moved = f"{verdict.largest_weight_deviation:.3g}"
    yield Statement(verdict.classifier.passed or None, f"fit afresh, classifier: moved by up to {moved}")
