"""Planned slots on a Slurm cluster, with a fake ``sbatch`` that runs the array here and a fake ``sacct``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from host.errors import Refused
from host.order import Order
from host.slurm import _tasks, groups_of, record
from studies.models import Attempt, NonLaunch, SeedSlot
from tests.gpu_host.test_hosts import Serving, host_key, serving, staff  # noqa: F401

SBATCH = """#!/bin/bash
# Runs each task of the array but those in CANCELLED, one after the other.
script="${@: -1}"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
for task in $(seq 0 "$last"); do
    case " $CANCELLED " in *" $task "*) continue ;; esac
    SLURM_ARRAY_JOB_ID=900 SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=$((901 + task)) \\
        bash "$script" >> "$(dirname "$script")/out" 2>&1 || true
done
echo "900;cluster"
"""
SACCT = """#!/bin/bash
case "$*" in
*" -X "*) for task in $CANCELLED; do
    echo "900_$task|90$task|rlvram-demo|CANCELLED by 7|0:0|Unknown|Unknown|0||None assigned|Priority"
  done ;;
esac
"""


@pytest.fixture
def cluster(serving, tmp_path):  # noqa: F811
    """The served site, and a folder with the fake programs in front of the path."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("sacct", SACCT)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    key_file = tmp_path / "key"
    key_file.write_text(serving.key)
    key_file.chmod(0o600)
    serving.machine.environment |= {
        "PATH": f"{tools}:{os.environ['PATH']}", "RLVRAM_KEY_FILE": str(key_file), "CANCELLED": "",
    }  # fmt: skip
    return serving


def slurm(cluster: Serving, *arguments: str, **environment: str):
    return cluster.machine.host(
        "slurm", "demo", "--url", cluster.site.url, "--dir", cluster.machine.home, "--programs",
        cluster.programs, "--program", "train", *arguments, **environment,
    )  # fmt: skip


def test_an_array_runs_each_open_slot_once_and_uploads_it(cluster):
    cluster.allow("use(20000 + int(sys.argv[1]), 1000)\ncomplete()\n")
    done = slurm(cluster, "--limit", "2", "--at-most", "4", "--sbatch=--partition=gpu", "--submit")
    assert done.returncode == 0, done.stderr
    script, submitted = done.stdout.splitlines()
    assert submitted == "submitted as 900"
    text = Path(script).read_text()
    for line in (
        "#SBATCH --array=0-1%4",
        "#SBATCH --partition=gpu",
        "#SBATCH --gpus-per-node=2",
        "#SBATCH --nodes=1",
    ):
        assert f"{line}\n" in text
    assert cluster.key not in text
    slots = list(SeedSlot.objects.order_by("pk")[:2])
    rows = list(Attempt.objects.order_by("pk"))
    assert [(row.slot, row.outcome, row.job_id) for row in rows] == [
        (slots[0], "completed", "901"), (slots[1], "completed", "902"),
    ]  # fmt: skip
    # Submitted again, nothing is launched again; the next array has the slots that are still open.
    again = cluster.machine.host(
        "slurm-task", Path(script).parent, "--url", cluster.site.url, "--dir", cluster.machine.home,
        "--programs", cluster.programs, SLURM_ARRAY_TASK_ID="0",
    )  # fmt: skip
    assert (again.returncode, "was launched once already" in again.stdout) == (1, True)
    assert Attempt.objects.count() == 2
    following = Path(slurm(cluster).stdout.strip())
    first = json.loads((following.parent / "0.json").read_text())[0]
    assert first["slot"] == SeedSlot.objects.order_by("pk")[2].experiment_id


