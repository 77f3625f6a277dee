"""The page that says how we know the estimator is right, and the same table in the API."""

from __future__ import annotations

import csv
import io

import pytest

from admission.estimator import conformance_table
from tests.api.conftest import key_for

PAGE = "/admission/conformance/"


def test_the_page_shows_both_columns_of_every_figure_with_its_source(client, db):
    page = client.get(PAGE).content.decode()
    table = conformance_table()
    assert table.sentence in page.replace("&#x27;", "'")
    for row in table.rows:
        assert f'id="{row.id}"' in page
    assert page.count(">equal<") == len(table.rows)
    assert "not equal" not in page
    assert page.count("6,164,530,380 B") == 2
    assert "/blob/107f9f53401e4f4eb4265d962dcc480551f33ccd/tests/unit/test_trainer_rank_moe_memory.py" in page


def test_what_cannot_be_expressed_stands_there_with_its_reason(client, db):
    page = client.get(PAGE).content.decode()
    assert "23,095,829,187 B" in page
    assert "delta-net layers" in page


@pytest.mark.parametrize("page", ["/admission/calculator/", "/admission/replay/", "/admission/"])
def test_the_pages_that_price_link_to_it(page, client, db):
    assert f'href="{PAGE}"' in client.get(page).content.decode()


def test_one_policys_figures_can_be_looked_at_alone(client, db):
    page = client.get(PAGE, {"policy": "moe3"}).content.decode()
    assert "11,508,960,460 B" in page
    assert page.count(">equal<") == 1
    assert "1 figure of" in page


def test_that_nothing_differs_is_said(client, db):
    page = client.get(PAGE, {"equal": "no"}).content.decode()
    assert "No figure differs." in page


@pytest.mark.parametrize("query", [{"policy": "moe7"}, {"policy": "<b>"}, {"equal": "maybe"}])
def test_an_unknown_filter_is_told_and_changes_nothing(query, client, db):
    answer = client.get(PAGE, query)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "errorlist" in page
    assert "<b>" not in page


def test_the_page_asks_the_database_nothing_for_its_rows(client, db, django_assert_max_num_queries):
    client.get(PAGE)
    with django_assert_max_num_queries(2):
        client.get(PAGE)


@pytest.fixture
def reader(db):
    return key_for("read")


def test_the_api_gives_rows_and_reasons(reader):
    answer = reader.get("admission/conformance/").json()
    table = conformance_table()
    assert answer["sentence"] == table.sentence
    assert len(answer["rows"]) == len(table.rows)
    assert len(answer["inexpressible"]) == len(table.inexpressible)
    first = answer["rows"][0]
    assert (first["theirs"], first["ours"], first["equal"]) == (35_433_480_192, 35_433_480_192, True)
    assert first["inputs"]["forward"]["packed_tokens"] == 50


def test_the_api_filters_by_policy_and_refuses_an_unknown_one(reader):
    (row,) = reader.get("admission/conformance/?policy=moe3").json()["rows"]
    assert row["theirs"] == 11_508_960_460
    wrong = reader.get("admission/conformance/?policy=moe9")
    assert wrong.status_code == 400
    assert "policy" in wrong.content.decode()
    assert reader.get("admission/conformance/?page=2").status_code == 400


def test_the_csv_is_one_table_of_both(reader):
    answer = reader.get("admission/conformance/?format=csv")
    text = b"".join(answer.streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    table = conformance_table()
    assert len(rows) == len(table.rows) + len(table.inexpressible)
    assert {row["equal"] for row in rows} == {"True", ""}
    assert rows[0]["theirs"] == rows[0]["ours"] == "35433480192"
    assert all(row["reason"] for row in rows if not row["equal"])
