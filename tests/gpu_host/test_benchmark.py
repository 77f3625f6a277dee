"""The benchmark of sampling runs anywhere and says what it measured."""

import subprocess
import sys

from tests.conftest import ROOT


def test_it_samples_fake_devices_and_says_the_share():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sampling", "--seconds", "1", "--devices", "3"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, share, _ = done.stdout.splitlines()
    assert first.startswith("3 devices, every 100 ms for 1 s: ")
    assert share.endswith("% of one core")
