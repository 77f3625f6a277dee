"""Uploading one invocation: its files by their sha256 first, its record last, and what came of it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from host.errors import BadInput, Refused
from host.gather import MAX_MIB, Gathered, Piece, Source, gather
from host.keys import read_key
from host.web import RETRIES, Tell, Web, object_of, on_stderr

CHUNK = 1 << 20


def upload_run(
    paths: str | Path | Sequence[str | Path], *, url: str, study: str, invocation: str,
    slot: str | None = None, unplanned: bool = False, exit_code: int | None = None,
    record: Mapping[str, Any] | None = None, key_file: str | Path | None = None, private: bool = False,
    max_mib: float = MAX_MIB, retries: int = RETRIES, tell: Tell = on_stderr,
) -> dict[str, Any]:  # fmt: skip
    """Upload a run directory or files as one invocation, and return the site's answer.

    The answer has ``status`` (recorded or unchanged), ``outcome``, ``diagnosis``, ``evidence_line``,
    ``peak_mib`` (MiB), ``page`` (the attempt's address), ``not_read``. The key comes from ``key_file``, or
    from ``RLVRAM_KEY_FILE`` or ``RLVRAM_KEY`` in the environment. ``record`` has its further fields.

    Raises ``BadInput``, ``Refused`` with the site's reason, or ``Unreachable``. Calling it again is harmless.
    """
    web = Web(url, read_key(Path(key_file) if key_file else None), retries=retries, tell=tell)
    chosen = [paths] if isinstance(paths, str | Path) else paths
    gathered = gather([Path(path) for path in chosen], max_mib)
    for line in gathered.warnings():
        tell(line)
    sent: dict[str, Any] = {**(record or {}), "invocation_id": invocation}
    for name, value in (("slot", slot), ("exit_code", exit_code), ("unplanned", unplanned or None)):
        if value is not None:
            sent[name] = value
    return send(web, study, sent, gathered, private=private)


def send(
    web: Web, study: str, record: Mapping[str, Any], gathered: Gathered, *, private: bool = False,
    quiet: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Send the files that the site does not have yet, then the record. Returns the site's answer.

    Raises ``Refused`` with the site's reason, ``Unreachable``, or ``BadInput`` for a file that changed.
    """
    files: list[dict[str, Any]] = []
    with _Bar(sum(source.size - source.cut_bytes for source in gathered.sources), quiet) as bar:
        for source in gathered.sources:
            for piece in source.pieces:
                sha256, size = _send_piece(web, study, source, piece, private)
                files.append({"name": piece.name, "sha256": sha256, "size_bytes": size, "private": private})
                bar.update(piece.size)
    body = json.dumps({**record, "files": files} if files else record).encode()
    answer = object_of(
        web.request(
            "POST", f"studies/{study}/attempts/", body=body, headers={"Content-Type": "application/json"}
        )
    )
    if answer.get("invocation_id") != record["invocation_id"]:
        raise Refused(
            f"{web.url} answered without this invocation's id, so nothing shows that it was recorded; "
            "is this the site's own address?"
        )
    return answer


def _send_piece(web: Web, study: str, source: Source, piece: Piece, private: bool) -> tuple[str, int]:
    """Send the piece unless the site has it or only its hash is wanted. Returns sha256 and bytes."""
    if piece.packed:
        body = _gzip(_bytes(source, piece))
        sha256, size, encoding = hashlib.sha256(body).hexdigest(), len(body), {}
    else:
        digest = hashlib.sha256()
        for chunk in _bytes(source, piece):
            digest.update(chunk)
        body, sha256, size, encoding = b"", digest.hexdigest(), piece.size, {"Content-Encoding": "gzip"}
    address = f"studies/{study}/evidence/{sha256}/"
    if not private and web.request("HEAD", address, absent=True).status_code == 404:
        headers = {**encoding, "Content-Type": "application/octet-stream"}
        web.request("PUT", address, body=body or _gzip(_bytes(source, piece)), headers=headers)
    return sha256, size


def _bytes(source: Source, piece: Piece) -> Iterator[bytes]:
    with source.open() as file:
        file.seek(piece.offset)
        left = piece.size
        while left:
            chunk = file.read(min(CHUNK, left))
            if not chunk:
                raise BadInput(f"{source.shown}: became shorter while it was read")
            left -= len(chunk)
            yield chunk


def _gzip(chunks: Iterator[bytes]) -> bytes:
    """The chunks as one gzip file, the same for the same bytes."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=4, mtime=0) as sink:
        for chunk in chunks:
            sink.write(chunk)
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
