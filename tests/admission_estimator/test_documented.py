"""What docs/estimator.md says: its commands run as they stand there, and its tables are the code's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from admission.estimator import EXPERT_FLOORS, PRESETS, QWEN_35B_A3B, conformance_table, parse_policy, price
from admission.estimator.experts import bytes_per_token
from admission.estimator.hf_config import EXPERT_WIDTHS, HIDDEN, LAYERS, ROUTED

from .worlds import unshared

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "estimator.md").read_text(encoding="utf-8")
LINES = re.findall(r"^```bash\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(line: str, work: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", line], cwd=ROOT, env={**os.environ, "PATH": path, "WORK": str(work)},
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_command_runs_as_it_stands(tmp_path):
    mixtral, history, sentence = (run(line, tmp_path) for line in LINES)
    assert "11,242,109,648" in mixtral  # Mixtral's sizes, not the file's: 103,960 tokens, static
    assert "base: 3 admitted, 3 refused, 3 cold" in mixtral
    assert "329,391,505,015" in history
    assert sentence.strip() == conformance_table().sentence


@pytest.mark.parametrize("floor", EXPERT_FLOORS.values(), ids=EXPERT_FLOORS)
def test_the_page_states_each_floors_bytes_per_token(floor):
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{floor.name}`")]
    assert f"{bytes_per_token(QWEN_35B_A3B, floor):,} |" in line


def test_the_page_names_every_shipped_policy():
    for preset in PRESETS:
        assert f"`{preset.name}`" in PAGE


def test_the_page_names_every_key_of_a_config():
    for key in (*HIDDEN, *LAYERS, *ROUTED, *EXPERT_WIDTHS):
        assert f"`{key}`" in PAGE


def test_the_perplexity_table_is_what_the_estimator_says():
    for n, floor in ((27, 1_703_235), (103_960, 6_558_087_888)):
        assert price(QWEN_35B_A3B, unshared(n), parse_policy("base")).required_bytes == floor
        assert f"{floor:,} B" in PAGE
