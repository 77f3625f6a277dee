"""axe-core, which knows what screen readers, keyboards and weak eyes need, finds nothing on any page.

One page of each kind in the usual window; what differs elsewhere (a phone's cards, the dark theme, filtered,
empty, wrong, opened) on a few that have all of it.
"""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from scripts.pictures import STARTS, addresses, open_page

AXE = Axe()
ONLY_VIOLATIONS = {"resultTypes": ["violations"]}
STATES = (
    "/studies/estimation/",
    "/studies/estimation/configurations/?state=usable&q=nothing-like-it",
    "/studies/estimation/configurations/?gpus=seven",
    "/studies/estimation/unscored/?unscored.q=math&unscored.sort=-1",
    "/studies/estimation/history/?as_of=yesterday",
    "/admission/OpenPipe/ART/848/witnesses/",
    "/admission/OpenPipe/ART/848/receipts/",
    "/admission/calculator/",
    "/login/?next=/admin/",
)


def found(page) -> list[str]:
    violations = AXE.run(page, options=ONLY_VIOLATIONS).response["violations"]
    return [f"{item['id']}: {node['html'][:160]}" for item in violations for node in item["nodes"]]


def open_all(page) -> None:
    """Everything that is folded up stands open."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate("document.querySelectorAll('button.open-part').forEach((button) => button.click())")


def test_one_page_of_each_kind(page, live_site, watch):
    """Without the charts, which take most of the time to draw; the pages of ``STATES`` have every kind."""
    for expected in ("403", "404", "plotly", "ERR_FAILED"):
        watch.expect(expected)
    page.route("**/plotly*.js", lambda route: route.abort())
    problems = {}
    for address in addresses(page.context, live_site.url, STARTS):
        open_page(page, address)
        if violations := found(page):
            problems[address] = violations
    assert problems == {}


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark")])
def test_states_at_another_width_and_theme(open_window, watch, width, scheme):
    watch.expect("400")
    page = open_window(width, 844, color_scheme=scheme)
    problems = {}
    for address in STATES[:: 1 if (width, scheme) == (390, "dark") else 3]:
        open_page(page, address)
        if width == 390:
            open_all(page)
        if violations := found(page):
            problems[address] = violations
    assert problems == {}


def test_the_list_of_keys_and_the_tools_of_tables(page):
    page.goto("/studies/estimation/costs/")
    open_all(page)
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    assert found(page) == []


def test_staff_see_nothing_worse(page, live_site):
    page.goto("/login/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(lambda address: "/login/" not in address)
    problems = {}
    for address in (
        "/",
        "/operating/",
        "/notices/",
        "/views/",
        "/studies/estimation/unscored/?unscored.q=math",
    ):
        open_page(page, address)
        open_all(page)
        if violations := found(page):
            problems[address] = violations
    assert problems == {}
