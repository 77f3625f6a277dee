"""Sampled memory of an uploaded attempt, drawn from the stored file."""

from __future__ import annotations

import gzip

import pytest

from studies.figures.memory import Band, memory_figure
from studies.models import Attempt, EvidenceBlob, EvidenceFile, SeedSlot
from studies.services.outcomes import evidence_store, memory_timeline
from tests.factories import make_attempt
from tests.pages.reading import figure_of, text_of

SECOND = 1_000_000_000


@pytest.fixture
def attempt(sample_studies, settings, tmp_path) -> Attempt:
    settings.MEDIA_ROOT = tmp_path
    slot = SeedSlot.objects.get(experiment_id="est-qwen25-7b-math-c2-s153-2gpu")
    return make_attempt(slot, Attempt.Outcome.UNRESOLVED, origin="derived", invocation_id="uploaded-1")


def upload(attempt: Attempt, content: bytes, name: str = "gpu-memory.csv") -> None:
    kept = evidence_store.store([content], name)
    blob = EvidenceBlob(study=attempt.study, sha256=kept.sha256, size_bytes=kept.size_bytes)
    blob.save()
    EvidenceFile(
        study=attempt.study,
        attempt=attempt,
        blob=blob,
        name=name,
        kind=EvidenceFile.Kind.SAMPLES,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
    ).save()


def samples(number: int, peak_at: int) -> bytes:
    """``number`` rows a tenth of a second apart, two devices, one peak of 39,999 MiB."""
    rows = [
        f"{1_700_000_000 * SECOND + row * SECOND // 10},1,{'load' if row < number // 2 else 'train'},"
        f"{39999 if row == peak_at else 1000},2000"
        for row in range(number)
    ]
    return ("\n".join(rows) + "\n").encode()


ADDRESS = "/studies/estimation/attempts/uploaded-1/"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_figure_keeps_the_peak_of_a_long_file(client, attempt, pack):
    upload(attempt, pack(samples(20_000, peak_at=7_777)))
    response = client.get(ADDRESS)
    figure = figure_of(response, "memory")
    lines = {trace["name"]: trace for trace in figure["data"] if trace["type"] == "scatter"}
    assert set(lines) == {"device 0", "device 1"}
    assert max(lines["device 0"]["y"]) == 39999
    assert lines["device 0"]["x"][lines["device 0"]["y"].index(39999)] == pytest.approx(777.7)
    assert len(lines["device 0"]["x"]) <= memory_timeline.BUCKETS
    assert [trace["name"] for trace in figure["data"] if trace["type"] == "bar"] == ["load", "train"]
    assert "20000 samples from gpu-memory.csv" in text_of(response)


def test_a_file_with_more_rows_than_are_drawn_says_so(client, attempt, monkeypatch):
    monkeypatch.setattr(memory_timeline, "MOST_ROWS", 50)
    upload(attempt, samples(80, peak_at=1))
    assert "50 samples from gpu-memory.csv; the file has more" in text_of(client.get(ADDRESS))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no samples here\n",
        gzip.compress(samples(90, 1), mtime=0)[:-40],
        gzip.compress(samples(90, 1), mtime=0)[:30] + b"xx" * 90,
        b"\xff\xfe\x00",
    ],
)
def test_a_damaged_file_does_not_break_the_page(client, attempt, content):
    upload(attempt, content)
    assert client.get(ADDRESS).status_code == 200


def test_without_samples_there_is_no_figure(client, attempt):
    response = client.get(ADDRESS)
    assert response.status_code == 200
    assert "memory-data" not in response.content.decode()


def test_a_file_that_is_gone_leaves_its_hash(client, attempt):
    upload(attempt, samples(50, 1))
    stored = EvidenceFile.objects.get(attempt=attempt)
    evidence_store.remove(stored.sha256)
    response = client.get(ADDRESS)
    assert response.status_code == 200
    assert stored.sha256 in response.content.decode()
    assert "Evidence missing: gpu-memory.csv can’t be read" in text_of(response)


def test_margin_and_capacity_are_lines_with_their_numbers_and_the_scale_starts_at_zero():
    figure = memory_figure(
        {"device 0": [(0.0, 100.0), (1.0, 30000.0)]},
        [Band("load", 0, 1)],
        margin_mib=38912,
        capacity_mib=40960,
    )
    assert figure.layout.yaxis.range[0] == 0
    assert {shape.y0 for shape in figure.layout.shapes} == {38912, 40960}
    assert [note.text for note in figure.layout.annotations] == ["margin 38,912 MiB", "capacity 40,960 MiB"]
