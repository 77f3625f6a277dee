"""Configurations, slots, history, methods and the pool in a real browser."""

from __future__ import annotations

import pytest

from tests.browser.test_study_pages import cut_off, too_wide, wait_for_charts

LIST = "/studies/estimation/configurations/"
CONFIGURATION = f"{LIST}est-qwen25-7b-gsm8k-c2-2gpu/"
PAGES = (
    LIST,
    CONFIGURATION,
    "/studies/host-capacity/configurations/host-qwen25-7b-gsm8k-c2-4gpu/",
    "/studies/estimation/outcomes/",
    "/studies/estimation/outcomes/?set=granite33",
    "/studies/estimation/outcomes/?set=phi4",
    "/studies/estimation/slots/est-qwen25-7b-math-c2-s153-2gpu/",
    "/studies/estimation/attempts/est-qwen25-7b-math-c2-s153-2gpu-j5054339/",
    "/studies/estimation/history/",
    "/studies/estimation/history/?as_of=2026-09-15T16:00:00",
    "/studies/estimation/methods/",
    "/pools/rlvrambench/",
    "/pools/rlvrambench/configurations/",
    "/pools/rlvrambench/configurations/cfg-338d9224eb9d2f3a/",
    "/pools/rlvrambench/configurations/cfg-10644b5d0a82d5c3/",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_renders_without_complaint(open_window, width, scheme):
    """The window itself fails the test on a console error, a failed request or a foreign host."""
    page = open_window(width, 900, color_scheme=scheme)
    for address in PAGES:
        page.goto(address)
        wait_for_charts(page)
        assert page.locator("p.sentence").first.inner_text(), address
        assert not too_wide(page), address
        assert cut_off(page) == [], address


def test_the_list_is_filtered_and_sorted_with_the_keyboard(page):
    page.goto("/pools/rlvrambench/configurations/")
    page.get_by_label("Text").focus()
    page.keyboard.type("phi-4 four_gpu")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=phi-4+four_gpu**")
    assert page.get_by_role("status").inner_text() == "6 of 212 configurations match."
    page.get_by_role("link", name="Largest completed peak").press("Enter")
    page.wait_for_url("**sort=peak**")
    assert page.get_by_label("Text").input_value() == "phi-4 four_gpu"
    head = page.get_by_role("columnheader", name="Largest completed peak")
    assert head.get_attribute("aria-sort") == "ascending"


def test_a_wrong_filter_value_is_told_and_can_be_left(page, watch):
    watch.expect("400")
    page.goto(f"{LIST}?gpus=nine")
    assert "GPUs is 'nine', expected one of: 2, 4" in page.get_by_role("alert").inner_text()
    page.get_by_role("link", name="Show all").click()
    page.wait_for_url(f"**{LIST}")


def test_the_filtered_list_is_downloaded_as_a_file(page):
    page.goto(f"{LIST}?gpus=4")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download these as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert download.value.suggested_filename == "estimation-configurations.csv"
    assert len(lines) == 1 + 6


def test_a_slot_leads_to_its_attempt_and_back(page):
    page.goto("/studies/estimation/outcomes/")
    page.get_by_role("link", name="interrupted during the device check").click()
    page.get_by_role("link", name="est-qwen25-7b-math-c2-s151-2gpu-j5054345").click()
    page.get_by_role("heading", name="Attempt").wait_for()
    page.get_by_role("link", name="est-qwen25-7b-math-c2-2gpu, seed 151").click()
    assert "unresolved: interrupted during the device check" in page.locator("p.sentence").inner_text()


def test_the_drawn_volumes_are_the_listed_ones(page):
    page.goto(CONFIGURATION)
    wait_for_charts(page)
    drawn = page.evaluate(
        """() => Object.fromEntries(document.querySelector('#volumes .plot').data
            .map((trace) => [trace.name, trace.x[trace.y.indexOf('all volumes')]]))"""
    )
    rows = page.locator("h2:text('Component volumes') ~ .beside >> nth=0").locator("tbody tr")
    listed = {
        row.locator("th").inner_text(): float(row.locator("td").last.inner_text()) for row in rows.all()
    }
    assert len(listed) == 8
    assert {name: round(drawn[name], 4) for name in listed} == listed


def test_the_panel_follows_the_moment_typed_in(page):
    page.goto("/studies/estimation/history/")
    field = page.get_by_label("As of (UTC)")
    field.fill("2026-09-15T16:00:00")
    field.press("Enter")
    page.wait_for_url("**as_of=2026-09-15T16**")
    wait_for_charts(page)
    assert "0 of 12 configurations were resolved" in page.locator("p.sentence").inner_text()
    assert page.get_by_label("As of (UTC)").input_value().startswith("2026-09-15T16:00")
    words = page.locator("#history .annotation-text").all_text_contents()
    assert "as of 2026-09-15 16:00:00" in words
    assert page.locator("tr.unknown").count() > 0


def test_a_permalink_lands_on_its_record(page):
    page.goto("/studies/estimation/history/")
    link = page.get_by_role("link", name="Permalink to record").nth(5)
    number = link.inner_text()
    link.click()
    page.wait_for_url(f"**#n{number}")
    assert page.locator("tr:target th").inner_text() == number


def test_two_other_methods_are_compared(page):
    page.goto("/studies/estimation/methods/")
    page.get_by_label("First", exact=True).select_option(label="component regression")
    page.get_by_label("Second").select_option(label="logistic classification")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**left=**")
    assert (
        page.locator("p.sentence").inner_text().startswith(("Component regression and logistic", "Component"))
    )


def test_the_pages_read_without_javascript(open_window):
    page = open_window(1280, 900, java_script_enabled=False)
    for address in (CONFIGURATION, "/studies/estimation/outcomes/", "/studies/estimation/history/"):
        page.goto(address)
        assert "needs JavaScript" in page.locator("main").inner_text()
        assert page.locator("main table").count() > 0


def test_on_paper_every_setting_is_printed(page):
    page.goto(CONFIGURATION)
    wait_for_charts(page)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.get_by_text("Generation engine's share of device memory").last.is_visible()
    assert not page.locator("header.site").is_visible()
