"""Amendment 01 of the real study, recorded in the admin by hand, before and after the first attempt."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import requests

from tests.api.logs import OUT_OF_MEMORY
from tests.api.panel import amendment_one
from tests.browser.conftest import started_site
from tests.conftest import ROOT
from tests.site.prepared import prepared_folder

TITLE = "Memory estimation, seven-billion panel"


@pytest.fixture(scope="module")
def live_site(tmp_path_factory):
    """A site of this module's own, because what is recorded in it stays."""
    with started_site(prepared_folder(tmp_path_factory, "amended-site")) as site:
        yield site


@pytest.fixture(scope="module")
def secret(live_site) -> str:
    """Key for a draft of the real study: base protocol, targets and slots, nothing else."""
    environment = {
        **os.environ, "DATA_DIR": str(live_site.data), "DJANGO_SETTINGS_MODULE": "rlvram_site.settings",
        "RLVRAM_MODE": "embedded", "DATABASE_URL": f"sqlite:///{live_site.data}/site.sqlite3",
    }  # fmt: skip
    made = subprocess.run(
        [sys.executable, "-m", "tests.browser.draft_study"], cwd=ROOT, env=environment, text=True,
        capture_output=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return made.stdout.strip().splitlines()[-1]


def record(page, updates, date: str = "") -> str:
    """Fill in the form, look at the preview, record; returns the word that the preview shows."""
    page.goto("/admin/studies/amendment/add/")
    page.locator("#id_study").select_option(label=f"{TITLE} (draft)")
    page.locator("#id_updates").fill(json.dumps(updates))
    page.locator("#id_reason").fill("the sign of a coefficient")
    if date:
        page.locator("#id_amended_at_0").fill(date)
        page.locator("#id_amended_at_1").fill("00:00:00")
    page.get_by_role("button", name="Show what it changes").click()
    word = page.locator("#word").inner_text()
    page.get_by_role("button", name="Record it for good").click()
    page.get_by_text(f"By the ledger: {word}.").wait_for()
    return word


def test_the_product_says_what_each_amendment_is(page, live_site, secret):
    page.goto("/admin/login/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.get_by_role("button", name="Log in").click()
    assert record(page, amendment_one()) == "amendment"

    headers = {"Authorization": f"Api-Key {secret}"}
    api = f"{live_site.url}/api/v1/studies/draft/"
    slot = requests.get(f"{api}slots/", headers=headers, timeout=30).json()["results"][0]["experiment_id"]
    failed = {"invocation_id": "first", "slot": slot, "exit_code": 1, "log": OUT_OF_MEMORY}
    answer = requests.post(f"{api}attempts/", json=failed, headers=headers, timeout=30)
    assert answer.json()["outcome"] == "memory_failure"

    back = [*amendment_one()["features"][:-1], "actor_parameter_offload"]
    assert record(page, {"features": back}, date="2020-01-01") == "deviation"
    listed = requests.get(f"{api}amendments/", headers=headers, timeout=30).json()["results"]
    assert [item["word"] for item in listed] == ["amendment", "deviation"]
    assert listed[1]["amended_at"].startswith("2020-01-01")


def test_the_api_documents_itself_in_the_browser(page, live_site):
    page.goto("/api/v1/docs/")
    page.get_by_text("Memory studies").first.wait_for()
    page.get_by_text("/api/v1/studies/{study}/attempts/batch/").first.wait_for()
