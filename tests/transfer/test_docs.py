"""Every command line of ``docs/transfer.md`` works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from tests.api.conftest import key_for
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "transfer.md").read_text(encoding="utf-8")
LINES = [
    shlex.split(line)
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
]


@pytest.mark.parametrize(
    "words", [words for words in LINES if words[0] == "python"], ids=lambda words: words[2]
)
def test_a_command_runs(words, copied, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("predictions.csv").write_bytes(copied("gpu_count_transfer"))
    call_command(*words[2:], verbosity=0)


@pytest.mark.parametrize(
    "words", [words for words in LINES if words[0] == "curl"], ids=lambda words: words[-1][29:]
)
def test_a_call_is_answered(words, copied):
    path = words[-1].removeprefix("$SITE/api/v1/")
    caller = key_for("read", "evaluations")
    fields = dict(words[n + 1].split("=", 1) for n, word in enumerate(words) if word == "-F")
    if not fields:
        assert caller.get(path).status_code == 200
        return
    assert fields["file"] == "@predictions.csv"
    fields["file"] = SimpleUploadedFile("predictions.csv", copied("gpu_count_transfer"))
    assert caller.form(path, fields).status_code in (200, 201)


def test_the_sizes_are_those_of_the_suite(suite):
    for track in suite.tracks:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{track}`"))
        assert row.endswith(f"| {len(suite.tasks_of(track))} | {len(suite.queries_of(track))} |")
