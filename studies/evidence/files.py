"""The thin part that touches the disk: one log, or the directory that an invocation left behind."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from studies.evidence.collect import RunFile, collect_log, collect_run
from studies.evidence.completion import CompletionRule
from studies.evidence.errors import EvidenceError
from studies.evidence.outcome import RunEvidence


def read_log(
    path: Path, completion: CompletionRule | None = None, *, exit_code: int | None = None
) -> RunEvidence:
    """The evidence of a single log file, plain or gzip, read as a stream.

    Raises:
        EvidenceError: the file does not exist, is a directory, or can't be read.
    """
    return collect_log(_file(path), completion, exit_code=exit_code)


def read_run_directory(
    path: Path,
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
    job: str | None = None,
) -> RunEvidence:
    """The evidence in a directory as the study's hosts leave it. Subdirectories are not entered.

    Arguments are those of `collect.collect_run`.

    Raises:
        EvidenceError: no such directory, nothing in it that could be evidence, or files of several jobs
            and none chosen.
    """
    if not path.is_dir():
        raise EvidenceError(str(path), "path", str(path), "an existing directory")
    files = [_file(item) for item in path.iterdir() if item.is_file()]
    return collect_run(files, completion, exit_code=exit_code, job=job, where=str(path))


def read_evidence(
    path: Path,
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
    job: str | None = None,
) -> RunEvidence:
    """The evidence of a log file or of a run directory, whichever `path` is."""
    if path.is_dir():
        return read_run_directory(path, completion, exit_code=exit_code, job=job)
    return read_log(path, completion, exit_code=exit_code)


def _file(path: Path) -> RunFile:
    def opened() -> IO[bytes]:
        try:
            return path.open("rb")
        except FileNotFoundError as error:
            raise EvidenceError(str(path), "path", str(path), "an existing file or directory") from error
        except OSError as error:
            expected = f"a readable file ({error.strerror})"
            raise EvidenceError(str(path), "path", str(path), expected) from error

    return RunFile(path.name, opened)
