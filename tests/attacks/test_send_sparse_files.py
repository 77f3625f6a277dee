"""Somebody who names a file of a terabyte that takes no place on the disk."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.bounded_files import FileTooLarge, read_whole


@pytest.fixture
def sparse(tmp_path) -> Path:
    file = tmp_path / "bundle.json"
    file.touch()
    os.truncate(file, 1 << 40)
    (tmp_path / "benchmark" / "estimation").mkdir(parents=True)
    protocol = tmp_path / "benchmark" / "estimation" / "protocol.json"
    protocol.touch()
    os.truncate(protocol, 1 << 40)
    return file


@pytest.mark.parametrize(
    "arguments",
    [
        ["import_study", "FILE"],
        ["import_study", "FOLDER"],
        ["import_record", "FILE"],
        ["import_issue", "FILE"],
        ["verify_ledger", "--heads", "FILE"],
        ["verify_study", "estimation", "--archive", "FOLDER", "--output", "FOLDER/report.json"],
        ["replay_admission", "FILE"],
        ["classify_run", "FOLDER"],
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_no_command_reads_it_whole(db, sparse, arguments):
    named = [word.replace("FILE", str(sparse)).replace("FOLDER", str(sparse.parent)) for word in arguments]
    with pytest.raises((CommandError, SystemExit)):
        call_command(*named, stdout=io.StringIO(), stderr=io.StringIO())


def test_a_file_of_a_size_to_read_is_read(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * 1024 * 1024)
    assert read_whole(file, 1) == file.read_bytes()
    file.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(FileTooLarge, match="more than 1 MiB"):
        read_whole(file, 1)
