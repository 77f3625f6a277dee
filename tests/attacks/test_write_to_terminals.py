"""Somebody who names a file, a slot or a text so that an operator's terminal does what he wants."""

from __future__ import annotations

import logging
import subprocess
import sys
import unicodedata

import hypothesis.strategies as st
import pytest
from hypothesis import given

from host.terminal import Escaped, PlainHandler, escaped
from tests.conftest import ROOT
from tests.processes import start_python

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m‮txt.exe⁦‎\u2028\x7f\r"
MARKS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


def harmless(text: str) -> bool:
    return not any(
        (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} and char not in "\n\t")
        or unicodedata.bidirectional(char) in MARKS
        or char in "\u200e\u200f\u061c"
        for char in text
    )


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=80))
def test_whatever_the_text_nothing_is_left_to_obey(text):
    assert harmless(escaped(text))


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), max_size=80))
def test_any_other_text_stays_as_it_is(text):
    assert escaped(f"{text}\n\t") == f"{text}\n\t"


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify_ledger", HOSTILE],
        ["verify_ledger", "--heads", f"/tmp/{HOSTILE}"],
        ["import_study", f"/tmp/{HOSTILE}"],
        ["classify_run", f"/tmp/{HOSTILE}"],
        ["import_issue", HOSTILE],
        [HOSTILE],
    ],
    ids=lambda arguments: (
        arguments[0] if arguments[0].isascii() and "\x1b" not in arguments[0] else "unknown"
    ),
)
def test_no_command_of_the_site_repeats_it(transactional_db, arguments):
    process = start_python("manage.py", *arguments)
    out, errors = process.communicate()
    assert process.returncode != 0
    assert harmless(out + errors), out + errors


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "host.upload", "--url", f"http://127.0.0.1:9/{HOSTILE}", HOSTILE],
        ["-m", "host.upload", "--url", f"ftp://{HOSTILE}", "--study", HOSTILE, "."],
        ["-m", "host.command", "send", HOSTILE],
        ["-m", "host.command", HOSTILE],
    ],
)
def test_neither_does_the_uploader_or_the_host(command):
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert harmless(done.stdout + done.stderr), done.stdout + done.stderr


def test_neither_does_a_log(capsys):
    record = logging.LogRecord("site", logging.WARNING, __file__, 1, "Not Found: %s", (HOSTILE,), None)
    PlainHandler().emit(record)
    written = capsys.readouterr().err
    assert "Not Found" in written
    assert harmless(written)


def test_a_progress_bar_still_moves_on_a_terminal():
    class Terminal:
        written = ""

        def write(self, text: str) -> None:
            self.written += text

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    Escaped(terminal).write("\r 50% \rmore")  # type: ignore[arg-type]
    assert terminal.written == "\r 50% \\u000dmore"
