"""What is stored is whole and on the disk, limits hold in whatever pieces, and nothing stays behind."""

from __future__ import annotations

import gzip
import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.services.outcomes import evidence_store
from studies.services.outcomes.evidence_store import EvidenceTooLarge, WrongHash, store


@pytest.fixture
def root(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    settings.EVIDENCE_MAX_FILE_BYTES = 100_000
    settings.EVIDENCE_MAX_UNPACKED_BYTES = 200_000
    return tmp_path / "evidence"


def files(root) -> list[str]:
    return [path.name for path in root.rglob("*") if path.is_file()]


BOMB = gzip.compress(b"x" * 10_000_000)


@pytest.mark.parametrize("first", [0, 1, 2, 3, 10, 18])
def test_a_bomb_is_seen_in_whatever_pieces_it_comes(root, first):
    pieces = [b"", BOMB[:first], BOMB[first : first + 1], BOMB[first + 1 :]]
    with pytest.raises(EvidenceTooLarge, match="unpacks to more than"):
        store(pieces, "a.csv.gz")
    assert files(root) == []


def test_a_bomb_behind_a_small_packed_file_is_seen_too(root):
    with pytest.raises(EvidenceTooLarge):
        store([gzip.compress(b"small") + BOMB], "a.csv.gz")


def test_very_many_packed_files_in_one_are_refused(root, settings):
    settings.EVIDENCE_MAX_FILE_BYTES = 10_000_000
    with pytest.raises(EvidenceTooLarge, match="packed files in one"):
        store([gzip.compress(b"", mtime=0) * 5_000] * 3, "a.gz")


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_bytes_come_back_as_they_were(tmp_path_factory, pieces):
    from django.test import override_settings

    with override_settings(MEDIA_ROOT=tmp_path_factory.mktemp("media")):
        stored = store(pieces, "a")
        whole = b"".join(pieces)
        assert (stored.sha256, stored.size_bytes) == (hashlib.sha256(whole).hexdigest(), len(whole))
        assert evidence_store.open_stored(stored.sha256).read() == whole


def test_other_bytes_than_announced_leave_nothing(root):
    with pytest.raises(WrongHash):
        store([b"these"], "a", announced_sha256="0" * 64)
    assert files(root) == []


def test_bytes_and_folder_are_on_the_disk_before_it_says_stored(root, monkeypatch):
    order = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), real_sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda *names: (order.append("name"), real_replace(*names))[1])
    store([b"bytes"], "a")
    assert order == ["sync", "name", "sync", "sync"]
