"""What was measured earlier, and which part of it may be learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render

from studies.figures.labels import labels_figure
from studies.models import Configuration, Pool, PoolOutcome
from studies.services.plan import pools as pool_summary
from studies.text.words import family_words
from studies.views.filters import StateChoice
from studies.views.listing import Listing, download_configurations, list_configurations
from studies.views.tables import PoolTable

POOL_STATES = [
    StateChoice(value, word, Q(pool_outcome__observed_state=value))
    for value, word in PoolOutcome.State.choices
]


@dataclass(frozen=True)
class LabelRow:
    """One row of a table of labels: a group and its number of configurations by label."""

    name: str
    counts: list[int]
    total: int


def _rows(counts: dict[str, Counter[str]]) -> list[LabelRow]:
    return [
        LabelRow(name, [labels[state] for state in PoolOutcome.State.values], labels.total())
        for name, labels in counts.items()
    ]


def pool(request: HttpRequest, slug: str) -> HttpResponse:
    """Counts of the pool, the fits made on it, and its labels by family and by source."""
    found = get_object_or_404(Pool, slug=slug)
    fits = pool_summary.pool_fits(found)
    outcomes = pool_summary.outcomes(found)
    fitted_ids = frozenset().union(*(fit.configuration_ids for fit in pool_summary.final_fits(fits)))
    fitted = [outcome for outcome in outcomes if outcome.configuration_id in fitted_ids]
    by_family = pool_summary.labels_by(fitted or outcomes, lambda outcome: family_words(outcome.family))
    context: dict[str, Any] = {
        "pool": found,
        "holdings": pool_summary.holdings(found),
        "studies": found.studies.all(),
        "final_fits": pool_summary.final_fits(fits),
        "folds": [fit for fit in fits if fit.fold],
        "fitted_count": len(fitted),
        "labels": PoolOutcome.State.choices,
        "families": _rows(by_family),
        "sources": _rows(pool_summary.labels_by(outcomes, lambda outcome: outcome.source_study)),
        "figure": labels_figure(by_family, title="fitted configurations" if fitted else "configurations"),
    }
    return render(request, "studies/pool.html", context)


def _listing(request: HttpRequest, found: Pool) -> Listing:
    queryset = found.configurations.select_related("pool", "study", "pool_outcome")
    return list_configurations(request, queryset, POOL_STATES, lambda rows: PoolTable(rows, request=request))


def pool_configurations(request: HttpRequest, slug: str) -> HttpResponse:
    """The pool's configurations: filtered, sorted, paged."""
    found = get_object_or_404(Pool, slug=slug)
    listing = _listing(request, found)
    return render(
        request,
        "studies/pool_configurations.html",
        {"pool": found, "listing": listing},
        status=listing.status,
    )


class OutcomeColumns:
    """Every outcome column, from the record that comes with each configuration."""

    names = tuple(
        field.name
        for field in PoolOutcome._meta.concrete_fields
        if field.name not in {"id", "configuration", "recorded_at"}
    )

    def read(self, records: Sequence[Configuration]) -> Iterator[list[Any]]:
        for record in records:
            yield [getattr(record.pool_outcome, name) for name in self.names]


def pool_configurations_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The filtered list with every setting and outcome column."""
    found = get_object_or_404(Pool, slug=slug)
    return download_configurations(_listing(request, found), f"{slug}-configurations", OutcomeColumns())
