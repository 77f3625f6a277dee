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
    """Write launch number ``allowed`` of the slot into the ledger; returns that number, from 1.

    Each number is launched once, and none after a later one. Earlier ones may be missing here: they were on
    another host, or used up without a launch, and leave no room for a repetition of this one.

    Raises:
        AlreadyLaunched: this launch of the slot, or a later one, stands in the ledger.
    """
    place = _place(folder, study)
    place.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"study": study, "slot": slot, **facts}, sort_keys=True).encode() + b"\n"
    check_launch(folder, study, slot, allowed)
    try:
        handle = os.open(place / _entry(slot, allowed), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:  # another process was quicker
        raise _already(study, slot, allowed) from None
    try:
        os.write(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)
    for parent in (place, place.parent, folder):
        _force(parent)
    return allowed


def check_launch(folder: Path, study: str, slot: str, allowed: int) -> None:
    """Raises ``AlreadyLaunched`` if the launch can't be made; another process may still be quicker."""
    newest = _newest(folder, study, slot)
    if newest >= allowed:
        raise _already(study, slot, newest)


def newest_token(folder: Path, study: str, slot: str) -> str:
    """The token of the slot's last launch; empty if it was never launched from here."""
    number = _newest(folder, study, slot)
    if not number:
        return ""
    text = (_place(folder, study) / _entry(slot, number)).read_text()
    return str(json.loads(text or "{}").get("token", ""))


def set_aside(folder: Path, study: str, slot: str, number: int, token: str) -> None:
    """The program of this launch never started, so the slot was not launched."""
    place = _place(folder, study)
    os.replace(place / _entry(slot, number), place / f"{_entry(slot, number)}.never-started-{token}")
    _force(place)


def _newest(folder: Path, study: str, slot: str) -> int:
    """The number of the slot's last launch in the ledger; 0 if there is none."""
    entries = _place(folder, study).glob(f"{_file_name(slot)}.*.json")
    return max((int(path.name.split(".")[1]) for path in entries), default=0)


def _already(study: str, slot: str, number: int) -> AlreadyLaunched:
    how = "once" if number == 1 else f"as try {number}"
    return AlreadyLaunched(
        f"slot {slot} of {study} was launched {how} already, and the protocol allows no more"
    )


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
