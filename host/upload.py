"""``rlvram-upload``: collects what an invocation left behind and uploads it, from a GPU host.

Needs Python with ``requests`` (and ``tqdm`` for the progress bar), nothing else of this project; the file
runs alone. It sends the files by their sha256 first, so that an interrupted upload goes on where it ended,
and the record last, so that the study sees the invocation whole or not at all. Sending again is harmless.

Exit codes: 0 recorded, or recorded before; 1 the server refused, with its reason; 2 wrong arguments or
files; 3 the server could not be reached.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import requests

TRIES = 6
FIRST_PAUSE = 1.0  # s, doubled after each failed try
LONGEST_PAUSE = 60.0  # s
TIMEOUT = (10, 300)  # s: to connect, to wait for an answer
TRY_AGAIN = {429, 500, 502, 503, 504}
CHUNK = 1 << 20
MAX_MIB = 60.0
NOT_EVIDENCE = (".pyc", ".swp", ".tmp", ".pt", ".safetensors", ".bin")


class Refused(Exception):
    """The server's own reason for not taking it."""


class Unreachable(Exception):
    """No answer, however often it was tried."""


class BadInput(Exception):
    """The arguments or the files can't be used."""


@dataclass(frozen=True)
class Part:
    """One file to send: ``size`` bytes from ``offset`` on, which is above 0 where only the tail is sent."""

    path: Path
    name: str
    sha256: str
    size: int
    offset: int = 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _arguments().parse_args(argv)
    try:
        record, parts = collect(options)
        key = options.key or os.environ.get("RLVRAM_KEY", "")
        if not key:
            raise BadInput("no key: set RLVRAM_KEY or give --key")
        uploader = Uploader(options.url, options.study, key, quiet=options.quiet)
        answer = uploader.send(record, parts, private=options.private)
    except BadInput as error:
        print(f"rlvram-upload: {error}", file=sys.stderr)
        return 2
    except Refused as error:
        print(f"rlvram-upload: refused: {error}", file=sys.stderr)
        return 1
    except Unreachable as error:
        print(f"rlvram-upload: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("rlvram-upload: interrupted; run it again to go on", file=sys.stderr)
        return 130
    print(json.dumps({name: answer.get(name) for name in ("invocation_id", "slot", "outcome", "diagnosis",
                                                          "evidence_line", "peak_mib")}))  # fmt: skip
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvram-upload",
        description="Upload what an invocation left behind: a run directory or single files.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a run directory, or files")
    parser.add_argument("--url", required=True, help="the site, for example https://studies.example.org")
    parser.add_argument("--study", required=True, help="slug of the study")
    parser.add_argument(
        "--invocation", required=True, metavar="ID", help="identifies the invocation for good"
    )
    parser.add_argument("--slot", help="the planned slot (experiment_id)")
    parser.add_argument("--exit-code", type=int, metavar="N")
    parser.add_argument("--signal", type=int, metavar="N")
    parser.add_argument("--supersedes", metavar="ID", help="the wrong entry that this one corrects")
    parser.add_argument("--reason", metavar="TEXT", help="what is wrong with the superseded entry")
    parser.add_argument("--record", type=Path, metavar="FILE", help="JSON with further fields of the record")
    parser.add_argument("--private", action="store_true", help="send only hashes of the files")
    parser.add_argument("--key", help="the API key; better in the environment variable RLVRAM_KEY")
    parser.add_argument(
        "--max-mib", type=float, default=MAX_MIB, help="of a larger log only its tail is sent"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _version() -> str:
    try:
        from host.version import product_version
    except ImportError:  # this file was copied and runs alone
        return "unknown: a copy of the file alone"
    return product_version()


def collect(options: argparse.Namespace) -> tuple[dict[str, Any], list[Part]]:
    """The record and the files of the command's arguments. Raises ``BadInput``."""
    record: dict[str, Any] = {}
    if options.record:
        try:
            record = json.loads(options.record.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(f"--record {options.record}: {error}") from error
        if not isinstance(record, dict):
            raise BadInput(f"--record {options.record}: expected a JSON object")
    record["invocation_id"] = options.invocation
    given = {
        "slot": options.slot, "exit_code": options.exit_code, "signal": options.signal,
        "supersedes": options.supersedes, "supersedes_reason": options.reason,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None:
            record[name] = value
    return record, collect_files(options.paths, options.max_mib)


def collect_files(paths: Sequence[Path], max_mib: float = MAX_MIB) -> list[Part]:
    """The files to send, of a run directory or one by one; of a larger log only its tail.

    Raises ``BadInput``.
    """
    limit = int(max_mib * (1 << 20))
    parts = [_part(path, limit) for path in _files(paths)]
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two files are called {name}, expected each name once")
    return parts


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            found = sorted(item for item in path.iterdir() if item.is_file())
            yield from (item for item in found if item.suffix not in NOT_EVIDENCE and item.name[0] != ".")
        elif path.is_file():
            yield path
        else:
            raise BadInput(f"{path}: not there, expected a run directory or a file")


def _part(path: Path, limit: int) -> Part:
    size = path.stat().st_size
    tail = size > limit
    if tail and path.suffix in (".gz", ".json"):
        raise BadInput(f"{path}: has {size} bytes, expected at most {limit} (only plain logs can be cut)")
    offset = size - limit if tail else 0
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(CHUNK):
            sha256.update(chunk)
        sent = file.tell() - offset
    return Part(path, f"tail.{path.name}" if tail else path.name, sha256.hexdigest(), sent, offset)


class Uploader:
    """Talks to one study of one site, with retries and growing pauses."""

    def __init__(self, url: str, study: str, key: str, *, quiet: bool = False) -> None:
        self.base = f"{url.rstrip('/')}/api/v1/studies/{study}"
        self.session = requests.Session()
        self.session.headers.update({"Authorization": f"Api-Key {key}", "Accept": "application/json"})
        self.quiet = quiet

    def send(self, record: dict[str, Any], parts: Sequence[Part], *, private: bool = False) -> dict[str, Any]:
        """Send the files that the site does not have yet, then the record. Returns the site's answer.

        Raises ``Refused`` with the site's reason, or ``Unreachable``.
        """
        if not private:
            self._send_files(parts)
        files = [
            {"name": part.name, "sha256": part.sha256, "size_bytes": part.size, "private": private}
            for part in parts
        ]
        body = json.dumps({**record, "files": files} if files else record).encode()
        headers = {"Content-Type": "application/json"}
        return self._request("POST", f"{self.base}/attempts/", body, headers).json()

    def _send_files(self, parts: Sequence[Part]) -> None:
        with _Bar(sum(part.size for part in parts), self.quiet) as bar:
            for part in parts:
                url = f"{self.base}/evidence/{part.sha256}/"
                if not part.size:
                    raise BadInput(f"{part.path}: is empty")
                if self._request("HEAD", url).status_code == 404:
                    headers = {"Content-Encoding": "gzip", "Content-Type": "application/octet-stream"}
                    self._request("PUT", url, _packed(part), headers)
                bar.update(part.size)

    def _request(
        self, method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> requests.Response:
        """One request, tried again while that may help. ``HEAD`` may answer 404."""
        pause, problem = FIRST_PAUSE, ""
        for number in range(TRIES):
            if number:
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            try:
                answer = self.session.request(method, url, data=body, headers=headers, timeout=TIMEOUT)
            except requests.RequestException as error:
                problem = f"{url}: {error}"
                continue
            if answer.ok or (method == "HEAD" and answer.status_code == 404):
                return answer
            problem = _reason(answer)
            if answer.status_code not in TRY_AGAIN:
                raise Refused(problem)
            pause = _wanted_pause(answer, pause)
        raise Unreachable(f"given up after {TRIES} tries: {problem}")


def _wanted_pause(answer: requests.Response, pause: float) -> float:
    wanted = answer.headers.get("Retry-After", "")
    return min(float(wanted), LONGEST_PAUSE) if wanted.isdecimal() else pause


def _reason(answer: requests.Response) -> str:
    try:
        error = answer.json()["error"]
        return f"{answer.status_code} {error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason}"


def _packed(part: Part) -> bytes:
    """The part's bytes, packed for the way: at most the size limit, so they fit into memory."""
    target = io.BytesIO()
    with part.path.open("rb") as source, gzip.GzipFile(fileobj=target, mode="wb", compresslevel=6) as sink:
        source.seek(part.offset)
        left = part.size
        while left and (chunk := source.read(min(CHUNK, left))):
            sink.write(chunk)
            left -= len(chunk)
    if left:
        raise BadInput(f"{part.path}: became shorter while it was read")
    return target.getvalue()


class _Bar:
    """A progress bar on a terminal, where tqdm is there; else nothing."""

    def __init__(self, total: int, quiet: bool, stream: IO[str] | None = None) -> None:
        self._bar: Any = None
        stream = stream or sys.stderr
        if not quiet and total and stream.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, unit="B", unit_scale=True, desc="upload", file=stream)

    def update(self, size: int) -> None:
        if self._bar is not None:
            self._bar.update(size)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


if __name__ == "__main__":
    sys.exit(main())
