"""A refit from the button to its result, in a real browser."""

import re

import pytest

from tests.browser.conftest import browser, live_site, open_window, page, watch  # noqa: F401

pytestmark = pytest.mark.browser


def test_a_refit_runs_from_the_button_to_its_result(page, live_site):  # noqa: F811
    page.goto("/login/?next=/studies/estimation/")
    page.locator("[name=username]").fill("admin")
    page.locator("[name=password]").fill(live_site.password)
    page.locator("main").get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Refit").click()
    page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    # The page follows the job by itself and shows all of it at its end.
    result = page.get_by_role("heading", name="Result")
    result.wait_for(timeout=120_000)
    bar = page.get_by_role("progressbar")
    assert bar.evaluate("bar => bar.value === bar.max && bar.max > 1")
    assert (
        "predicted values and the fitted parameters are as recorded" in page.locator(".sentence").inner_text()
    )
    page.get_by_role("link", name="Everything as JSON").wait_for()
    page.locator("#result + ul a").first.click()
    page.wait_for_url(re.compile(r"/studies/estimation/"))


def test_the_page_of_a_job_needs_no_script(open_window, live_site):  # noqa: F811
    page = open_window(1280, 900, java_script_enabled=False)  # noqa: F811
    page.goto("/login/?next=/studies/estimation/")
    page.locator("[name=username]").fill("admin")
    page.locator("[name=password]").fill(live_site.password)
    page.locator("main").get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Evaluate").click()
    # It reloads itself until the job has ended.
    page.get_by_role("heading", name="Result").wait_for(timeout=120_000)
    assert "configurations are resolved" in page.locator(".sentence").inner_text()
