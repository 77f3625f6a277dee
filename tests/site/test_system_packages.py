"""What ``./run`` and ``./test`` say, and do, when a package of the system is missing."""

from __future__ import annotations

import subprocess

from tests.conftest import ROOT


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """Run ``script`` after the functions that both commands share."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"ROOT={ROOT}\nsource scripts/common.sh\n{script}"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_root_it_says_which_packages_to_install():
    done = shell('id() { echo 1000; }\nneed_packages "what the tests need" redis-server chromium')
    assert done.returncode == 1
    assert done.stderr == (
        "error: what the tests need is missing. Install it (as root, on Debian: apt-get install --yes "
        "--no-install-recommends redis-server chromium), then run this again.\n"
    )


def test_as_root_it_installs_them():
    done = shell(
        "id() { echo 0; }\n"
        'apt-get() { echo "$*" >>"$TMPDIR/calls"; }\n'
        "export TMPDIR=$(mktemp -d)\n"
        'need_packages "what the tests need" redis-server\n'
        'cat "$TMPDIR/calls"; rm -r "$TMPDIR"'
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "update --quiet",
        "install --yes --no-install-recommends redis-server",
    ]


def test_an_installation_that_fails_shows_why():
    done = shell(
        "id() { echo 0; }\n"
        "apt-get() { echo 'E: Unable to locate package redis-server'; return 100; }\n"
        'need_packages "what the tests need" redis-server'
    )
    assert done.returncode == 1
    assert "E: Unable to locate package redis-server" in done.stderr
    assert "error: installing redis-server failed; the last lines above say why" in done.stderr


def test_a_missing_python_is_named():
    done = shell("id() { echo 1000; }\n_is_our_python() { return 1; }\n_find_python")
    assert done.returncode == 1
    assert "Python (3.11 to 3.14) is missing. Install it (as root, on Debian: apt-get install" in done.stderr
    assert "python3.11 python3.11-venv" in done.stderr


def test_a_python_that_cannot_make_environments_is_named():
    done = shell("id() { echo 1000; }\n_is_our_python() { true; }\n_has_venv() { return 1; }\n_find_python")
    number = shell("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").stdout.strip()
    assert done.returncode == 1
    assert f"the venv module of Python {number} is missing" in done.stderr
