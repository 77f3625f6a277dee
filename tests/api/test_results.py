"""What became of a study, for programs: the published figures as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections import defaultdict

import pytest

from studies.models import Study
from studies.services.scores.flat import flat_cells
from studies.services.scores.panel import load_panel

BASE = "/api/v1/studies/estimation/"
TABLES = ("configurations-flat/", "confusion/", "fits/", "pairs/", "costs/")


def rows_of(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_the_same_as_json_and_as_csv(client, sample_studies, table):
    answer = client.get(BASE + table)
    assert answer.status_code == 200
    body = answer.json()
    rows = body if isinstance(body, list) else body["results"]
    flat = rows_of(client.get(f"{BASE}{table}?format=csv"))
    assert rows
    assert [list(row) for row in flat] == [list(row) for row in rows]
    again = client.get(BASE + table, headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304
    assert client.get(f"{BASE}{table}?colour=red").status_code == 400
    assert client.get(f"/api/v1/studies/nothing/{table}").status_code == 404


def test_the_flat_table_has_what_was_observed_and_every_unscored_approval(client, sample_studies):
    rows = {
        row["configuration_id"]: row for row in client.get(BASE + "configurations-flat/").json()["results"]
    }
    panel = load_panel(Study.objects.get(slug="estimation"))
    assert len(rows) == 12
    for row in panel.rows:
        shown = rows[row.configuration.configuration_id]
        assert flat_cells(row).items() <= shown.items()
        assert shown["gpu_count"] == row.configuration.gpu_count
    assert sum(row["donor_copy_unscored_approval"] for row in rows.values()) == 6
    assert sum(row["component_regression_unscored_approval"] for row in rows.values()) == 3


def test_a_page_of_the_flat_table_reads_only_its_rows(client, sample_studies, django_assert_max_num_queries):
    with django_assert_max_num_queries(30):
        first = client.get(BASE + "configurations-flat/?page_size=2&gpu_count=4").json()
    assert [row["gpu_count"] for row in first["results"]] == [4, 4]
    assert first["next"]


def test_confusion_counts_are_the_published_ones(client, sample_studies):
    # retrospective.json of the study: approved and observed, by held-out family.
    counts: dict = defaultdict(int)
    for row in client.get(BASE + "confusion/").json():
        if row["predicted_state"] == "within_margin":
            counts[row["held_out_family"], row["method"], row["observed_state"]] += row["configurations"]
    assert counts["phi4", "component_regression", "above_margin"] == 3
    assert counts["granite33", "component_regression", "memory_failure"] == 4
    assert counts["qwen25", "logistic", "within_margin"] == 16
    assert counts["", "donor_copy", "memory_failure"] == 6


def test_pairs_fits_and_costs_are_the_published_ones(client, sample_studies):
    pairs = client.get(BASE + "pairs/").json()
    assert len(pairs) == 18
    assert {(row["fewer_gpus"], row["more_gpus"]) for row in pairs} == {(2, 4)}
    assert not any(row["both_completed"] for row in pairs)
    found = client.get(BASE + "fits/").json()["results"]
    fits = {row["fold"]: row["parameters"] for row in found if row["kind"] == "fold"}
    assert fits["phi4"]["classifier_iterations"] == [29]
    assert fits["phi4"]["component_coefficients_gib"][0] == pytest.approx(8.970654056937079)
    scopes = {row["scope"]: row for row in client.get("/api/v1/studies/host-capacity/costs/").json()}
    hours = {scope: round(row["known_gpu_seconds"] / 3600, 2) for scope, row in scopes.items()}
    assert (hours["task_provisioned_time"], hours["preflight"]) == (4.89, 0.08)
    assert 5.79 in hours.values()


def test_a_study_without_predictions_says_so(client, sample_studies):
    Study(slug="bare", title="Bare", question="?").save()
    answer = client.get("/api/v1/studies/bare/confusion/")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"]
    assert client.get("/api/v1/studies/bare/costs/").json() == []
