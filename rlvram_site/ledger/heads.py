"""Heads that a reviewer keeps outside the site, to check later that history was only added to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.utils import timezone

from rlvram_site.bounded_files import read_whole
from rlvram_site.ledger.chain import Head
from rlvram_site.strict_json import JsonError, read_json

FORMAT = "rlvram-heads/1"


class HeadsFileError(Exception):
    """A file of kept heads that cannot be understood; the message names the file, the place and the need."""


def heads_document(heads: Iterable[Head]) -> dict[str, Any]:
    """The kept form: format, time of export (UTC) and each stream's length and last digest."""
    return {
        "format": FORMAT,
        "exported_at": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "heads": [{"stream": h.stream, "sequence": h.sequence, "sha256": h.sha256} for h in heads],
    }


def read_heads(path: Path) -> list[Head]:
    """Heads from a file that ``verify_ledger --export-heads`` wrote. Raises ``HeadsFileError``."""
    try:
        document = read_json(read_whole(path), str(path))
    except OSError as error:
        raise HeadsFileError(f"{path}: cannot be read: {error.strerror}") from error
    except JsonError as error:
        raise HeadsFileError(str(error)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise HeadsFileError(f'{path}: expected an object with "format": "{FORMAT}"')
    heads = document.get("heads")
    if not isinstance(heads, list):
        raise HeadsFileError(f"{path}: heads is {heads!r}, expected a list")
    return [_head(path, number, entry) for number, entry in enumerate(heads)]


def _head(path: Path, number: int, entry: Any) -> Head:
    place = f"{path}: heads[{number}]"
    if not isinstance(entry, dict):
        raise HeadsFileError(f"{place} is {entry!r}, expected an object")
    stream, sequence, sha256 = entry.get("stream"), entry.get("sequence"), entry.get("sha256")
    if not isinstance(stream, str) or not stream:
        raise HeadsFileError(f"{place}.stream is {stream!r}, expected a stream's name")
    if not isinstance(sequence, int) or isinstance(sequence, bool) or sequence < 0:
        raise HeadsFileError(f"{place}.sequence is {sequence!r}, expected a whole number from 0")
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}" if sequence else "", sha256):
        raise HeadsFileError(f"{place}.sha256 is {sha256!r}, expected 64 hexadecimal digits")
    return Head(stream, sequence, sha256)
