"""``manage.py replay_admission`` as somebody at a terminal sees it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from .worlds import DATA

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = DATA / "example.json"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("replay_admission", *arguments, stdout=out)
    return out.getvalue()


def manage(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "manage.py", "replay_admission", *arguments]
    return subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, check=False)


def test_json_answers_one_entry_per_candidate_and_policy():
    answer = json.loads(run(str(EXAMPLE), "--policies", "base,joint_observation", "--format", "json"))
    (base,), (joint,) = answer["policies"]["base"], answer["policies"]["joint_observation"]
    assert (base["required_bytes"], base["decision"]) == (329_391_505_015, "refused")
    assert joint["decision"] == "admitted"


def test_the_table_puts_policies_under_each_candidate_with_gib_beside_bytes():
    lines = run(str(EXAMPLE), "--policies", "base, joint").splitlines()
    heading, _, base, joint, _, *counts = lines
    assert "329,391,505,015  306.770" in base
    assert "73,468,639,051  68.423" in base
    assert "refused" in base
    assert "admitted" in joint
    for row in (base, joint):
        assert row.index("next input") == heading.index("candidate")
    assert base.index("refused") == joint.index("admitted") == heading.index("decision")
    assert counts == ["base: 0 admitted, 1 refused, 0 cold", "joint: 1 admitted, 0 refused, 0 cold"]


def test_standard_input_is_read_for_a_dash_and_a_refusal_is_no_error():
    done = manage("-", "--format", "json", stdin=EXAMPLE.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["summary"]["base"]["refused"] == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "text"),
    [
        (["-"], b"{", 1, b"standard input cannot be replayed:"),
        (["-"], b'{"model": 1, "steps": [{}]}', 1, b"steps[0]: found none of them; expected exactly one of"),
        (["-"], b"\xff", 1, b"expected UTF-8 text"),
        (["missing.json"], b"", 1, b"missing.json: No such file or directory"),
        (["docs"], b"", 1, b"docs: Is a directory"),
        ([str(EXAMPLE), "--policies", "bse"], b"", 2, b"policy 'bse': found 'bse'; join with '+'"),
        ([str(EXAMPLE), "--format", "xml"], b"", 2, b"invalid choice: 'xml'"),
        ([], b"", 2, b"the following arguments are required: FILE"),
    ],
)
def test_what_goes_wrong_is_said_in_a_sentence_with_an_exit_code(arguments, stdin, code, text):
    done = manage(*arguments, stdin=stdin)
    assert done.returncode == code
    assert text in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_an_unlimited_file_is_refused_without_being_read_to_the_end():
    with pytest.raises(CommandError, match="found 4,000,001 bytes; expected at most 4,000,000"):
        run("/dev/zero")
