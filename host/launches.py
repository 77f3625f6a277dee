"""The launch ledger: one file for each launch of a slot, made before the process starts and never removed.

The file is made exclusively and forced to the disk with its folder, so that a second launch of the same slot
is impossible for two processes at once, on several machines with one shared folder, after a crash and after a
reboot. Only the entry of a program that provably never started is set aside, under another name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from host.errors import AlreadyLaunched


def note_launch(folder: Path, study: str, slot: str, allowed: int, facts: dict[str, Any]) -> int:
    """Write the next launch of the slot into the ledger; returns its number, from 1.

    Raises:
        AlreadyLaunched: the slot was launched as often as the protocol allows.
    """
    place = _place(folder, study)
    place.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"study": study, "slot": slot, **facts}, sort_keys=True).encode() + b"\n"
    for number in range(1, allowed + 1):
        path = place / _entry(slot, number)
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            continue
        try:
            os.write(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        for parent in (place, place.parent, folder):
            _force(parent)
        return number
    raise AlreadyLaunched(
        f"slot {slot} of {study} was launched {'once' if allowed == 1 else f'{allowed} times'} already, "
        "and the protocol allows no more"
    )


def may_launch(folder: Path, study: str, slot: str, allowed: int) -> bool:
    """Whether one more launch is free; another process may still be quicker."""
    place = _place(folder, study)
    return any(not (place / _entry(slot, number)).exists() for number in range(1, allowed + 1))


def newest_token(folder: Path, study: str, slot: str) -> str:
    """The token of the slot's last launch; empty if it was never launched from here."""
    place, number, token = _place(folder, study), 1, ""
    while (path := place / _entry(slot, number)).exists():
        token = str(json.loads(path.read_text() or "{}").get("token", ""))
        number += 1
    return token


def set_aside(folder: Path, study: str, slot: str, number: int, token: str) -> None:
    """The program of this launch never started, so the slot was not launched."""
    place = _place(folder, study)
    os.replace(place / _entry(slot, number), place / f"{_entry(slot, number)}.never-started-{token}")
    _force(place)


def _place(folder: Path, study: str) -> Path:
    return folder / "launches" / _file_name(study)


def _entry(slot: str, number: int) -> str:
    return f"{_file_name(slot)}.{number}.json"


def _force(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _file_name(text: str) -> str:
    """A name of the file system for any text: readable, and different for different texts."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:80]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
