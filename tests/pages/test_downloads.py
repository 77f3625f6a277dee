"""What the tables of a study's pages cut off is in their downloads."""

from __future__ import annotations

import csv
import io

import pytest

from rlvram_site.ledger.chain import record_all
from studies.models import Event, Study

pytestmark = pytest.mark.usefixtures("sample_studies")


def download(client, address: str) -> list[dict[str, str]]:
    response = client.get(f"/studies/estimation/{address}")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


@pytest.mark.parametrize("page", ["unscored", "pairs", "events", "costs"])
def test_a_download_has_the_rows_of_its_page(client, page):
    shown = client.get(f"/studies/estimation/{page}/")
    rows = download(client, f"{page}.csv")
    assert len(rows) == shown.context["page_of_rows"].paginator.count > 0
    assert f'href="/studies/estimation/{page}.csv"' in shown.content.decode()
    source = shown.content.decode()
    first = {"unscored": "configuration_id", "pairs": "pair_id", "events": "title", "costs": "pair_id"}[page]
    assert [row[first] for row in rows if row[first] not in source] == []


def test_an_unscored_approval_says_what_is_missing_and_what_would_resolve_it(client):
    for row in download(client, "unscored.csv"):
        assert row["approved_by"]
        assert row["missing"].split(":")[0].split(", ")[0] in row["seeds"]
        assert row["what_would_resolve_it"]


def test_a_pair_has_a_difference_only_where_both_sides_completed(client):
    for row in download(client, "pairs.csv"):
        both = row["fewer_peak_mib"] and row["more_peak_mib"]
        if row["peak_difference_mib"]:
            assert both
            difference = float(row["more_peak_mib"]) - float(row["fewer_peak_mib"])
            assert float(row["peak_difference_mib"]) == pytest.approx(difference)


def test_the_history_stands_in_the_order_of_the_ledger_with_what_was_known(client):
    shown = client.get("/studies/estimation/history/?as_of=2026-07-01")
    rows = download(client, f"history.csv?{shown.context['as_of_query']}")
    numbers = [int(row["number"]) for row in rows]
    assert numbers == sorted(numbers)
    assert len(rows) == shown.context["total"]
    assert sum(row["known"] == "True" for row in rows) == shown.context["known_count"]


def test_a_moment_that_is_none_is_named(client):
    response = client.get("/studies/estimation/history.csv?as_of=yesterday")
    assert response.status_code == 400
    assert "yesterday" in response.content.decode()


def test_more_rows_are_read_some_at_a_time_and_all_sent(client, django_assert_max_num_queries):
    study = Study.objects.get(slug="estimation")
    before = len(download(client, "history.csv"))
    record_all(
        Event(study=study, position=1000 + number, kind="n", status="noted", title=f"=SUM({number})")
        for number in range(1100)
    )
    rows = download(client, "events.csv")
    assert rows[-1]["title"] == "'=SUM(1099)"
    with django_assert_max_num_queries(60):
        assert len(download(client, "history.csv")) == before + 1100
