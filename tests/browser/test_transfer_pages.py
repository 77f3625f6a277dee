"""The transfer suite in a real browser: every page, and the way from inputs to a recorded submission."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.browser.test_study_pages import cut_off, too_wide, wait_for_charts

HOME = "/transfer/rlvrambench/"
PAGES = (
    HOME,
    f"{HOME}methods/",
    f"{HOME}queries/",
    f"{HOME}submissions/",
    f"{HOME}compare/",
    f"{HOME}submit/",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_renders_without_complaint(open_window, width, scheme):
    page = open_window(width, 900, color_scheme=scheme)
    for address in PAGES:
        page.goto(address)
        wait_for_charts(page)
        assert page.locator("h1").inner_text() == "Transfer suite", address
        assert not too_wide(page), address
        assert cut_off(page) == [], address


def test_the_figures_say_what_the_tables_say(page):
    page.goto(HOME)
    wait_for_charts(page)
    drawn = page.evaluate(
        """() => Object.fromEntries(document.querySelector('#gpu_count_transfer .plot').data
            .filter((trace) => trace.type === 'bar').map((trace) => [trace.meta.state, trace.x[0]]))"""
    )
    assert drawn == {
        "useful": 20,
        "approved_above_margin": 4,
        "approved_failed": 2,
        "rejected_usable": -6,
    }


def test_a_stranger_downloads_inputs_copies_the_donors_and_is_scored(page, tmp_path):
    page.goto(HOME)
    with page.expect_download() as download:
        page.get_by_role("link", name="Inputs: another GPU count").click()
    document = json.loads(Path(download.value.path()).read_text())
    path = tmp_path / "predictions.csv"
    path.write_text(copy_donors(document))

    page.get_by_role("link", name="Score predictions").click()
    page.get_by_label("Track").select_option("gpu_count_transfer")
    page.get_by_label("File, CSV or JSON").set_input_files(path)
    page.get_by_role("button", name="Score only").click()
    wait_for_charts(page)
    assert page.get_by_role("status").first.inner_text() == "Scored, not recorded."
    assert "20 of 36" in page.get_by_role("row", name="these predictions").first.inner_text()


def copy_donors(document: dict) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["query_id", "predicted_state"])
    for task in document["tasks"]:
        labels = {
            source["settings"]["configuration_id"]: source["measurements"]["observed_state"]
            for source in task["source"]
        }
        for target in task["targets"]:
            writer.writerow([target["query_id"], labels[target["matched_source_configuration_id"]]])
    return text.getvalue()


def test_every_broken_rule_is_told_beside_the_form(page, watch):
    watch.expect("400")
    page.goto(f"{HOME}submit/")
    page.get_by_label("Track").select_option("horizon_transfer")
    page.get_by_label("Or paste it here").fill("query_id,predicted_state\nquery-x,maybe\n")
    page.get_by_role("button", name="Score only").click()
    told = page.get_by_role("alert").inner_text()
    assert "missing: 4" in told
    assert "unexpected: 1 (query-x)" in told
    assert "invalid state: 1" in told
    assert page.get_by_label("Or paste it here").input_value().startswith("query_id,")


def test_a_task_opens_down_to_the_query(page):
    page.goto(f"{HOME}compare/")
    page.get_by_text("To another GPU count: 12 tasks").click()
    page.locator("details[open] a").first.click()
    assert page.locator("table.queries tbody tr").count() == 3
    page.locator("table.queries tbody tr td a").first.click()
    assert page.locator("h1").inner_text().startswith("cfg-")
