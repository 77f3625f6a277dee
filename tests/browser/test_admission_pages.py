"""Pages of tracked issues in a real browser: nothing overflows, charts are drawn, the day picker works."""

from __future__ import annotations

import pytest

from tests.browser.test_study_pages import open_parts

ISSUE = "/admission/OpenPipe/ART/848/"
PAGES = (
    ISSUE, f"{ISSUE}?as_of=2026-09-17", f"{ISSUE}changes/", f"{ISSUE}witnesses/", f"{ISSUE}receipts/",
    f"{ISSUE}proposals/", f"{ISSUE}s/status-20260917-1/", "/admission/", "/admission/calculator/",
    "/admission/replay/", "/admission/conformance/",
)  # fmt: skip


def drawn(page) -> None:
    open_parts(page)
    for plot in page.locator("[data-figure]").all():
        plot.locator("xpath=self::*[@data-ready='true']").wait_for(state="attached")


@pytest.mark.browser
@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_draws_its_charts(address, width, scheme, open_window):
    page = open_window(width, 900, color_scheme=scheme)
    page.goto(address)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("h1").count() == 1
    assert page.locator("p.sentence").count() == 1


@pytest.mark.browser
def test_the_day_picker_shows_what_held_on_that_day(open_window):
    page = open_window(1280, 900)
    page.goto(ISSUE)
    page.get_by_label("What held at the end of").fill("2026-09-17")
    page.get_by_role("button", name="Show that day").click()
    page.get_by_role("heading", name="What holds on September 17, 2026").wait_for()
    page.get_by_role("link", name="Show what holds now").click()
    page.get_by_role("heading", name="What holds now").wait_for()


@pytest.mark.browser
def test_a_superseded_statement_opens_in_the_list(open_window):
    page = open_window(1280, 900)
    page.goto(f"{ISSUE}?kind=status")
    entry = page.locator("#status-20260923-1")
    assert not entry.locator(".statement").is_visible()
    entry.locator("summary").click()
    entry.get_by_text("5,622,779 logical tokens").wait_for()
    entry.get_by_role("link", name="Permalink to status-20260923-1").click()
    page.wait_for_url(f"**{ISSUE}s/status-20260923-1/")


@pytest.mark.browser
def test_a_shape_is_priced_from_the_keyboard(open_window):
    page = open_window(390, 900)
    page.goto("/admission/calculator/?shape=g16")
    page.get_by_label("Packed tokens N").fill("495955")
    page.get_by_label("Logical tokens L").fill("1052548")
    page.keyboard.press("Enter")
    page.get_by_text("35,753,197,568 B").first.wait_for()


@pytest.mark.browser
def test_on_paper_every_statement_is_open(open_window):
    page = open_window(1280, 900)
    page.goto(f"{ISSUE}?kind=status")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".timeline details:not([open])").count() == 0
    assert not page.locator("nav.filters").first.is_visible()