def test_what_was_cancelled_before_it_ran_is_reported(cluster):
    cluster.allow("complete()\n")
    done = slurm(cluster, "--limit", "3", "--submit", CANCELLED="1")
    place = Path(done.stdout.splitlines()[0]).parent
    told = cluster.machine.host("slurm-report", place, "--dir", cluster.machine.home, CANCELLED="1")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert [row["launched"] for row in rows] == [True, False, True]
    assert [row.get("recorded") for row in rows] == [True, None, True]
    assert rows[1]["problem"] == "never launched: CANCELLED (Priority)"
    for _ in range(2):  # the second time it is found there
        done = cluster.machine.host(
            "slurm-record", place, "--dir", cluster.machine.home, "--url", cluster.site.url, CANCELLED="1"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert [json.loads(line).get("recorded") for line in done.stdout.splitlines()] == [True, True, True]
    known = NonLaunch.objects.get()
    assert (known.slot.experiment_id, known.reason) == (rows[1]["slot"], rows[1]["problem"])
    assert known.facts == {"job_id": "900", "task": 1, "scheduler_state": "CANCELLED"}


class Told:
    """Stands for the site: keeps what it is told, and knows that one slot was launched elsewhere."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, dict]] = []

    def json(self, method: str, path: str, body: dict) -> dict:
        self.sent.append((method, path, body["non_launches"][0]))
        if body["non_launches"][0]["slot"] == "s-3":
            raise Refused("400 invalid: 's-3' has an attempt, so it was launched", 400)
        return body


def test_only_what_the_scheduler_ended_unlaunched_is_recorded_as_such(tmp_path):
    (tmp_path / "job").write_text("900\n")
    words = [("s-0", "COMPLETED", True), ("s-1", "CANCELLED", False), ("s-2", "PENDING", False),
             ("s-3", "NODE_FAIL", False), ("s-4", "", False)]  # fmt: skip
    rows = []
    for task, (slot, word, launched) in enumerate(words):
        (tmp_path / f"{task}.json").write_text(json.dumps([{"slot": slot, "study": "demo"}]))
        rows.append({"slot": slot, "task": task, "scheduler": word, "launched": launched})
        if not launched:
            rows[-1]["problem"] = f"never launched: {word}"
    site = Told()
    record(site, tmp_path, rows)
    assert [(method, path, row["slot"]) for method, path, row in site.sent] == [
        ("POST", "studies/demo/non-launches/", "s-1"), ("POST", "studies/demo/non-launches/", "s-3"),
    ]  # fmt: skip
    assert site.sent[0][2] == {
        "slot": "s-1", "diagnosis": "not_started", "reason": "never launched: CANCELLED",
        "facts": {"job_id": "900", "task": 1, "scheduler_state": "CANCELLED"},
    }  # fmt: skip
    assert [row.get("recorded") for row in rows] == [None, True, None, False, None]
    assert "was launched" in rows[3]["refused"]


def test_an_array_is_not_submitted_whose_tasks_would_have_no_key(cluster):
    environment = {"RLVRAM_KEY_FILE": "", "RLVRAM_KEY": cluster.key}
    refused = slurm(cluster, "--submit", **environment)
    assert (refused.returncode, "RLVRAM_KEY_FILE is not set" in refused.stderr) == (2, True)
    assert not (cluster.machine.home / "arrays").exists()
    # Only written, it may be submitted from where the file is known.
    script = Path(slurm(cluster, **environment).stdout.strip()).read_text()
    assert cluster.key not in script
    assert "export RLVRAM_KEY_FILE" not in script


def test_slots_of_a_pair_run_in_one_allocation_in_the_recorded_order():
    orders = [
        Order("demo", f"s{number}", number, 60, program="train", pair=pair)
        for number, pair in enumerate(["a", "", "b", "a", "b"])
    ]
    assert [[order.slot for order in group] for group in groups_of(orders)] == [
        ["s0", "s3"],
        ["s1"],
        ["s2", "s4"],
    ]


def test_the_program_of_an_array_is_one_that_the_file_allows(cluster):
    refused = slurm(cluster, "--program", "sh")
    assert (refused.returncode, "one that this host runs for demo: train" in refused.stderr) == (2, True)
    assert not (cluster.machine.home / "arrays").exists()


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("3", [3]), ("[4-7]", [4, 5, 6, 7]), ("[1,5-6%2]", [1, 5, 6]), ("", []), ("batch", [])],
)
def test_tasks_as_sacct_names_them(text, tasks):
    assert _tasks(text) == tasks
