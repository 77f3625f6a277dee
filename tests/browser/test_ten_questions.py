"""Ten questions of a reviewer, each answered by what is visible after at most three clicks from home.

Published figures: `estimation/results/evaluation.json`, `processes.csv` and `costs.json` of the archive,
the seal and the scheduler's records there, and the long thread of OpenPipe/ART#848.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page

MOST_CLICKS = 3
STUDY = "Memory estimation, seven-billion panel"
FOLLOW_UP = "Expanded host memory, follow-up"
ISSUE = "TrainerRank MoE memory admission: backward-recompute OOM and profile calibration failures"


class Path:
    """A way from home; it ends after three clicks, and reads only what can be seen."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0
        page.goto("/")

    def click(self, target: Locator) -> Path:
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS
        target.click()
        self.page.wait_for_load_state()
        return self

    def link(self, name: str, place: str = "main") -> Path:
        return self.click(self.page.locator(place).get_by_role("link", name=name, exact=True).first)

    def tab(self, name: str) -> Path:
        return self.link(name, "nav.subnav")

    def answers(self, *words: str) -> None:
        """Each of these stands on the page where a reader sees it."""
        shown = " ".join(self.page.locator("main").inner_text().split())
        assert [word for word in words if word not in shown] == []


@pytest.fixture
def home(page) -> Path:
    return Path(page)


def test_which_approvals_of_donor_copy_are_unscored_and_what_would_resolve_each(home):
    home.link(STUDY).tab("Unscored").answers(
        "Donor copy has six unscored approvals; three already have a known failure.",
        "three can only become memory failures",
        "est-qwen25-7b-gsm8k-c2-4gpu",
        "est-qwen25-7b-code_heavy_tail-c2-4gpu",
        "est-qwen25-7b-math-c2-2gpu",
        "est-qwen25-7b-math-c2-4gpu",
        "est-qwen25-7b-math-c3-2gpu",
        "est-qwen25-7b-math-c3-4gpu",
        "one failure known: can only become a memory failure",
        "two failures known: can only become a memory failure",
        "Nothing can resolve it any more: seeds 151 and 153 have each used the one attempt",
    )


def test_why_is_math_c2_on_two_gpus_unresolved(home):
    home.link(STUDY).tab("Unscored").link("est-qwen25-7b-math-c2-2gpu").answers(
        "interrupted during the device check, when its allocation was cancelled",
        "set-up error before the model was loaded",
        "row est-qwen25-7b-math-c2-s151-2gpu-j5054345 of benchmark/estimation/results/processes.csv",
        "row est-qwen25-7b-math-c2-s153-2gpu-j5054339 of benchmark/estimation/results/processes.csv",
    )


def test_which_granite_settings_does_the_regression_approve_that_failed(home):
    home.link(STUDY).link(
        "Component regression approves four memory-failing Granite configurations (4 of 4)."
    )
    home.answers("Component regression: four of 30 configurations of held-out Granite are approved, failed.")
    rows = home.page.locator("table tbody tr")
    assert rows.count() == 4
    assert all("Granite" in text or "granite" in text for text in rows.all_inner_texts())


def test_by_how_much_was_the_seal_before_the_first_launch_whose_clock_and_how_to_check(home):
    home.link(STUDY).answers(
        "20 min 22 s before the first launch",
        "job 5054339 at 2026-09-15 14:30:44 UTC",
        "The clock of the seal is its source's (RLVRAMBench, Ondřej Kobza and Jan Šedivý, MIT)",
        "that of the launch the scheduler's",
        "python manage.py verify_study estimation --archive PATH --refit",
    )


def test_what_did_the_amendment_change_why_and_what_would_have_made_it_a_deviation(home):
    home.link(STUDY).tab("Protocol").answers(
        "actor_parameter_offload",
        "resident_actor_shards_gib",
        "Why: A review of the code before launch found",
        "What would have made it a deviation:",
        "After record 383 the same change would have been a deviation",
    )


def test_what_did_the_follow_up_change_for_the_conclusion(home):
    home.link(FOLLOW_UP).link("What it changed, side by side").answers(
        "two ended alike (memory failure), three ended alike (unresolved) and one went from unresolved to "
        "memory failure; one label changed.",
        "The conclusion stays: no approval of any method turned out useful, there or here.",
        "6 of 12",
        "3 of 6",
        "There: est-qwen25-7b-math-c2-2gpu",
        "Here: host-qwen25-7b-math-c2-2gpu",
    )


def test_what_did_the_panel_cost_and_what_of_it_for_failures_and_unresolved(home):
    home.link(STUDY).tab("Costs").answers(
        "4.97 GPU-hours as task-provisioned GPU time",
        "6.15 GPU-hours as reservation during invocations",
        "6.47 GPU-hours as whole allocation",
        "2.40 GPU-hours went to 23 diagnosed memory failures and 2.57 GPU-hours went to eleven attempts",
    )


def test_what_holds_for_the_issue_what_did_it_replace_and_which_heads_have_no_verdict(home):
    home.link(ISSUE).answers(
        "corrections merged; the broader problem is open",
        "replaced “additional workloads qualified; general issue open” of 2026-09-23",
        "Heads that need a verdict",
        "Not merged: 3",
        "Private candidate: mixed-gradient floor",
        "Merged: 13",
        "#891",
    )


def test_which_decisions_were_unsafe_and_by_how_many_bytes(home):
    home.link(ISSUE).answers(
        "11 unsafe decisions",
        "1,009,317,315 B (0.940 GiB) short: the failed request less what was free",
        "5,921,344 B (0.006 GiB) measured above what was usable",
        "≤ 9,008,693,903 B (8.390 GiB) short at most",
    )


def test_how_did_study_and_issue_stand_on_a_given_day(page):
    study = Path(page).link(STUDY).tab("History")
    page.get_by_label("As of (UTC)").fill("2026-09-15T15:55:00")
    study.click(page.get_by_role("button", name="Show what was known"))
    study.answers("At 2026-09-15 15:55:00 UTC", "0 of 12 configurations were resolved")
    issue = Path(page).link(ISSUE)
    page.get_by_label("What held at the end of").fill("2026-09-17")
    issue.click(page.get_by_role("button", name="Show that day"))
    issue.answers("unresolved; reopened after #907 had closed it", "What holds on September 17, 2026")
    assert not re.search("#971|September 25", page.locator("main").inner_text())
