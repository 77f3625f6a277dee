"""A panel with too many cells is shown by group, and a long history in parts: the same numbers."""

from __future__ import annotations

from collections import Counter

import pytest

from studies.models import Study
from studies.services.history import long
from studies.services.scores import panel_groups
from studies.services.scores.panel import load_panel
from tests.pages.reading import sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")
PAGE = "/studies/estimation/"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(panel_groups, "MOST_CELLS", 10)
    monkeypatch.setattr(long, "MOST_ITEMS", 10)


@pytest.mark.parametrize("page", ["", "outcomes/", "methods/", "pairs/", "unscored/"])
def test_every_page_opens_and_says_the_same(client, page, monkeypatch):
    many = client.get(f"{PAGE}{page}")
    assert many.status_code == 200
    monkeypatch.undo()
    assert sentence_of(client.get(f"{PAGE}{page}")) == sentence_of(many)


def test_groups_count_what_the_cells_are(client):
    panel = load_panel(Study.objects.get(slug="estimation"))
    labels: dict[str, Counter[str]] = {}
    cells: dict[str, dict[str, Counter[str]]] = {}
    for row in panel.rows:
        item = row.configuration
        words = f"{item.workload_name} · {item.configuration_level} · {item.gpu_count} GPU"
        words += "" if item.gpu_count == 1 else "s"
        labels.setdefault(words, Counter())[row.resolution.state] += 1
        for method, state in row.cells.items():
            cells.setdefault(words, {}).setdefault(method, Counter())[state] += 1
    shown = client.get(PAGE).context["groups"]
    assert {group.words: group.observed for group in shown} == labels
    assert {group.words: group.cells for group in shown} == cells


def test_a_page_of_groups_reads_no_other_group(client, monkeypatch):
    monkeypatch.setattr("studies.views.overview.GROUPS_PER_PAGE", 2)
    every = client.get(PAGE).context["groups"].paginator
    seen = []
    for number in every.page_range:
        page = client.get(f"{PAGE}?groups={number}").context["groups"]
        assert len(page.object_list) <= 2
        seen += [group.words for group in page]
    assert len(seen) == len(set(seen)) == every.count


def test_a_group_leads_to_its_configurations(client):
    for group in client.get(PAGE).context["groups"]:
        listed = client.get(f"{PAGE}configurations/?{group.query}").context["listing"]
        assert listed.found == group.total


def test_a_long_history_has_every_record_once(client, monkeypatch):
    monkeypatch.setattr("studies.views.history.ITEMS_PER_PAGE", 60)
    place, seen = 0, []
    while place is not None:
        page = client.get(f"{PAGE}history/?after={place}").context
        seen += [line.item.number for line in page["lines"]]
        place = page["long"].after
    assert len(seen) == len(set(seen)) == page["total"]
    shown = client.get(f"{PAGE}history/")
    assert "in the order of the ledger" in text_of(shown)
    assert f"{len(seen)} records in all" in sentence_of(shown)
