"""``rlvram-host run``: each way in which a run ends gives its attempt, its label and its evidence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from studies.estimation.labels import resolve
from studies.models import Attempt, SeedSlot
from studies.services.outcomes.slots import slot_states
from tests.factories import make_attempt
from tests.gpu_host.conftest import attempt_of
from tests.jobs.conftest import wait_for

pytestmark = pytest.mark.one_engine("the host's own work; uploads are tried on both engines in tests/upload")

COMPLETES = "use(2000, 1000)\nuse({peak}, 1000)\ncomplete()\n"


def label_with(slots: list[SeedSlot], kind: str, peak: float | None = None):
    """The configuration's label once its other slots ended like this."""
    for other in slots[1:]:
        make_attempt(other, kind, peak)
    states = slot_states(slots)
    label = resolve([states[slot.pk].outcome for slot in slots], 38_912).label
    return label and label.value


def files_of(attempt) -> set[str]:
    return set(attempt.files.values_list("kind", flat=True))


@pytest.mark.parametrize(("peak", "label"), [(38_912, "within_margin"), (38_913, "above_margin")])
def test_a_run_that_completes_has_its_sampled_peak(machine, site, key, slots, peak, label):
    done = machine.run(machine.order(slots[0], COMPLETES.format(peak=peak)), site.url, key)
    assert done.returncode == 0, done.stderr
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.peak_mib, attempt.exit_code) == ("completed", peak, 0)
    assert files_of(attempt) == {"log", "samples", "devices", "trial", "other"}
    assert attempt.evidence[0]["text"].startswith("step:1 - actor/pg_loss")
    assert sorted(attempt.derivation["device_peaks_mib"]) == machine.uuids
    assert attempt.facts["left_behind"] == []
    assert label_with(slots, "completed", 30_000) == label


def test_a_device_out_of_memory_is_a_memory_failure(machine, site, key, slots):
    program = (
        "use(38000, 1000)\n"
        "print('Traceback (most recent call last):')\n"
        "print('  File \"/app/trainer.py\", line 10, in train_step')\n"
        "print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total '\n"
        "      'capacity of 39.50 GiB of which 1.10 GiB is free.')\n"
        "use(10, 12, seconds=0)\nsys.exit(1)\n"
    )
    assert machine.run(machine.order(slots[0], program), site.url, key).returncode == 0
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.diagnosis, attempt.peak_mib) == ("memory_failure", "cuda_oom", None)
    assert attempt.observed_peak_mib == 38_000
    assert "CUDA out of memory" in attempt.evidence[0]["text"]
    assert label_with(slots, "completed", 30_000) == "memory_failure"


def test_a_kill_for_host_memory_establishes_nothing_about_the_devices(machine, site, key, slots, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    sacct = tools / "sacct"
    sacct.write_text(
        "#!/bin/sh\n"
        "echo '77|77|train|OUT_OF_MEMORY|0:125|2026-09-15T10:00:00|2026-09-15T10:05:00|300||n1|OutOfMemory'\n"
    )
    sacct.chmod(0o755)
    program = "use(20000, 1000)\nuse(10, 12, seconds=0)\nos.kill(os.getpid(), 9)\n"
    done = machine.run(
        machine.order(slots[0], program), site.url, key,
        SLURM_JOB_ID="77", PATH=f"{tools}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.diagnosis) == ("unresolved", "host_memory")
    assert (attempt.exit_code, attempt.exit_signal, attempt.job_id) == (-9, 9, "77")
    assert "OUT_OF_MEMORY" in attempt.evidence[0]["text"]
    assert "scheduler" in files_of(attempt)
    assert label_with(slots, "completed", 30_000) is None


def test_a_run_that_hangs_is_ended_at_its_limit(machine, site, key, slots):
    program = "use(20000, 1000, seconds=0)\nuse(10, 12, seconds=0)\ntime.sleep(600)\n"
    order = machine.order(slots[0], program, timeout_seconds=1.5)
    assert machine.run(order, site.url, key).returncode == 0
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.diagnosis, attempt.exit_signal) == ("unresolved", "timeout", 15)
    assert label_with(slots, "completed", 30_000) is None


def test_a_busy_device_prevents_the_launch_and_spends_none(machine, site, key, slots):
    machine.set(9_000, 12, processes="4242")
    marker = machine.folder / "ran"
    order = machine.order(slots[0], f"Path({str(marker)!r}).touch()\ncomplete()\n")
    busy = machine.run(order, site.url, key)
    assert busy.returncode == 1
    assert "GPU-aa had 9000 MiB in use before the start (process 4242)" in busy.stderr
    assert not marker.exists()
    assert not Attempt.objects.exists()
    assert not list(machine.home.rglob("*.json"))
    # The slot is as open as before; and whoever waits long enough gets the device.
    free = threading.Timer(2, machine.set, [10, 12])
    free.start()
    assert machine.run(order, site.url, key, "--wait-idle", "60").returncode == 0
    free.join()
    assert marker.exists()
    assert attempt_of(slots[0]).facts["launch"] == 1


def test_a_child_that_is_left_behind_is_ended_and_reported(machine, site, key, slots):
    program = (
        "import subprocess\n"
        "sleeper = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "child = subprocess.Popen(sleeper, start_new_session=True)\n"
        "Path('child').write_text(str(child.pid))\n"
        "use(30000, 1000)\ncomplete()\n"
    )
    assert machine.run(machine.order(slots[0], program), site.url, key).returncode == 0
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.peak_mib) == ("completed", 30_000)
    child = (machine.run_folder / "child").read_text()
    assert not Path(f"/proc/{child}").exists()
    (left,) = attempt.facts["left_behind"]
    assert left.startswith(f"{child} ")
    assert "time.sleep(600)" in left
    assert label_with(slots, "completed", 30_000) == "within_margin"


