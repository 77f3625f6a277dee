"""Nothing of a run outlives it or its host, grandchildren in sessions of their own included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from studies.models import Attempt
from tests.gpu_host.conftest import attempt_of
from tests.gpu_host.test_hosts import host_key, serving, staff  # noqa: F401
from tests.jobs.conftest import wait_for

TREE = (
    # As torchrun and Ray do: workers in sessions of their own, whose parent goes, and which hold the device.
    "import subprocess\n"
    "worker = '''import os, time, sys\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
    "state = os.environ['FAKE_NVML_FILE']\n"
    "while True:\n"
    "    part = f'{state}.{os.getpid()}'\n"
    "    open(part, 'w').write(f'GPU-aa 31000 40960 -{os.getpid()}\\\\nGPU-bb 10 40960\\\\n')\n"
    "    os.replace(part, state)\n"
    "    time.sleep(0.05)\n"
    "'''\n"
    "for number in range(2):\n"
    "    subprocess.Popen([sys.executable, '-c', worker, f'pid{number}'])\n"
    "while len(list(Path().glob('pid*'))) < 2: time.sleep(0.05)\n"
)


def pids(machine) -> list[int]:
    return [int(path.read_text() or 0) for path in machine.run_folder.glob("pid*")]


def gone(number: int) -> bool:
    try:
        return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def start(machine, site, key, order) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "host.command", "run", order, "--url", site.url, "--dir", machine.home],
        env={**machine.environment, "RLVRAM_KEY": key}, start_new_session=True,
    )  # fmt: skip


def both_run(machine) -> bool:
    return bool(list(machine.home.glob("runs/*/pid1"))) and len([n for n in pids(machine) if n]) == 2


@pytest.mark.parametrize("what", ["host", "keeper", "both", "asked"])
def test_whoever_is_killed_no_grandchild_stays(machine, site, key, slots, what):
    order = machine.order(slots[0], TREE + "time.sleep(600)\n")
    host = start(machine, site, key, order)
    wait_for(lambda: both_run(machine), "the grandchildren")
    workers = pids(machine)
    (keeper,) = [
        item for item in psutil.Process(host.pid).children() if "keeper.py" in " ".join(item.cmdline())
    ]
    if what in ("keeper", "both"):
        # Stopped first, so that neither can act on the other's end.
        keeper.suspend()
    if what in ("host", "both"):
        host.send_signal(signal.SIGKILL)
    if what in ("keeper", "both"):
        keeper.kill()
    if what == "asked":
        host.terminate()
    host.wait()
    machine.set(10, 12)
    if what == "both":
        # Nobody is left to end them; the next start of the host does, before it launches anything.
        assert not all(gone(pid) for pid in workers)
        # A real device is free as soon as who held it is gone.
        free = threading.Thread(
            target=lambda: (
                wait_for(lambda: all(gone(pid) for pid in workers), "the grandchildren's end"),
                machine.set(10, 12),
            )
        )
        free.start()
        order = machine.order(slots[1], "use(500, 12)\ncomplete()\n")
        assert machine.run(order, site.url, key, "--wait-idle", "60").returncode == 0
        free.join()
        assert attempt_of(slots[1]).outcome == "completed"
    wait_for(lambda: all(gone(pid) for pid in workers), "the grandchildren's end")
    sent = machine.host("send", "--url", site.url, "--dir", machine.home, RLVRAM_KEY=key)
    assert sent.returncode == 0, sent.stderr
    assert attempt_of(slots[0]).outcome == "unresolved"


def test_what_a_finished_program_left_behind_is_ended_and_the_next_slot_is_not_burnt(serving):  # noqa: F811
    serving.start_host()
    job = serving.give(
        list(serving.study.seedslots.order_by("pk")[:2]), TREE + "use(31000, 12)\ncomplete()\n"
    )
    serving.wait_for_end(job)
    rows = list(Attempt.objects.order_by("pk"))
    assert [row.diagnosis == "contamination" for row in rows] == [False, False]
    assert all(len(row.facts["left_behind"]) == 2 for row in rows)
    for path in serving.machine.home.glob("runs/*/pid*"):
        assert gone(int(path.read_text()))


def test_with_systemd_each_run_has_a_scope_of_its_own(machine, site, key, slots, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    said = tmp_path / "said"
    for name, text in {
        "systemd-run": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
        "systemctl": "[ $1 != is-system-running ] || echo running",
    }.items():
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {said}\n{text}\n')
        (tools / name).chmod(0o755)
    if os.geteuid() != 0:
        pytest.fail("scopes without a password are root's; this test needs to be root")
    order = machine.order(slots[0], "use(30000, 12)\ncomplete()\n")
    done = machine.run(order, site.url, key, PATH=f"{tools}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    token = machine.run_folder.name
    lines = said.read_text().splitlines()
    assert any(
        line.startswith(f"systemd-run --scope --quiet --collect --unit=rlvram-{token} -- ") for line in lines
    )
    assert f"systemctl kill --signal=KILL rlvram-{token}.scope" in lines
    assert json.loads(done.stdout)["outcome"] == "completed"


def test_a_program_runs_as_another_user_if_the_host_is_told_to(machine, site, key, slots):
    machine.folder.chmod(0o755)
    for folder in machine.folder.parents:
        if folder.is_relative_to("/tmp/pytest-of-root"):
            folder.chmod(0o755)
    order = machine.order(slots[0], "", command=["/bin/sh", "-c", "id -un; id -G"])
    refused = machine.run(order, site.url, key, "--run-as", "nobody-here")
    assert (refused.returncode, "expected a user of this machine" in refused.stderr) == (2, True)
    assert machine.run(order, site.url, key, "--run-as", "nobody").returncode == 0
    assert machine.log.split()[0] == "nobody"
    assert "0" not in machine.log.split()[1:]
