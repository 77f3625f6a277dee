"""A run's cgroup, where the host may make one: all of it ends at once, and nothing is left of it."""

from __future__ import annotations

import subprocess
import sys

import psutil

from host import cgroups
from host.processes import start


def test_a_folder_that_is_no_cgroup_is_left_as_it_was(tmp_path):
    assert cgroups.make("a", tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    assert cgroups.make("a", tmp_path / "absent") is None
    assert cgroups.make("a", None) is None
    cgroups.end("a", tmp_path)
    cgroups.end("a", None)


def test_the_own_group_is_found_where_version_two_is_mounted(tmp_path):
    mounts, groups = tmp_path / "mountinfo", tmp_path / "cgroup"
    mounts.write_text(
        "24 1 0:21 / /sys rw - sysfs sysfs rw\n30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    )
    groups.write_text("1:cpu:/old\n0::/user.slice/job-7\n")
    found = cgroups.own_folder(str(mounts), str(groups))
    assert str(found) == "/sys/fs/cgroup/user.slice/job-7"
    groups.write_text("1:cpu:/old\n")
    assert cgroups.own_folder(str(mounts), str(groups)) is None
    assert cgroups.own_folder(str(tmp_path / "absent"), str(groups)) is None


def test_what_leaves_its_session_ends_with_the_run_and_the_group_is_gone(tmp_path):
    away = (
        "import os,sys,time\nif os.fork():\n"
        "    while not os.path.exists('pid'): time.sleep(0.02)\n    os._exit(0)\n"
        "os.setsid()\nopen('part','w').write(str(os.getpid()))\nos.rename('part','pid')\ntime.sleep(600)"
    )
    parent = cgroups.own_folder()
    with (tmp_path / "log").open("wb") as log:
        program = start([sys.executable, "-c", away], "cgroup-try", folder=tmp_path, log=log, environment={})
    if parent is not None and (parent / "rlvram-cgroup-try").exists():
        assert program.keeper.pid in [
            int(line) for line in (parent / "rlvram-cgroup-try" / "cgroup.procs").read_text().split()
        ]
    program.wait()
    assert parent is None or not (parent / "rlvram-cgroup-try").exists()
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_a_group_with_groups_inside_is_ended_and_removed_whole():
    parent = cgroups.own_folder()
    folder = cgroups.make("cgroup-nested", parent)
    if folder is None:
        assert parent is None or not (parent / "rlvram-cgroup-nested").exists()
        return
    (folder / "inner").mkdir()
    with subprocess.Popen(["sleep", "600"]) as process:
        (folder / "inner" / "cgroup.procs").write_text(str(process.pid))
        cgroups.end("cgroup-nested", parent)
        assert process.wait() == -9
    assert not folder.exists()


def test_without_the_extra_the_host_says_what_is_missing():
    code = (
        "import sys; sys.modules['pynvml'] = None\nfrom host.command import main\nsys.exit(main(['devices']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "rlvram-host: the devices can't be read: the package nvidia-ml-py is missing"
    )
    assert "Traceback" not in done.stderr
