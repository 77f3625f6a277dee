"""What a list of studies says of each: a line and a count of cells. Kept until the study's stream grows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.core.cache import cache
from django.core.paginator import Page, Paginator
from django.db.models import CharField, OuterRef, Subquery, Value
from django.db.models.functions import Concat

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.marks import MARKS
from studies.models import Seal, Study
from studies.services.errors import UNREADABLE
from studies.services.plan import amendments
from studies.services.scores.panel_lines import counted_cells, panel_numbers

PER_PAGE = 24
_KEEP = 7 * 24 * 3600  # s; a summary never goes stale, so this only bounds memory


@dataclass(frozen=True)
class PanelSummary:
    """A panel in short.

    ``cells`` counts the planned configurations by state for each method, ``words`` the amendments by their
    derived word. ``problem`` says, for a person, why there is no panel yet; the rest is empty then.
    """

    planned: int = 0
    resolved: int = 0
    seal: Seal | None = None
    words: tuple[tuple[str, int], ...] = ()
    cells: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Card:
    """A study and its panel in short."""

    study: Study
    summary: PanelSummary


def study_cards(page: str | int = 1) -> Page:
    """One page of studies as ``Card``s, parents before their follow-ups; a page that is none is the nearest.

    A stream is append-only, so its last digest names its state: a summary kept under that digest is right
    for as long as it is found. Two queries, and more only for studies on the page that grew since.
    """
    last = LedgerEntry.objects.filter(stream__name=OuterRef("stream_name")).order_by("-sequence")
    shown = Paginator(
        Study.objects.select_related("parent", "pool")
        .annotate(stream_name=Concat(Value("study/"), "slug", output_field=CharField()))
        .annotate(head=Subquery(last.values("sha256")[:1]))
        .order_by("pk"),
        PER_PAGE,
    ).get_page(page)
    kept = cache.get_many([_key(study) for study in shown])
    cards = []
    for study in shown:
        found = kept.get(_key(study))
        if found is None:
            found = summary(study)
            cache.set(_key(study), found, _KEEP)
        cards.append(Card(study, found))
    return Page(cards, shown.number, shown.paginator)


def _key(study: Study) -> str:
    return f"panel-summary:{study.head}"  # type: ignore[attr-defined]


def summary(study: Study) -> PanelSummary:
    """The summary of one study as recorded now."""
    try:
        panel = panel_numbers(study)
    except UNREADABLE as error:
        return PanelSummary(problem=str(error))
    words = Counter(change.word.value for change in amendments.effects(study))
    return PanelSummary(
        planned=panel.planned,
        resolved=panel.resolved,
        seal=panel.seal,
        words=tuple(words.items()),
        cells=tuple(
            (method, _in_mark_order(counted_cells(tallies))) for method, tallies in panel.tallies.items()
        ),
    )


def _in_mark_order(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple((state, counts[state]) for state in MARKS if counts[state])