def test_a_process_of_somebody_else_on_a_device_is_contamination(machine, site, key, slots):
    program = (
        "state = Path(os.environ['FAKE_NVML_FILE'])\n"
        f"state.write_text(f'GPU-aa 9000 40960 {{os.getpid()}} {os.getpid()}\\nGPU-bb 10 40960\\n')\n"
        "time.sleep(1.5)\ncomplete()\n"
    )
    assert machine.run(machine.order(slots[0], program), site.url, key).returncode == 0
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.diagnosis) == ("unresolved", "contamination")
    assert attempt.evidence[0]["text"] == f"process {os.getpid()} on GPU-aa"
    assert label_with(slots, "completed", 30_000) is None


def test_a_program_that_never_started_was_not_launched(machine, site, key, slots):
    order = machine.order(slots[0], "", command=["no-such-trainer"])
    done = machine.run(order, site.url, key)
    assert done.returncode == 1
    assert "no-such-trainer: No such file or directory" in done.stderr
    assert not Attempt.objects.exists()
    assert [path.suffix == ".json" for path in (machine.home / "launches").rglob("*.json*")] == [False]
    assert not list((machine.home / "runs").iterdir())
    assert machine.run(machine.order(slots[0], "complete()\n"), site.url, key).returncode == 0
    assert attempt_of(slots[0]).facts["launch"] == 1


def test_the_program_gets_seed_settings_and_devices(machine, site, key, slots):
    program = (
        "import json\n"
        "settings = json.loads(Path(os.environ['RLVRAM_SETTINGS_FILE']).read_text())\n"
        "assert settings == {'rollout_n': 4, 'model_id': 'Qwen/Qwen2.5-7B-Instruct', 'seed': 1}, settings\n"
        "assert os.environ['RLVRAM_SEED'] == sys.argv[1] == '1'\n"
        "assert os.environ['RLVRAM_SETTING_ROLLOUT_N'] == '4'\n"
        "assert os.environ['CUDA_VISIBLE_DEVICES'] == 'GPU-aa,GPU-bb'\n"
        "assert 'RLVRAM_KEY' not in os.environ\n"
        "assert os.getpgid(0) == os.getpid() and Path.cwd() == Path(os.environ['RLVRAM_RUN_DIRECTORY'])\n"
        "complete()\n"
    )
    done = machine.run(machine.order(slots[0], program), site.url, key)
    log = next(machine.run_folder.glob("training-*.log")).read_text()
    assert json.loads(done.stdout)["outcome"] == "completed", log


def test_a_peak_of_one_sampling_interval_is_seen(machine, site, key, slots):
    program = "use(2000, 2000)\nuse(2000, 33333, seconds=0.25)\nuse(2000, 2000)\ncomplete()\n"
    machine.run(machine.order(slots[0], program, interval_ms=200), site.url, key)
    assert attempt_of(slots[0]).peak_mib == 33_333


