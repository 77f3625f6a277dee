"""Proposals of an issue, worked through with the keys alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.admission.threads import issue_object
from tests.conftest import ROOT

ADDRESS = "/admission/octo/cat/7/proposals/"
BODY = "It needed 6,713,560,268 bytes. PR #12 is open. The receipt is run/receipt.json (af823635)."


@pytest.fixture
def proposed(live_site, tmp_path) -> None:
    """An issue with three proposals on the served site."""
    path = tmp_path / "issue.json"
    path.write_text(json.dumps(issue_object(BODY)))
    command = [sys.executable, ROOT / "manage.py", "import_issue", path]
    # The served site's own settings, not those of the tests.
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(command, check=True, env={**own, "DATA_DIR": str(live_site.data)})


@pytest.mark.browser
@pytest.mark.usefixtures("proposed")
def test_move_change_accept_and_reject_without_a_mouse(open_window, live_site):
    page = open_window(1280, 900)
    page.goto(f"/admin/login/?next={ADDRESS}")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.keyboard.press("Enter")
    page.get_by_text("3 things named in the text wait for a decision").wait_for()

    current = page.locator("[data-current]")
    first = current.get_attribute("id")
    page.keyboard.press("j")
    assert current.get_attribute("id") != first
    page.keyboard.press("k")
    assert current.get_attribute("id") == first

    # The first is the size: give it a label, see what would be recorded, record it.
    page.keyboard.press("c")
    page.keyboard.press("Tab")
    page.keyboard.type("needed in all")
    page.keyboard.press("Enter")
    page.get_by_text("This would be recorded").wait_for()
    page.locator("[data-do=record]:focus").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("2 things named in the text wait for a decision").wait_for()

    page.locator("[data-current]:focus").wait_for()
    page.keyboard.press("r")
    page.get_by_text("1 thing named in the text waits for a decision").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
