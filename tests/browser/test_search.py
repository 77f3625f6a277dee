"""Searching with the keyboard alone, in a real browser."""

from __future__ import annotations


def test_from_any_page_to_an_attempt_without_the_mouse(page, live_site):
    page.goto("/studies/estimation/costs/")
    page.keyboard.press("/")
    page.keyboard.type("gsm8k c2 s151 4gpu j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=*")
    field = page.locator("#query")
    assert field.input_value() == "gsm8k c2 s151 4gpu j"
    page.keyboard.press("/")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    chosen = page.locator("a.result:focus")
    name = chosen.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/estimation/**")
    assert name in page.locator("main").inner_text()
