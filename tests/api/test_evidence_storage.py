"""What is stored is whole and on the disk, limits hold in whatever pieces, and nothing stays behind."""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from io import StringIO

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from studies.models import EvidenceBlob
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


def test_what_killed_uploads_left_is_removed_and_what_is_on_its_way_is_not(root, study, uploader):
    root.mkdir()
    old, young = root / "incoming-1-a", root / "incoming-2-b"
    for path in (old, young):
        path.write_bytes(b"half")
    day_ago = time.time() - 25 * 3600
    os.utime(old, (day_ago, day_ago))
    kept, lost = b"recorded", b"never recorded"
    path = f"studies/demo/evidence/{hashlib.sha256(kept).hexdigest()}/"
    assert uploader.put(path, kept).status_code == 201
    assert not old.exists()
    assert young.exists()
    store([lost], "a")
    for stored in root.rglob("*.gz"):
        os.utime(stored, (day_ago, day_ago))
    fresh = store([b"on its way"], "b").sha256
    call_command("collect_evidence", stdout=StringIO())
    recorded = EvidenceBlob.objects.get().sha256
    assert sorted(files(root)) == sorted(["incoming-2-b", f"{recorded}.gz", f"{fresh}.gz"])
