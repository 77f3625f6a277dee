"""The command lines of the documentation, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from studies.models import Attempt, SeedSlot
from tests.api.logs import OUT_OF_MEMORY, SAMPLES
from tests.conftest import ROOT

PAGES = ("uploading.md", "api.md")


def lines_of(page: str) -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "training-7.log").write_text(OUT_OF_MEMORY)
    (tmp_path / "gpu-memory-7.csv").write_text(SAMPLES)
    return tmp_path


def test_every_line_works_and_can_be_repeated(site, key, folder):
    environment = {
        **os.environ, "SITE": site.url, "STUDY": "demo", "RLVRAM_KEY": key, "PYTHONPATH": str(ROOT),
        "SLOT": SeedSlot.objects.first().experiment_id,
    }  # fmt: skip
    lines = [line for page in PAGES for line in lines_of(page)]
    assert len(lines) == 7
    for line in lines + lines:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=folder, env=environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    outcomes = dict(Attempt.objects.values_list("invocation_id", "diagnosis"))
    assert outcomes["run-7-j5054339"] == outcomes["run-12"] == "cuda_oom"
    assert outcomes["run-9-j5054341"] == "host_memory"
    assert len(outcomes) == 6