def test_a_slot_is_launched_once_whatever_happens(machine, site, key, slots):
    marker = machine.folder / "launches"
    order = machine.order(slots[0], f"open({str(marker)!r}, 'a').write('x')\ncomplete()\n")
    assert machine.run(order, site.url, key).returncode == 0
    again = machine.run(order, site.url, key)
    assert again.returncode == 1
    assert "was launched once already, and the protocol allows no more" in again.stderr
    assert marker.read_text() == "x"
    # Where the protocol allows a second launch, there is a second one and no third.
    order = machine.order(
        slots[0], f"open({str(marker)!r}, 'a').write('x')\ncomplete()\n", launches_allowed=2
    )
    assert machine.run(order, site.url, key).returncode == 0
    assert machine.run(order, site.url, key).returncode == 1
    assert marker.read_text() == "xx"


def test_a_second_try_is_launched_once_also_where_the_first_was_on_another_host(machine, site, key, slots):
    marker = machine.folder / "launches"
    program = f"open({str(marker)!r}, 'a').write('x')\ncomplete()\n"
    second = machine.order(slots[0], program, launches_allowed=2)
    assert machine.run(second, site.url, key).returncode == 0
    again = machine.run(second, site.url, key)
    assert (again.returncode, "was launched as try 2 already" in again.stderr) == (1, True)
    # An order for the first try that comes late launches nothing either; the third try does.
    assert machine.run(machine.order(slots[0], program), site.url, key).returncode == 1
    assert marker.read_text() == "x"
    third = machine.order(slots[0], program, launches_allowed=3)
    assert machine.run(third, site.url, key).returncode == 0
    assert marker.read_text() == "xx"


def test_two_hosts_processes_at_once_launch_a_slot_once(machine, site, key, slots):
    marker = machine.folder / "launches"
    order = machine.order(slots[0], f"open({str(marker)!r}, 'a').write('x')\ncomplete()\n")
    command = [
        sys.executable,
        "-m",
        "host.command",
        "run",
        order,
        "--url",
        site.url,
        "--dir",
        machine.home,
    ]
    both = [
        subprocess.Popen(command, env={**machine.environment, "RLVRAM_KEY": key}, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert sorted(process.wait() for process in both) == [0, 1]
    assert marker.read_text() == "x"


def test_a_killed_host_takes_its_run_along_and_what_was_sampled_is_sent_later(machine, site, key, slots):
    program = "Path('pid').write_text(str(os.getpid()))\nuse(31000, 1000)\ntime.sleep(600)\n"
    order = machine.order(slots[0], program)
    host = subprocess.Popen(
        [sys.executable, "-m", "host.command", "run", order,
         "--url", site.url, "--dir", machine.home],
        env={**machine.environment, "RLVRAM_KEY": key},
    )  # fmt: skip
    wait_for(
        lambda: any("31000" in path.read_text() for path in machine.home.glob("runs/*/gpu-memory-*.csv"))
    )
    # While it runs, nobody sends it half.
    assert machine.host("send", "--url", site.url, "--dir", machine.home, RLVRAM_KEY=key).stdout == "0 sent\n"
    host.send_signal(signal.SIGKILL)
    host.wait()
    pid = (machine.run_folder / "pid").read_text()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    sent = machine.host("send", "--url", site.url, "--dir", machine.home, RLVRAM_KEY=key)
    assert sent.stdout == "1 sent\n", sent.stderr
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.peak_mib, attempt.observed_peak_mib) == ("unresolved", None, 31_000)
    assert machine.host("send", "--url", site.url, "--dir", machine.home, RLVRAM_KEY=key).stdout == "0 sent\n"
    # After a restart the ledger still has the slot.
    assert machine.run(order, site.url, key).returncode == 1


def test_a_host_that_is_asked_to_end_ends_its_run(machine, site, key, slots):
    program = "Path('pid').write_text(str(os.getpid()))\nuse(31000, 1000)\nuse(10, 12, seconds=600)\n"
    host = subprocess.Popen(
        [sys.executable, "-m", "host.command", "run", machine.order(slots[0], program),
         "--url", site.url, "--dir", machine.home],
        env={**machine.environment, "RLVRAM_KEY": key},
    )  # fmt: skip
    wait_for(lambda: list(machine.home.glob("runs/*/pid")) and (machine.run_folder / "pid").read_text())
    pid = (machine.run_folder / "pid").read_text()
    host.terminate()
    assert host.wait(timeout=60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"device_uuids": ["GPU-zz"]}, "device GPU-zz was ordered, and this machine has GPU-aa, GPU-bb"),
        ({"device_uuids": ["GPU-aa", "GPU-aa"]}, "expected each device once"),
        ({"device_uuids": [], "device_count": 3}, "needs 3 devices, and there are 2 here"),
        ({"command": []}, "expected a program's name, or else a command"),
        ({"command": ["train", "{model}"]}, "command is '{model}', expected only {seed}, {settings_file}"),
        ({"timeout_seconds": 0}, "timeout_seconds is '0', expected a number from 0.001"),
        ({"seed": "1"}, "seed is '1', expected a number"),
        ({"color": "red"}, "color is 'red', expected no such field"),
    ],
)
def test_a_wrong_order_launches_nothing(machine, site, key, slots, change, message):
    done = machine.run(machine.order(slots[0], "complete()\n", **change), site.url, key)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert not (machine.home / "launches").exists()


