"""The study pages in a real browser, wide and narrow, light and dark, with a mouse and with a keyboard."""

from __future__ import annotations

import pytest

PAGES = (
    "/",
    "/studies/estimation/",
    "/studies/estimation/unscored/",
    "/studies/estimation/protocol/",
    "/studies/estimation/pairs/",
    "/studies/estimation/costs/",
    "/studies/estimation/events/",
    "/studies/host-capacity/",
    "/studies/host-capacity/costs/",
)


def open_parts(page) -> None:
    """Unfold what a long page of a phone folds up."""
    while (folded := page.locator("button.open-part:visible")).count():
        folded.first.click()


def wait_for_charts(page) -> None:
    open_parts(page)
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-figure]')].every((plot) => plot.dataset.ready === 'true')"
    )


def too_wide(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def cut_off(page) -> list[str]:
    """Words in charts that reach beyond their chart."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.plot text')].filter((text) => {
            const chart = text.closest('.plot').getBoundingClientRect(), box = text.getBoundingClientRect();
            return box.width && (box.left < chart.left - 1 || box.right > chart.right + 1
                || box.top < chart.top - 1 || box.bottom > chart.bottom + 1);
        }).map((text) => text.textContent)"""
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


def test_the_sentence_and_the_figure_say_the_same(page):
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    assert (
        "donor copy approved all twelve (six failed, six unscored)" in page.locator("p.sentence").inner_text()
    )
    drawn = page.evaluate(
        """() => Object.fromEntries(document.querySelector('#panel .plot').data
            .filter((trace) => trace.type === 'bar').map((trace) => [trace.meta.state, trace.x.length]))"""
    )
    assert drawn == {
        "approved_failed": 6,
        "rejected_rightly": 12,
        "approved_unscored": 6,
        "approved_unscored_known_failure": 3,
        "rejected_unscored": 9,
    }
    assert page.locator("#panel .bars .point").count() == 36


def test_pointing_at_a_cell_says_what_it_is(page):
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    cell = page.locator("#panel .bars .point").first.bounding_box()
    page.mouse.move(cell["x"] + cell["width"] / 2, cell["y"] + cell["height"] - 6)
    label = page.locator("#panel .hoverlayer .hovertext")
    label.wait_for()
    assert "donor copy: approved, failed" in label.text_content()


def test_a_figure_offers_its_data_and_pictures_under_the_content_security_policy(page):
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    assert page.locator("#panel .modebar-btn").count() == 0  # nothing in it can be moved
    page.locator("#panel .figure-data summary").click()
    table = page.locator("#panel .figure-data table")
    assert table.locator("tbody tr").count() == 12
    for name, start in (("CSV", b"Configuration,Row,"), ("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as download:
            page.locator("#panel .figure-data").get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"panel.{name.lower()}"
        assert download.value.path().read_bytes().startswith(start)
    table.get_by_role("link", name="est-qwen25-7b-math-c2-2gpu").press("Enter")
    page.wait_for_url("**/configurations/est-qwen25-7b-math-c2-2gpu/")


def test_a_mark_opens_what_it_stands_for_by_mouse_and_by_touch(page, phone_page):
    for window in (page, phone_page):
        window.goto("/studies/estimation/")
        wait_for_charts(window)
        cell = window.locator("#panel .bars .point").first
        cell.scroll_into_view_if_needed()
        box = cell.bounding_box()
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        window.touchscreen.tap(*middle) if window is phone_page else window.mouse.click(*middle)
        window.wait_for_url("**/configurations/est-qwen25-7b-*/#predictions")


def test_charts_follow_the_theme_while_the_page_is_open(page):
    page.emulate_media(color_scheme="light")
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    colour = "getComputedStyle(document.querySelector('#panel .ytick text')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {colour} !== {light!r}")
    assert page.evaluate(colour) == page.evaluate("getComputedStyle(document.body).color")


def test_charts_take_their_narrow_form_when_the_window_shrinks(page):
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    words = "document.querySelector('#panel .bars .bartext').textContent"
    assert "failed" in page.evaluate(words)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(f"() => !{words}.includes('failed')")
    assert not too_wide(page)
    assert cut_off(page) == []


def test_a_hash_is_copied_whole_with_the_keyboard_and_said_aloud(open_window, live_site):
    page = open_window(1280, 900, permissions=["clipboard-read", "clipboard-write"])
    page.goto("/studies/estimation/")
    button = page.locator("aside button.hash").first
    button.focus()
    page.keyboard.press("Enter")
    whole = "1694e447e842600612604891e7b3d036ff0791fa84c4bdbeba54ed093feefdeb"
    page.get_by_text(f"copied {whole}").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == whole
    assert button.inner_text() == whole[:8]


def test_the_first_tab_skips_to_the_content(page):
    page.goto("/studies/estimation/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_a_table_wider_than_the_phone_scrolls_by_itself_and_takes_focus(phone_page):
    phone_page.goto("/studies/estimation/protocol/")
    open_parts(phone_page)
    wide = "(box) => box.scrollWidth > box.clientWidth"
    table = next(box for box in phone_page.locator(".scroll:visible").all() if box.evaluate(wide))
    assert table.get_attribute("tabindex") == "0"
    assert not too_wide(phone_page)


def test_paper_has_no_navigation_and_whole_tables(page):
    page.goto("/studies/estimation/costs/")
    wait_for_charts(page)
    page.emulate_media(media="print")
    assert not page.locator("header.site").is_visible()
    assert not page.locator(".subnav").is_visible()
    assert page.locator(".scroll").last.evaluate("(box) => getComputedStyle(box).overflowX") == "visible"
    assert page.locator("table").last.is_visible()


def test_charts_go_on_paper_in_light_colours_whatever_the_screen_has(open_window):
    page = open_window(1280, 900, color_scheme="dark")
    page.goto("/studies/estimation/")
    wait_for_charts(page)
    text = "getComputedStyle(document.querySelector('#panel .ytick text')).fill"
    on_screen = page.evaluate(text)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("() => document.querySelector('#panel .plot').dataset.width === '680'")
    assert page.evaluate(text) == "rgb(27, 31, 35)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("() => document.querySelector('#panel .plot').dataset.width !== '680'")
    assert page.evaluate(text) == on_screen


def test_pages_say_the_same_without_javascript(open_window):
    page = open_window(1280, 900, java_script_enabled=False)
    page.goto("/studies/estimation/")
    assert page.locator("p.sentence").inner_text().startswith("Six of twelve configurations are resolved")
    assert page.get_by_text("This chart needs JavaScript").first.is_visible()
    page.get_by_text("The whole panel as a table", exact=True).click()
    assert page.get_by_role("row").filter(has_text="est-qwen25-7b-math-c3-4gpu").first.is_visible()


def test_an_unknown_page_is_calm(page, watch):
    watch.expect("404")
    page.goto("/studies/nowhere/")
    assert page.get_by_role("heading", name="Not found").is_visible()
