"""A theme of one's own, and the list of keys, in a real browser."""

from __future__ import annotations


def surface(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_chosen_theme_is_kept_and_figures_follow_it(open_window):
    page = open_window(1280, 900, color_scheme="light")
    page.goto("/studies/estimation/costs/")
    light = surface(page)
    page.select_option("#theme", "dark")
    dark = surface(page)
    assert dark != light
    drawn = "document.querySelector('.js-plotly-plot')?._fullLayout.font.color"
    page.wait_for_function(
        f"{drawn} === getComputedStyle(document.documentElement).getPropertyValue('--text').trim()"
    )
    page.goto("/docs/glossary/")
    assert surface(page) == dark
    assert page.input_value("#theme") == "dark"
    page.select_option("#theme", "")
    assert surface(page) == light


def test_the_question_mark_lists_the_keys(page):
    page.goto("/docs/")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    page.get_by_role("button", name="Keys").click()
    page.get_by_role("button", name="Close").click()
    assert not page.locator("#keys").is_visible()


def test_the_current_tab_is_in_sight_on_a_phone(phone_page):
    phone_page.goto("/studies/estimation/events/")
    tab = phone_page.locator(".subnav [aria-current]").bounding_box()
    assert tab["x"] >= 0
    assert tab["x"] + tab["width"] <= 390
