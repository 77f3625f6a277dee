"""The walk of ``docs/own-study.md``, word by word: from a site without the study to its first label.

What the page prints in *slanted* letters is pressed, in its order, and its commands run as they stand; the
outcomes come from ``rlvram-host`` on a machine with fake devices.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LiveSite, started_site
from tests.conftest import ROOT
from tests.gpu_host.conftest import nvml_folder
from tests.jobs.conftest import wait_for
from tests.site.prepared import prepared_folder

__all__ = ["nvml_folder"]
pytestmark = pytest.mark.one_engine("the embedded site")
TARGET = "qwen25-14b-math-short-1gpu-target"
CAPACITY_MIB, PEAK_MIB = 81_559, 61_234
TRAINER = f"""
import json, os, time
from pathlib import Path

state = Path(os.environ["FAKE_NVML_FILE"])

def use(mib):
    visible = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    rows = [line.split() for line in state.read_text().splitlines()]
    part = state.with_suffix(".part")
    new = ((uuid, mib if uuid in visible else used, size) for uuid, used, size in rows)
    part.write_text("".join(f"{{uuid}} {{used}} {{size}}\\n" for uuid, used, size in new))
    part.replace(state)

steps = json.loads(Path(os.environ["RLVRAM_SETTINGS_FILE"]).read_text())["total_training_steps"]
print("Total training steps:", steps, flush=True)
use({PEAK_MIB})
time.sleep(0.35)
for step in range(1, steps + 1):
    print(f"step:{{step}} - actor/pg_loss:0.1 - training/global_step:{{step}}", flush=True)
use(10)
"""


@pytest.fixture(scope="module")
def live_site(tmp_path_factory):
    """A site of its own, because the walk leaves a study behind."""
    with started_site(prepared_folder(tmp_path_factory, "walk")) as site:
        yield site


class Walk:
    """The page's section, and what of its words is still to be pressed."""

    def __init__(self, page: Page) -> None:
        text = (ROOT / "docs" / "own-study.md").read_text()
        section = text.partition("## The whole way, once\n")[2].partition("\n## ")[0]
        (self.commands,) = re.findall(r"^```bash walk\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        self.left = re.findall(r"(?<![*\w])\*([^*]+)\*(?!\*)", section.replace("\n   ", " "))
        self.page = page

    def press(self, name: str) -> None:
        """The next slanted word of the page, which has to be this one."""
        assert self.left.pop(0) == name
        named = self.page.get_by_role("link", name=name, exact=True)
        self.page.get_by_role("button", name=name, exact=True).or_(named).first.click()


@pytest.fixture
def host(tmp_path, nvml_folder, live_site):
    """Runs the page's commands on a machine with eight fake devices; the key comes from the admin."""
    state = tmp_path / "nvml.txt"
    state.write_text("".join(f"GPU-{number} 10 {CAPACITY_MIB}\n" for number in range(8)))
    (tmp_path / "train.py").write_text(TRAINER)
    log = tmp_path / "host.log"
    started: list[subprocess.Popen[bytes]] = []

    def start(commands: str, key: str) -> Path:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
            "LD_LIBRARY_PATH": str(nvml_folder), "FAKE_NVML_FILE": str(state),
            "SITE": live_site.url, "RLVRAM_KEY": key,
        }  # fmt: skip
        with log.open("wb") as output:
            started.append(
                subprocess.Popen(
                    ["bash", "-euc", commands], cwd=tmp_path, env=environment, stdout=output, stderr=output,
                    start_new_session=True,
                )
            )  # fmt: skip
        return log

    yield start
    for process in started:
        subprocess.run(["pkill", "-TERM", "-s", str(process.pid)], check=False)
        process.wait(timeout=60)


def log_in(page: Page, site: LiveSite) -> None:
    page.goto(site + "/login/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Log in").click()
    page.goto(site + "/")


def wait_for_job(page: Page) -> None:
    """Its page follows it by itself."""
    expect(page.locator(".job-live")).to_have_attribute("data-state", "succeeded", timeout=240_000)


def test_from_nothing_to_the_first_label(open_window, live_site: LiveSite, host):
    page: Page = open_window(1280, 900)
    log_in(page, live_site)
    walk = Walk(page)
    walk.press("Begin a study of your own")
    walk.press("Begin with the example")
    expect(page.get_by_text("Nothing is missing")).to_be_visible()
    walk.press("Record and freeze the protocol")
    study = page.url
    expect(page.get_by_text("Frozen", exact=False).first).to_be_visible()
    walk.press("Predict and seal")
    wait_for_job(page)
    page.goto(study)
    expect(page.get_by_text("Sealed before the first launch").first).to_be_visible()
    expect(page.get_by_text("0 of 16 configurations resolved").first).to_be_visible()

    page.goto(live_site + "/admin/")
    walk.press("Issue an API key")
    page.get_by_label("Name:").fill("gpu-1")
    page.get_by_label("Owner:").select_option(label="admin")
    for scope in ("read", "attempts", "hosts"):
        page.locator(f"input[name=scopes][value={scope}]").check()
    walk.press("Save")
    log = host(walk.commands, page.locator("#secret").inner_text())
    wait_for(lambda: "gpu-1 waits for slots" in log.read_text(), "the host")

    page.goto(live_site + "/")
    walk.press("Hosts")
    walk.press("gpu-1")
    page.get_by_label("Study", exact=True).select_option("example-14b")
    walk.press("Show its open slots")
    boxes = page.get_by_role("checkbox", name=re.compile(TARGET))
    expect(boxes).to_have_count(5)
    for box in boxes.all():
        box.check()
    walk.press("Run them on gpu-1")
    wait_for_job(page)
    expect(page.get_by_text("5 of 5 slots launched, 5 ended, 5 uploaded, 5 recorded.").first).to_be_visible()

    page.goto(study)
    expect(page.get_by_text("1 of 16 configurations resolved").first).to_be_visible()
    walk.press("Configurations")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=TARGET))
    expect(row).to_contain_text("within margin")
    row.get_by_role("link", name=TARGET).click()
    expect(page.locator("main")).to_contain_text(f"{PEAK_MIB:,}")
    page.goto(study)
    walk.press("Unscored")
    expect(page.locator("main")).not_to_contain_text(TARGET)
    page.goto(study)
    walk.press("Methods")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Methods")
    assert walk.left == []
