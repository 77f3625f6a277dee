"""A host from its registration to attempts in the dashboard: assigned on its page, run from its queue."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
import requests
from django.contrib.auth import get_user_model

from rlvram_site.api.keys import issue_key
from studies.jobs import claims
from studies.jobs.starting import start
from studies.models import Attempt, Host, Job, SeedSlot
from tests.factories import make_small_study
from tests.gpu_host.conftest import PRELUDE
from tests.jobs.conftest import wait_for
from tests.upload.site import Site


@pytest.fixture
def staff(transactional_db):
    return get_user_model().objects.create_user("staff", password="a long pass phrase", is_staff=True)


@pytest.fixture
def host_key(staff) -> str:
    return issue_key(name="gpu-1", owner=staff, scopes=["read", "hosts", "attempts"])[1]


class Serving:
    """A site, and ``rlvram-host serve`` on the machine with fake devices."""

    def __init__(self, machine, key: str) -> None:
        self.machine, self.key = machine, key
        self.study = make_small_study(slug="demo")
        self.site = Site()
        self.hosts: list[subprocess.Popen[str]] = []
        self.programs = machine.folder / "programs.json"
        self.allow("pass\n")

    def allow(self, program: str) -> None:
        """From now on the host's own file names this program (Python) as ``train``."""
        script = self.machine.folder / "train.py"
        script.write_text(PRELUDE + program)
        command = [sys.executable, str(script), "{seed}"]
        self.programs.write_text(json.dumps({"train": {"command": command, "studies": ["demo"]}}))
        self.programs.chmod(0o600)

    def start_host(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        path = self.machine.folder / f"host-{len(self.hosts)}.log"
        with path.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "host.command", "serve", "--name", "gpu-1", "--url", self.site.url,
                 "--dir", str(self.machine.home), "--programs", str(self.programs), "--every", "0.2",
                 *arguments],
                env={**self.machine.environment, "RLVRAM_KEY": self.key, **environment},
                stdout=log, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        self.hosts.append(process)

        def waits() -> bool:
            said = path.read_text()
            assert process.poll() is None, said
            return "waits for slots" in said

        wait_for(waits, "the host")
        return process

    def give(self, slots: list[SeedSlot], program: str) -> Job:
        """A job that runs these slots with this program."""
        self.allow(program)
        names = [slot.experiment_id for slot in slots]
        return start("run-slots", self.study, {"host": "gpu-1", "slots": names, "program": "train"})

    def wait_for_end(self, job: Job) -> None:
        def ended() -> bool:
            job.refresh_from_db()
            return job.ended

        wait_for(ended, f"{job}")

    def close(self) -> None:
        for process in self.hosts:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.site.stop()


@pytest.fixture
def serving(machine, host_key, monkeypatch):
    monkeypatch.setenv("JOB_LEASE_SECONDS", "3")
    made = Serving(machine, host_key)
    made.site.start()
    try:
        yield made
    finally:
        made.close()


