"""Processes of one machine count the requests of a minute together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rlvram_site.counts_file import CountsFile


def counts(folder: Path) -> CountsFile:
    """As each process opens them."""
    return CountsFile(str(folder / "rates.sqlite3"), {})


def test_several_that_count_at_once_lose_nothing(tmp_path):
    assert counts(tmp_path).add("key", 0, 60)

    def count(number: int) -> list[int]:
        own = counts(tmp_path)
        return [own.incr("key") for _ in range(20)]

    with ThreadPoolExecutor(4) as writers:
        seen = [number for numbers in writers.map(count, range(4)) for number in numbers]
    assert sorted(seen) == list(range(1, 81))


def test_a_count_begins_once_and_ends(tmp_path):
    first, second = counts(tmp_path), counts(tmp_path)
    assert first.add("key", 1, 60)
    assert not second.add("key", 1, 60)
    assert second.get("key") == 1
    first.add("over", 5, 0)
    assert second.get("over") is None
    with pytest.raises(ValueError, match="over"):
        second.incr("over")


def test_a_folder_that_cannot_be_written_lets_requests_through(tmp_path):
    lost = counts(tmp_path / "gone")
    assert lost.add("key", 1, 60) is False
    assert lost.get("key", 7) == 7
    with pytest.raises(ValueError, match="can't be counted"):
        lost.incr("key")
