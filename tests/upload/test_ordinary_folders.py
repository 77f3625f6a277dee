"""Folders as people have them: what goes and what stays is decided and said before anything is sent."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import BadInput
from host.gather import MIB, MOST_FILES, PART_BYTES, gather
from host.kinds import kind_of, part_name, whole_of
from studies.api.fields import FileNameField
from studies.models import Attempt, EvidenceBlob, EvidenceFile
from studies.services.outcomes import evidence_store
from tests.api.logs import COMPLETED
from tests.upload.conftest import command, slot

NAME = FileNameField()


def sent(folder: Path) -> dict[str, str]:
    """By each file's place in the folder, how it is called at the site."""
    return {source.shown: source.pieces[0].name for source in gather([folder]).sources}


def left(folder: Path) -> dict[str, str]:
    return dict(gather([folder]).left_out)


def test_what_people_have_in_a_run_directory(site, key, run_directory):
    (run_directory / "empty.log").touch()
    (run_directory / "_rank 0 (copy).log").write_text("a line\n")
    (run_directory / "notes with blanks.txt").write_text("seen\n")
    (run_directory / "ranks" / "deep").mkdir(parents=True)
    (run_directory / "ranks" / "worker.log").write_text("one\n")
    (run_directory / "ranks" / "deep" / "worker.log").write_text("two\n")
    (run_directory / "checkpoint-50").mkdir()
    (run_directory / "checkpoint-50" / "trainer_state.json").write_text("{}")
    (run_directory / "global_step_100").mkdir()
    os.mkfifo(run_directory / "pipe.log")
    dry = command(site.url, "", run_directory, "--invocation", "run-7", "--slot", slot(), "--dry-run")
    assert dry.returncode == 0, dry.stderr
    for line in (
        f"send training-7.log as training-7.log (log, {len(COMPLETED)} bytes)",
        "send _rank 0 (copy).log as rank-0-copy-.log (log, 7 bytes)",
        "send ranks/deep/worker.log as worker.ranks.deep.log (log, 4 bytes)",
        "send notes with blanks.txt as notes-with-blanks.txt (other, kept and not read, 5 bytes)",
        "leave empty.log: empty", "leave pipe.log: no plain file", "leave weights.safetensors: model weights",
        "leave checkpoint-50/: a checkpoint", "leave global_step_100/: a checkpoint",
    ):  # fmt: skip
        assert f"  {line}\n" in dry.stdout
    assert not Attempt.objects.exists()
    assert not EvidenceBlob.objects.exists()
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", slot())
    assert done.returncode == 0, done.stderr
    assert "left out: checkpoint-50/ (a checkpoint)" in done.stderr
    assert json.loads(done.stdout)["outcome"] == "completed"
    names = {"training-7.log", "gpu-memory-7.csv", "trial-7.json", "rank-0-copy-.log", "worker.ranks.log",
             "worker.ranks.deep.log", "notes-with-blanks.txt"}  # fmt: skip
    assert set(EvidenceFile.objects.values_list("name", flat=True)) == names
    told = json.loads(done.stdout)["not_read"]
    assert told == [
        {"file": "notes-with-blanks.txt", "reason": "kept, but its name says no kind of evidence"}
    ]


def test_no_link_and_no_special_file_gets_anything_out_of_another_place(run_directory, tmp_path):
    secret = tmp_path / "secret.log"
    secret.write_text("RLVRAM_KEY=abc.def")
    (run_directory / "link.log").symlink_to(secret)
    (run_directory / "environ.log").symlink_to("/proc/self/environ")
    (run_directory / "out").symlink_to(tmp_path)
    assert {"link.log", "environ.log", "out/"} <= set(left(run_directory))
    assert not any("secret" in name for name in sent(run_directory).values())
    with pytest.raises(BadInput, match="is a link"):
        gather([run_directory / "link.log"])
    with pytest.raises(BadInput, match="no plain file"):
        gather([Path("/dev/zero")])
    # What was a file when it was looked at, and a link or a pipe when it is read, is not read either.
    gathered = gather([run_directory])
    source = next(item for item in gathered.sources if item.shown == "training-7.log")
    (run_directory / "training-7.log").unlink()
    (run_directory / "training-7.log").symlink_to(secret)
    with pytest.raises(BadInput, match="can't be opened as a plain file"):
        source.open()
    (run_directory / "training-7.log").unlink()
    os.mkfifo(run_directory / "training-7.log")
    with pytest.raises(BadInput, match="no plain file any more"):
        source.open()


