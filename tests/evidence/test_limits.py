"""A small file can't fill the memory: what it unpacks to and holds is limited while it is read."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from studies.evidence import documents, samples, unpacking
from studies.evidence.collect import RunFile, collect_run
from studies.evidence.errors import EvidenceError
from studies.evidence.outcome import derive_outcome
from studies.evidence.samples import sampled_peak
from studies.evidence.scheduler import parse_sacct
from studies.evidence.unpacking import text_lines, unpacked_chunks
from tests.evidence.log_cases import STEP_1

LOG = f"starting\n{STEP_1}\n".encode()


def unpacked(data: bytes) -> tuple[bytes, list[str]]:
    problems: list[str] = []
    return b"".join(unpacked_chunks(io.BytesIO(data), "a.log.gz", problems)), problems


def collected(**files: bytes):
    names = {"log": "training-1.log", "trial": "trial-1.json", "devices": "device-map.json",
             "samples": "gpu-memory-1.csv"}  # fmt: skip
    return collect_run([RunFile.of_bytes(names[kind], data) for kind, data in files.items()])


def test_plain_and_packed_bytes_come_out_as_they_are() -> None:
    data = bytes(range(256)) * 3000

    assert unpacked(data) == (data, [])
    assert unpacked(gzip.compress(data)) == (data, [])
    assert unpacked(gzip.compress(data[:7]) + gzip.compress(data[7:])) == (data, [])
    assert unpacked(gzip.compress(data) + b"\x00" * 5000) == (data, [])
    assert unpacked(b"") == (b"", [])
    assert unpacked(b"\x1f") == (b"\x1f", [])


@pytest.mark.parametrize("cut", [1, 4, 9, 20, 400])
def test_a_packed_file_that_was_cut_ends_where_its_readable_part_ends(cut: int) -> None:
    data = b"".join(b"%d %d\n" % (number, number * 7919) for number in range(3000))
    found, problems = unpacked(gzip.compress(data)[:-cut])

    assert data.startswith(found)
    assert len(found) > len(data) - 40 * cut
    assert problems == [problems[0]]
    assert "a.log.gz: the packed file is damaged or cut" in problems[0]


def test_trailing_bytes_are_reported_and_never_kept() -> None:
    found, problems = unpacked(gzip.compress(LOG) + b"x" * 1000)
    assert found == LOG
    assert problems == ["a.log.gz: 1000 bytes behind the packed content are no gzip, not read"]

    with pytest.raises(EvidenceError, match=r"a\.log\.gz: trailing bytes is \d+, expected at most 1048576"):
        unpacked(gzip.compress(LOG) + b"x" * (3 << 20))


def test_a_file_that_unpacks_to_hundreds_of_times_its_size_is_refused() -> None:
    bomb = gzip.compress(b"\n" * (100 << 20))

    tracemalloc.start()
    with pytest.raises(EvidenceError, match=r"a\.log\.gz: unpacked size is \d+, expected at most 200 times"):
        for _ in unpacked_chunks(io.BytesIO(bomb), "a.log.gz", []):
            pass
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 8 << 20


def test_the_unpacked_size_and_the_members_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    many = gzip.compress(b"") * 11
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 10)
    with pytest.raises(EvidenceError, match=r"members is 11, expected at most 10 in one gzip file"):
        unpacked(many)

    # The first chunk says nothing about the next ones.
    slow_start = gzip.compress(b"a") + gzip.compress(b"b" * 3_000_000)
    monkeypatch.setattr(unpacking, "MOST_UNPACKED_BYTES", 2_000_000)
    with pytest.raises(
        EvidenceError, match=r"unpacked size is .*expected at most 2000000 bytes when unpacked"
    ):
        unpacked(slow_start)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (b"[" + b"[]," * 60_000 + b"[]]", "number of items"),
        (b'{"a": "' + b"x" * (documents.MOST_BYTES + 1) + b'"}', "size"),
    ],
)
@pytest.mark.parametrize("kind", ["trial", "devices"])
def test_a_document_beyond_a_limit_is_refused_with_its_name(kind: str, document: bytes, field: str) -> None:
    name = {"trial": "trial-1.json", "devices": "device-map.json"}[kind]
    with pytest.raises(EvidenceError, match=rf"{name}: {field} is .*, expected at most \d+"):
        collected(log=LOG, **{kind: document})


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (b"[" * 40_000 + b"]" * 40_000, "levels"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "levels"),
        (b'{"exit_code": ' + b"9" * 5000 + b"}", "digits"),
    ],
)
def test_an_odd_document_is_reported_with_its_name_and_the_rest_is_used(document: bytes, field: str) -> None:
    (problem,) = collected(log=LOG, trial=document).problems

    assert problem.startswith("trial-1.json: no JSON (")
    assert field in problem


def test_a_small_packed_document_of_nested_lists_takes_no_memory() -> None:
    bomb = gzip.compress(b"[" + b"[[]]," * (12 << 20) + b"[]]")
    assert len(bomb) < 100_000

    tracemalloc.start()
    with pytest.raises(EvidenceError, match=r"trial-1\.json: size is"):
        collected(log=LOG, trial=bomb)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 32 << 20


def test_numbers_of_thousands_of_digits_in_samples_are_no_samples() -> None:
    long = "9" * 4000
    text = f"100,5,6\n{long},5,6\n200,{long},6\n-{long},1,1\n300,7,8\n"
    peak = sampled_peak([("a.csv", [text.encode()])])

    assert peak.mib == 8
    assert peak.sample_rows == 2
    assert len([problem for problem in peak.problems if "is no row of samples" in problem]) == 3


def test_devices_and_rows_are_limited() -> None:
    with pytest.raises(EvidenceError, match=r"a\.csv: columns is 5001, expected at most 1024"):
        sampled_peak([("a.csv", [b"1" + b",2" * 5000 + b"\n"])])
    header = "timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct"
    rows = [f"{number},1,x,{number},5,5" for number in range(samples.MOST_DEVICES + 1)]
    with pytest.raises(EvidenceError, match=r"a\.csv: devices is 'over 1024'"):
        sampled_peak([("a.csv", ["\n".join([header, *rows, ""]).encode()])])
    with pytest.raises(EvidenceError, match=r"sacct\.txt: rows is 'over 100000'"):
        parse_sacct(["JobID|State", *["7|FAILED"] * 100_001], "sacct.txt")
    _, problems = parse_sacct(["x|y"] * 1000, "sacct.txt")
    assert len(problems) == 21
    assert problems[-1] == "sacct.txt: 980 more lines with another number of fields"


def test_a_table_without_line_ends_is_cut_and_reported() -> None:
    problems: list[str] = []
    chunks = iter([b"a,b\n", *[b"1," * 50_000] * 20, b"\nc,d\n", b"e" * 70_000])
    lines = list(text_lines(chunks, "a.csv", problems))

    assert [len(line) for line in lines] == [3, 65536, 3, 65536]
    assert problems == ["a.csv: lines longer than 65536 bytes were cut"]


def test_the_command_names_file_and_limit_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "training-1.log").write_bytes(LOG)
    (tmp_path / "trial-1.json").write_text("[" + "[]," * 60_000 + "[]]")

    with pytest.raises(CommandError, match=r"trial-1\.json: number of items is \d+, expected") as caught:
        call_command("classify_run", str(tmp_path))
    assert caught.value.returncode == 2


def test_usual_documents_stay_within_every_limit() -> None:
    trial = json.dumps(
        {"exit_code": 0, "steps": 1, "environment": {f"PACKAGE_{n}": "1.0" for n in range(2000)}}
    )
    evidence = collected(log=LOG, trial=trial.encode(), samples=b"100,5\n")

    assert derive_outcome(evidence).outcome == "completed"