def test_the_devices_command_says_what_there_is(machine):
    told = json.loads(machine.host("devices").stdout)
    assert [row["uuid"] for row in told["devices"]] == machine.uuids
    assert told["devices"][0]["capacity_mib"] == 40_960
    missing = machine.host("devices", LD_LIBRARY_PATH="/nowhere")
    assert missing.returncode == 1
    assert "the devices cannot be read" in missing.stderr


def test_an_order_without_devices_takes_free_ones(machine, site, key, slots):
    machine.set(9_000, 12, processes="4242")
    order = machine.order(slots[0], "complete()\n", device_uuids=[], device_count=1)
    assert machine.run(order, site.url, key).returncode == 0
    assert attempt_of(slots[0]).facts["host"]["device_uuids"] == ["GPU-bb"]


def test_devices_are_shown_by_ordinal_where_an_engine_needs_it(machine, site, key, slots):
    program = (
        "assert os.environ['CUDA_VISIBLE_DEVICES'] == '1', os.environ['CUDA_VISIBLE_DEVICES']\n"
        "assert os.environ['CUDA_DEVICE_ORDER'] == 'PCI_BUS_ID'\n"
        "print('step:1 - actor/pg_loss:0.1 - training/global_step:1', flush=True)\n"
    )
    order = machine.order(slots[0], program, device_uuids=["GPU-bb"])
    done = machine.run(order, site.url, key, "--visible-devices", "ordinal")
    assert json.loads(done.stdout)["outcome"] == "completed", machine.log


def test_a_device_that_is_cut_into_instances_is_refused_clearly(machine, site, key, slots):
    machine.uuids = ["MIG-aa", "GPU-bb"]
    machine.set(10, 12)
    assert [row["mig"] for row in json.loads(machine.host("devices").stdout)["devices"]] == [True, False]
    order = machine.order(slots[0], "complete()\n", device_uuids=["GPU-bb"])
    refused = machine.run(order, site.url, key)
    assert (refused.returncode, "MIG-aa is cut into MIG instances" in refused.stderr) == (1, True)
    assert machine.run(order, site.url, key, "--devices", "GPU-bb").returncode == 0


def test_a_device_that_is_lost_during_a_run_does_not_hide_how_the_run_ended(machine, site, key, slots):
    program = (
        "state = Path(os.environ['FAKE_NVML_FILE'])\n"
        "state.write_text(state.read_text().replace('GPU-aa', 'LOST-aa'))\n"
        "time.sleep(0.5)\nsys.exit(3)\n"
    )
    assert machine.run(machine.order(slots[0], program), site.url, key).returncode == 0
    attempt = attempt_of(slots[0])
    assert (attempt.outcome, attempt.exit_code) == ("unresolved", 3)
    assert "the devices can't be read any more" in attempt.facts["not_idle_afterwards"][0]
    assert "sampling stopped" in attempt.facts["sampling"]


def test_the_program_cannot_read_the_key_of_its_host(machine, site, key, slots):
    program = (
        "import subprocess\n"
        "found = []\n"
        "for folder in Path('/proc').glob('[0-9]*'):\n"
        "    for name in ('environ', 'cmdline'):\n"
        "        try: text = (folder / name).read_bytes()\n"
        "        except OSError: continue\n"
        "        if b'KEYPART' in text and b'host.command' in (folder / 'cmdline').read_bytes():\n"
        "            found.append(f'{folder} {name}')\n"
        "Path('found').write_text(repr(found))\n"
        "complete()\n"
    ).replace("KEYPART", key.partition(".")[2])
    script = machine.order(slots[0], program)
    assert machine.run(script, site.url, key).returncode == 0
    assert (machine.run_folder / "found").read_text() == "[]"
    assert attempt_of(slots[0]).outcome == "completed"