def test_a_folder_that_becomes_a_link_is_not_entered(run_directory, tmp_path):
    (run_directory / "ranks").mkdir()
    (run_directory / "ranks" / "a.log").write_text("ours\n")
    source = next(item for item in gather([run_directory]).sources if item.shown == "ranks/a.log")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.log").write_text("theirs\n")
    (run_directory / "ranks").rename(tmp_path / "moved")
    (run_directory / "ranks").symlink_to(tmp_path / "other")
    with pytest.raises(BadInput, match="can't be opened"):
        source.open()


def test_a_sparse_file_of_a_terabyte_costs_no_time(run_directory):
    with (run_directory / "training-7.log").open("a") as log:
        log.truncate(1 << 40)
    (source,) = [item for item in gather([run_directory]).sources if item.shown == "training-7.log"]
    assert source.pieces[0].size == 60 * MIB
    with (run_directory / "gpu-memory-7.csv").open("a") as samples:
        samples.truncate(1 << 40)
    with pytest.raises(BadInput, match="of sampled memory"):
        gather([run_directory])


def test_files_of_two_jobs_are_refused_before_anything_is_sent(run_directory):
    (run_directory / "training-8.log").write_text("other\n")
    with pytest.raises(BadInput, match="jobs 7, 8"):
        gather([run_directory])


def test_of_too_many_files_the_evidence_goes(run_directory):
    for number in range(MOST_FILES + 20):
        (run_directory / f"note{number:04}.txt").write_text("x")
    gathered = gather([run_directory])
    assert len(gathered.sources) == MOST_FILES
    assert {source.kind for source in gathered.sources[:3]} == {"log", "samples", "trial"}
    assert gathered.left_out[-1][1] == f"more than {MOST_FILES} files"


@given(
    st.lists(
        st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=80), min_size=1, max_size=3
    )
)
def test_whatever_a_file_is_called_the_site_takes_its_name(words):
    from host.gather import _name

    taken: set[str] = set()
    first, second = _name(tuple(words), taken), _name(tuple(words), taken)
    assert first != second
    for name in (first, second):
        NAME.run_validation(part_name(name, 64, 64))


def test_a_name_keeps_saying_what_the_file_is(tmp_path):
    for name in ("gpu-memory-7.csv", "phase-memory-7.csv.gz", "training-7.log", "trial-7.json", "sacct.txt",
                 "device_map.json"):  # fmt: skip
        (tmp_path / "rank 0").mkdir(exist_ok=True)
        (tmp_path / "rank 0" / name).write_text("x")
    for place, name in sent(tmp_path).items():
        assert kind_of(name) == kind_of(place.rpartition("/")[2])


def test_parts_are_known_by_their_name():
    assert whole_of(part_name("gpu-memory-7.csv", 3, 12)) == ("gpu-memory-7.csv", 3, 12)
    assert whole_of("gpu-memory-7.csv.gz") is None
    assert kind_of(part_name("gpu-memory-7.csv", 3, 12)) == "samples"


def test_a_sample_file_over_every_limit_of_one_file_is_read_whole(site, key, run_directory):
    # Wide cells: the size is what matters here, not the number of rows.
    line = b"%d," + b",".join([b"12000".rjust(300, b"0")] * 7) + b"\n"
    rows = 66 * MIB // 2100 + 1
    with (run_directory / "gpu-memory-7.csv").open("wb") as file:
        # The peak stands in the first row, where a cut to the end would lose it.
        file.write(b"1700000000000000000,38001,11000,10000,9000,8000,7000,6000\n")
        for start in range(1, rows, 1_000):
            file.write(
                b"".join(line % (1700000000000000000 + n * 100_000_000) for n in range(start, start + 1_000))
            )
    size = (run_directory / "gpu-memory-7.csv").stat().st_size
    assert size > 64 * MIB
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", slot())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["outcome"], told["peak_mib"], told["not_read"]) == ("completed", 38_001, [])
    parts = EvidenceFile.objects.filter(kind="samples")
    assert len(parts) == -(-size // PART_BYTES)
    whole = b"".join(
        gzip.decompress(evidence_store.open_stored(part.sha256).read()) for part in parts.order_by("name")
    )
    assert whole == (run_directory / "gpu-memory-7.csv").read_bytes()
    attempt = Attempt.objects.get()
    assert not any("gpu-memory" in text for text in attempt.derivation["problems"] if "part" in text)


def test_a_missing_part_is_refused_not_read_as_the_whole(site, key, run_directory):
    (run_directory / "gpu-memory-7.csv").rename(run_directory / "kept")
    packed = gzip.compress((run_directory / "kept").read_bytes())
    (run_directory / part_name("gpu-memory-7.csv", 1, 2)).write_bytes(packed)
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", slot())
    assert done.returncode == 1
    assert "all 2 parts of gpu-memory-7.csv" in done.stderr
    assert not Attempt.objects.exists()