def test_slots_given_to_a_host_become_attempts(serving, staff, client):
    serving.allow("use(20000 + int(sys.argv[1]), 1000)\ncomplete()\n")
    worker = serving.start_host()
    assert [device["uuid"] for device in Host.objects.get().devices] == serving.machine.uuids
    slots = list(SeedSlot.objects.order_by("pk")[:2])
    parameters = {
        "host": "gpu-1",
        "slots": [slot.experiment_id for slot in slots],
        "program": "train",
    }
    key = issue_key(name="staff", owner=staff, scopes=["read", "jobs"])[1]
    answer = requests.post(
        f"{serving.site.url}/api/v1/jobs/",
        json={"kind": "run-slots", "study": "demo", "parameters": parameters},
        headers={"Authorization": f"Api-Key {key}"},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text
    job = Job.objects.get()
    serving.wait_for_end(job)
    assert (job.state, job.done, job.total, job.queue) == (Job.State.SUCCEEDED, 2, 2, "gpu.gpu-1"), job.error
    attempts = Attempt.objects.order_by("pk")
    assert [(row.slot, row.outcome, row.peak_mib) for row in attempts] == [
        (slots[0], "completed", 20_001), (slots[1], "completed", 20_002),
    ]  # fmt: skip
    assert job.result.sentence == "2 of 2 slots launched, 2 ended, 2 uploaded, 2 recorded."
    shown = client.get(f"/jobs/{job.pk}/").content.decode()
    assert job.result.sentence in shown
    assert f"/studies/demo/slots/{slots[0].experiment_id}/" in shown
    worker.terminate()
    assert worker.wait(timeout=60) == 0


def test_a_killed_host_launches_nothing_twice_when_it_is_back(serving):
    worker = serving.start_host()
    slots = list(SeedSlot.objects.order_by("pk")[:2])
    program = (
        f"open({str(serving.machine.folder / 'launches')!r}, 'a').write(sys.argv[1])\n"
        "use(31000, 1000)\n"
        f"while not Path({str(serving.machine.folder / 'go')!r}).exists(): time.sleep(0.1)\n"
        "complete()\n"
    )
    job = serving.give(slots, program)
    wait_for(
        lambda: any("31000" in path.read_text() for path in serving.machine.home.glob("runs/*/gpu-*.csv"))
    )
    wait_for(lambda: Host.objects.get().memory_mib.get("GPU-aa") == 31_000)
    assert Host.objects.get().current_slot == slots[0].experiment_id
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    serving.machine.set(10, 12)
    wait_for(lambda: claims.take_back() == [job.pk], "the lease's end")
    (serving.machine.folder / "go").touch()
    serving.start_host()
    serving.wait_for_end(job)
    assert (serving.machine.folder / "launches").read_text() == "12"
    assert job.state == Job.State.SUCCEEDED
    first, second = job.result.document["results"]
    facts = ("launched", "ended", "uploaded", "recorded")
    assert [first[fact] for fact in facts] == [True, True, True, True]
    assert (first["outcome"], second["outcome"]) == ("unresolved", "completed")
    # What the first left behind came in when the host was back.
    assert [(row.slot, row.outcome) for row in Attempt.objects.order_by("pk")] == [
        (slots[0], "unresolved"), (slots[1], "completed"),
    ]  # fmt: skip


def test_a_second_process_that_gets_the_job_neither_launches_nor_uploads_what_still_runs(serving):
    first = serving.start_host()
    place = serving.machine.folder
    slots = list(SeedSlot.objects.order_by("pk")[:1])
    program = (
        f"open({str(place / 'launches')!r}, 'a').write(sys.argv[1])\n"
        f"while not Path({str(place / 'go')!r}).exists(): time.sleep(0.1)\ncomplete()\n"
    )
    job = serving.give(slots, program)
    wait_for(lambda: (place / "launches").exists(), "the launch")
    # It hangs for longer than its lease.
    first.send_signal(signal.SIGSTOP)
    wait_for(lambda: claims.take_back() == [job.pk], "the lease's end")
    second = serving.start_host()
    serving.wait_for_end(job)
    assert job.result.sentence.startswith("1 of 1 slot launched, 0 ended, 0 uploaded, 0 recorded.")
    assert not Attempt.objects.exists()
    second.terminate()
    first.send_signal(signal.SIGCONT)
    (place / "go").touch()
    wait_for(lambda: Attempt.objects.exists(), "the upload")
    assert Attempt.objects.get().outcome == "completed"
    assert (place / "launches").read_text() == "1"


def test_a_job_that_is_cancelled_launches_no_further_slot(serving):
    serving.start_host()
    slots = list(SeedSlot.objects.order_by("pk")[:2])
    go = serving.machine.folder / "go"
    program = f"while not Path({str(go)!r}).exists(): time.sleep(0.1)\ncomplete()\n"
    job = serving.give(slots, program)
    wait_for(lambda: Host.objects.get().current_slot == slots[0].experiment_id)
    claims.cancel(job.pk)
    sentence = Job.objects.get().lease_until
    wait_for(lambda: Job.objects.get().lease_until != sentence, "a beat after the request")
    go.touch()
    serving.wait_for_end(job)
    assert job.state == Job.State.CANCELLED
    assert [row.slot for row in Attempt.objects.all()] == [slots[0]]


DONE = "print('step:1 - actor/pg_loss:0.1 - training/global_step:1', flush=True)\n"


def test_several_slots_run_at_once_on_devices_of_their_own(serving):
    serving.machine.uuids = ["GPU-aa", "GPU-bb", "GPU-cc", "GPU-dd", "GPU-other"]
    serving.machine.set(10, 11, 12, 13, 9_000)
    place = serving.machine.folder
    program = (
        f"Path({str(place)!r}, 'at-' + sys.argv[1]).touch()\n"
        f"while len(list(Path({str(place)!r}).glob('at-*'))) < 2: time.sleep(0.05)\n{DONE}"
    )
    serving.start_host("--at-a-time", "2", "--devices", "GPU-aa,GPU-bb,GPU-cc,GPU-dd")
    assert [item["uuid"] for item in Host.objects.get().devices] == serving.machine.uuids[:4]
    job = serving.give(list(SeedSlot.objects.order_by("pk")[:2]), program)
    serving.wait_for_end(job)
    rows = Attempt.objects.all()
    assert [row.outcome for row in rows] == ["completed", "completed"]
    used = [uuid for row in rows for uuid in row.facts["host"]["device_uuids"]]
    assert sorted(used) == serving.machine.uuids[:4]


def test_a_run_that_is_not_taken_is_set_aside_and_the_job_says_four_facts(serving, staff, client):
    serving.key = issue_key(name="without attempts", owner=staff, scopes=["read", "hosts"])[1]
    worker = serving.start_host()
    slots = list(SeedSlot.objects.order_by("pk")[:2])
    job = serving.give(slots, DONE)
    serving.wait_for_end(job)
    assert job.state == Job.State.SUCCEEDED, job.error
    assert job.result.sentence.startswith("2 of 2 slots launched, 2 ended, 0 uploaded, 0 recorded.")
    assert "scope attempts" in job.result.sentence
    assert worker.poll() is None
    wait_for(lambda: len(Host.objects.get().set_aside) == 2, "the host's description")
    page = client.get("/hosts/gpu-1/").content.decode()
    assert "Runs that were not taken" in page
    assert "scope attempts" in page
    worker.kill()
    worker.wait()
    # At the next start the host serves on, and does not try them again by itself.
    serving.start_host()
    right = issue_key(name="right", owner=staff, scopes=["read", "attempts"])[1]
    send = ["send", "--url", serving.site.url, "--dir", serving.machine.home]
    assert serving.machine.host(*send, RLVRAM_KEY=right).stdout == "0 sent\n"
    assert serving.machine.host(*send, "--again", RLVRAM_KEY=right).stdout == "2 sent\n"
    assert Attempt.objects.count() == 2


def test_an_order_for_another_program_runs_nothing(serving):
    marker = serving.machine.folder / "ran"
    serving.allow(f"Path({str(marker)!r}).touch()\n{DONE}")
    parameters = {"host": "gpu-1", "slots": [SeedSlot.objects.first().experiment_id], "interval_ms": 100,
                  "tries": {SeedSlot.objects.first().experiment_id: 1}}  # fmt: skip
    serving.start_host()
    # As if somebody had written into the site's queue itself: what runs is still the host's own word.
    job = claims.queue("run-slots", "gpu.gpu-1", serving.study, {**parameters, "program": "/bin/sh -c id"})
    serving.wait_for_end(job)
    assert job.state == Job.State.FAILED
    assert "expected one that this host runs for demo: train" in job.error
    assert not marker.exists()


def test_a_site_that_is_away_when_a_job_ends_does_not_make_it_say_that_nothing_ran(serving):
    serving.start_host("--retries", "0")
    go = serving.machine.folder / "go"
    slots = list(SeedSlot.objects.order_by("pk")[:1])
    job = serving.give(slots, f"while not Path({str(go)!r}).exists(): time.sleep(0.05)\n{DONE}")
    wait_for(lambda: Host.objects.get().current_slot == slots[0].experiment_id, "the slot")
    serving.site.kill()
    go.touch()
    wait_for(lambda: any(serving.machine.home.glob("runs/*/trial-*.json")), "the run's end")
    wait_for(lambda: "given up" in (serving.machine.folder / "host-0.log").read_text(), "the host's message")
    serving.site.start()
    wait_for(lambda: claims.take_back() == [job.pk], "the lease's end")
    serving.wait_for_end(job)
    assert job.state == Job.State.SUCCEEDED, job.error
    assert job.result.sentence == "1 of 1 slot launched, 1 ended, 1 uploaded, 1 recorded."
    assert Attempt.objects.get().outcome == "completed"
