"""The pool's page and its list of configurations, as a reader sees them."""

from __future__ import annotations

import csv
import io

import pytest

from studies.models import PoolOutcome
from tests.factories import make_configuration, make_pool

pytestmark = pytest.mark.django_db


def measured(pool, label="within_margin", peak=30000.0, **fields):
    configuration = make_configuration(pool, **fields)
    failed = label == "memory_failure"
    PoolOutcome(
        configuration=configuration,
        observed_state=label,
        eligible_processes=3,
        distinct_seeds=3,
        completed_eligible_processes=0 if failed else 3,
        within_margin_processes=3 if label == "within_margin" else 0,
        above_margin_processes=3 if label == "above_margin" else 0,
        memory_failure_processes=3 if failed else 0,
        max_completed_run_peak_mib=None if failed else peak,
        mean_completed_run_peak_mib=None if failed else peak,
        recorded_attempts=4,
        documented_completed_attempts=0 if failed else 3,
        excluded_attempts=1,
        label_scope="eligible_resource_outcomes",
    ).save()
    return configuration


@pytest.fixture
def pool():
    pool = make_pool(slug="measured", title="Measured earlier")
    measured(pool, configuration_id="cfg-small", gpu_count=2, configuration_level="c1")
    measured(
        pool, "above_margin", 39570.0, configuration_id="cfg-wide", gpu_count=4, configuration_level="c2"
    )
    measured(pool, "memory_failure", configuration_id="cfg-broken", gpu_count=2, configuration_level="c3")
    return pool


def ids(response) -> list[str]:
    return [row.record.configuration_id for row in response.context["listing"].table.page.object_list]


def test_the_pool_says_what_it_holds(client, pool):
    page = client.get("/pools/measured/").content.decode()
    assert "3 configurations were measured; no study has been fitted on them yet." in page
    assert "12, 3 of them excluded" in page


def test_the_list_shows_label_and_distance_to_the_margin(client, pool):
    page = client.get("/pools/measured/configurations/").content.decode()
    assert "39,570 MiB · 658 above" in page
    assert "30,000 MiB · 8,912 below" in page
    assert "memory failure" in page
    assert "3 of 3 configurations." in page


def test_a_failure_has_no_peak_and_not_a_zero(client, pool):
    page = client.get("/pools/measured/configurations/?state=memory_failure")
    (row,) = page.context["listing"].table.page.object_list
    assert row.get_cell("peak") == "–"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gpus=4", ["cfg-wide"]),
        ("level=c1", ["cfg-small"]),
        ("state=memory_failure", ["cfg-broken"]),
        ("q=BROKEN", ["cfg-broken"]),
        ("q=cfg+wide", ["cfg-wide"]),
        ("q=nothing-like-it", []),
        ("model=Qwen/Qwen2.5-7B-Instruct&workload=math", ["cfg-broken", "cfg-small", "cfg-wide"]),
    ],
)
def test_filters_narrow_the_list(client, pool, query, expected):
    assert ids(client.get(f"/pools/measured/configurations/?{query}")) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("-gpu_count", "cfg-wide"),
        ("label", "cfg-small"),
        ("-label", "cfg-broken"),
        ("-peak", "cfg-wide"),
        ("configuration_id", "cfg-broken"),
        ("no-such-column", "cfg-broken"),
    ],
)
def test_columns_sort(client, pool, sort, expected):
    assert ids(client.get(f"/pools/measured/configurations/?sort={sort}"))[0] == expected


@pytest.mark.parametrize("sort", ["peak", "-peak"])
def test_a_configuration_without_a_peak_comes_last_either_way(client, pool, sort):
    assert ids(client.get(f"/pools/measured/configurations/?sort={sort}"))[-1] == "cfg-broken"


def test_an_empty_result_says_so(client, pool):
    page = client.get("/pools/measured/configurations/?q=nothing").content.decode()
    assert "No configuration matches these filters." in page
    assert "0 of 3 configurations match." in page
    assert "Show all" in page


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("gpus=nine", "GPUs is &#x27;nine&#x27;, expected one of: 2, 4"),
        ("state=fine", "Label is &#x27;fine&#x27;, expected one of: within_margin, above_margin"),
        ("q=" + "x" * 101, "at most 100 characters"),
    ],
)
def test_a_wrong_filter_value_is_named(client, pool, query, message):
    response = client.get(f"/pools/measured/configurations/?{query}")
    assert response.status_code == 400
    assert message in response.content.decode()
    assert client.get(f"/pools/measured/configurations.csv?{query}").status_code == 400


@pytest.mark.parametrize("query", ["page=0", "page=nine", "page=999", "per_page=100000", "sort=", "q=%00"])
def test_odd_addresses_do_not_break_the_list(client, pool, query):
    assert client.get(f"/pools/measured/configurations/?{query}").status_code in (200, 400)


def test_the_address_cannot_ask_for_all_rows_at_once(client):
    pool = make_pool(slug="large")
    for number in range(60):
        measured(pool, configuration_id=f"cfg-{number:03}")
    for query in ("", "?per_page=1000", "?rows-per-page-is-fixed=1000"):
        response = client.get(f"/pools/large/configurations/{query}")
        assert len(ids(response)) <= 60
        assert "60 of 60 configurations." in response.content.decode()
    first = client.get("/pools/large/configurations/?per_page=1000")
    assert len(ids(first)) == 50
    assert ids(client.get("/pools/large/configurations/?page=2")) == [f"cfg-{n:03}" for n in range(50, 60)]


def rows_of(response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_download_holds_the_whole_filtered_list(client, pool):
    response = client.get("/pools/measured/configurations.csv?gpus=2&sort=-configuration_id")
    assert response["Content-Disposition"] == 'attachment; filename="measured-configurations.csv"'
    rows = rows_of(response)
    assert [row["configuration_id"] for row in rows] == ["cfg-small", "cfg-broken"]
    assert rows[1]["max_completed_run_peak_mib"] == "", "blank is not zero"
    assert rows[0]["observed_state"] == "within_margin"


def test_a_spreadsheet_cannot_run_a_cell(client):
    pool = make_pool(slug="hostile")
    measured(pool, configuration_id="=1+1", model_name="@SUM(A1)", save_freq=-1)
    (row,) = rows_of(client.get("/pools/hostile/configurations.csv"))
    assert row["configuration_id"] == "'=1+1"
    assert row["model_name"] == "'@SUM(A1)"
    assert row["save_freq"] == "-1", "a number is no formula"


def test_the_number_of_queries_does_not_grow_with_the_pool(client, django_assert_max_num_queries):
    for slug, number in (("few", 3), ("many", 80)):
        pool = make_pool(slug=slug)
        for place in range(number):
            measured(pool, configuration_id=f"{slug}-{place}", source_study=f"source-{place % 3}")
    for address in ("/pools/{}/configurations/", "/pools/{}/"):
        counts = []
        for slug in ("few", "many"):
            with django_assert_max_num_queries(20) as captured:
                client.get(address.format(slug))
            counts.append(len(captured))
        assert counts[0] == counts[1], address


@pytest.mark.parametrize("address", ["", "configurations/", "configurations.csv"])
def test_an_unknown_pool_is_not_found(client, address):
    assert client.get(f"/pools/nowhere/{address}").status_code == 404
