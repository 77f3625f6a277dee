"""A large upload is read in a process of its own: what it may use is limited, and the site goes on."""

from __future__ import annotations

import gzip
import io
from typing import IO, cast

import pytest

from rlvram_site.ledger.chain import head
from studies.evidence.collect import RunFile
from studies.evidence.completion import CompletionRule
from studies.evidence.derived import Stated, derived_data
from studies.evidence.errors import EvidenceError
from studies.services.outcomes import derivation_apart
from studies.services.outcomes.derivation_apart import DerivationStopped, derive_apart, holds_more_than
from tests.api.logs import COMPLETED, OUT_OF_MEMORY, SAMPLES
from tests.attacks.conftest import attempt, put

FILLER = "(WorkerDict pid=7) INFO step detail loss=0.25\n" * 40_000
RULE = CompletionRule(1)


def files(**texts: str | bytes) -> list[RunFile]:
    names = {"log": "training-1.log", "samples": "gpu-memory-1.csv", "trial": "trial-1.json"}
    return [
        RunFile.of_bytes(names[kind], text.encode() if isinstance(text, str) else text)
        for kind, text in texts.items()
    ]


class _Endless(io.RawIOBase):
    """A log that never ends, so that no machine is quick enough for it."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        line = FILLER[: len(buffer)].encode()
        buffer[: len(line)] = line
        return len(line)


@pytest.mark.parametrize(
    "run",
    [
        files(log=FILLER + COMPLETED, samples=SAMPLES, trial='{"exit_code": 0, "steps": 1}'),
        files(log=gzip.compress((FILLER + OUT_OF_MEMORY).encode()), trial='{"exit_code": 1}'),
        files(log=COMPLETED, trial="{no json" + "x" * 300_000),
        files(log=gzip.compress(FILLER.encode())[:-50]),
        files(log=b""),
    ],
    ids=["completed", "packed", "unreadable record", "cut", "empty"],
)
def test_what_is_read_apart_is_what_is_read_here(run) -> None:
    stated = Stated(exit_signal=9, other_processes=("python 77",))
    for case in (Stated(), Stated(exit_code=1, device_peaks_mib={"0": 900.5}), stated):
        assert derive_apart(run, RULE, case) == derived_data(run, RULE, case)


def test_a_refusal_comes_back_in_its_own_words() -> None:
    two_jobs = [RunFile.of_bytes(f"training-{job}.log", COMPLETED.encode()) for job in (1, 2)]
    with pytest.raises(EvidenceError) as here:
        derived_data(two_jobs, RULE, Stated())
    with pytest.raises(EvidenceError) as apart:
        derive_apart(two_jobs, RULE, Stated())
    assert str(apart.value) == str(here.value)


def test_the_reader_gets_no_secret_of_the_site(monkeypatch) -> None:
    given = {}
    real = derivation_apart.subprocess.Popen

    def start(*words, **options):
        given.update(options["env"])
        return real(*words, **options)

    monkeypatch.setenv("SECRET_KEY", "s" * 60)
    monkeypatch.setattr(derivation_apart.subprocess, "Popen", start)
    derive_apart(files(log=COMPLETED), RULE, Stated())
    assert not {"SECRET_KEY", "DATABASE_URL", "DJANGO_SETTINGS_MODULE"} & given.keys()


def test_what_a_file_unpacks_to_decides_where_it_is_read() -> None:
    packed = files(log=gzip.compress(b"x" * 100_000))
    assert holds_more_than(packed, 99_999)
    assert not holds_more_than(packed, 100_000)
    assert holds_more_than(files(log=gzip.compress(b"\n" * (80 << 20))), 1 << 40)


def test_too_little_time_or_memory_ends_the_reader_and_not_the_site(settings) -> None:
    settings.DERIVATION_MEMORY_BYTES = 60 << 20
    with pytest.raises(DerivationStopped, match="within 60 MiB of memory"):
        derive_apart(files(log=COMPLETED), RULE, Stated())
    settings.DERIVATION_MEMORY_BYTES = 1 << 30
    settings.DERIVATION_CPU_SECONDS = 1
    endless = RunFile("training-1.log", lambda: cast("IO[bytes]", io.BufferedReader(_Endless())))
    with pytest.raises(DerivationStopped, match="within 1 s of processor time"):
        derive_apart([endless], RULE, Stated())


def test_an_upload_that_exceeds_the_limits_is_refused_and_records_nothing(store, study, uploader, settings):
    settings.DERIVATION_AT_ONCE_BYTES = 0
    put(uploader, OUT_OF_MEMORY.encode())
    answer = attempt(uploader, "run-1", ("training-1.log", OUT_OF_MEMORY.encode()))
    assert answer.status_code == 201, answer.content
    assert answer.json()["problems"] == []
    before = head("study/demo")
    settings.DERIVATION_MEMORY_BYTES = 60 << 20
    refused = attempt(uploader, "run-2", ("training-1.log", OUT_OF_MEMORY.encode()))
    assert refused.status_code == 400
    assert "files: can't be read within 60 MiB of memory" in refused.json()["error"]["message"]
    assert head("study/demo") == before
    settings.DERIVATION_MEMORY_BYTES = 1 << 30
    assert attempt(uploader, "run-2", ("training-1.log", OUT_OF_MEMORY.encode())).status_code == 201


def test_a_fault_of_the_reader_is_kept_in_the_log(caplog) -> None:
    with pytest.raises(DerivationStopped, match="an error that nobody expected"):
        derive_apart(files(log=COMPLETED), RULE, Stated(device_peaks_mib={"0": "no"}))  # type: ignore[dict-item]
    assert "Traceback" in caplog.text
