"""Where a backup's parts lie, and its manifest: what it holds, of which versions, sizes and hashes."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlvram_site.strict_json import JsonError, read_json

FORMAT = "rlvram-backup/1"
MANIFEST, HEADS, EVIDENCE_LIST = "manifest.json", "heads.json", "evidence.json"
DATABASE_FILES = {"sqlite": "database.sqlite3", "postgresql": "database.pgdump", "rows": "database.jsonl.gz"}
"""The three forms of a database in a backup: each engine's own, and rows that either engine takes."""

_NAME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
_UNFINISHED = "unfinished-"


class BackupError(Exception):
    """A backup can't be made, read or brought back; the message says what was expected."""


@dataclass
class Part:
    """One file of a backup."""

    name: str
    bytes: int
    sha256: str


@dataclass
class Manifest:
    """What one backup holds. ``migrations`` are the applied ones by app."""

    made_at: str
    form: str
    versions: dict[str, str]
    migrations: dict[str, list[str]]
    parts: list[Part] = field(default_factory=list)
    links: int = 0
    evidence_files: int = 0
    evidence_bytes: int = 0
    missing_evidence: list[str] = field(default_factory=list)

    def part(self, name: str) -> Part:
        """The part of that name. Raises ``BackupError`` if the manifest has none."""
        for one in self.parts:
            if one.name == name:
                return one
        raise BackupError(f"the manifest names no {name}")


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let nobody else write into the folder of backups meanwhile. Raises ``BackupError`` if somebody does."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (root / ".lock").open("w")
    except OSError as error:
        raise BackupError(f"{root}: cannot be written: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"{root}: another backup is being written there") from None
        yield


def new_folder(root: Path, name: str) -> Path:
    """An empty folder for a backup's files, until ``finish``. What a killed one left is removed."""
    for left in root.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left)
    folder = root / f"{_UNFINISHED}{name}"
    folder.mkdir(mode=0o700)
    return folder


def finish(folder: Path, manifest: Manifest) -> Path:
    """Write the manifest and give the folder its name: from here on it is a backup."""
    write_durably(folder / MANIFEST, json.dumps({"format": FORMAT} | asdict(manifest), indent=1) + "\n")
    name = folder.name.removeprefix(_UNFINISHED)
    number, final = 1, folder.parent / name
    while final.exists():
        number += 1
        final = folder.parent / f"{name}-{number}"
    folder.rename(final)
    sync_folder(folder.parent)
    return final


def backups(root: Path) -> list[Path]:
    """The complete backups in the folder, the oldest first."""
    if not root.is_dir():
        raise BackupError(f"{root}: expected a folder that manage.py backup wrote")
    found = [path for path in root.iterdir() if _NAME.fullmatch(path.name) and (path / MANIFEST).is_file()]
    return sorted(found, key=lambda path: (path.name[:16], len(path.name), path.name))


def chosen(root: Path, name: str = "") -> Path:
    """The backup of that name, or the newest. Raises ``BackupError`` if there is none."""
    found = backups(root)
    if not found:
        raise BackupError(f"{root}: there is no complete backup in it")
    if not name:
        return found[-1]
    for path in found:
        if path.name == name:
            return path
    raise BackupError(f"--at {name}: expected one of {', '.join(path.name for path in found[-10:])}")


def remove_oldest(root: Path, keep: int) -> list[Path]:
    """Remove all complete backups but the newest ``keep``; evidence stays."""
    old = backups(root)[:-keep]
    for path in old:
        shutil.rmtree(path)
    return old


def read_manifest(backup: Path) -> Manifest:
    """The manifest of a backup. Raises ``BackupError`` naming the field that is not as expected."""
    path = backup / MANIFEST
    try:
        document = read_json(path.read_bytes(), str(path))
    except OSError as error:
        raise BackupError(f"{path}: cannot be read: {error.strerror}") from error
    except JsonError as error:
        raise BackupError(str(error)) from error
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise BackupError(f'{path}: expected an object with "format": "{FORMAT}"')
    try:
        parts = [Part(**part) for part in document.pop("parts")]
        manifest = Manifest(**document, parts=parts)
    except (KeyError, TypeError) as error:
        raise BackupError(f"{path}: {error}") from error
    if manifest.form not in DATABASE_FILES:
        raise BackupError(f"{path}: form is {manifest.form!r}, expected one of {', '.join(DATABASE_FILES)}")
    return manifest


def check_parts(backup: Path, manifest: Manifest) -> None:
    """Raises ``BackupError`` naming the first file that is not the one that the manifest describes."""
    for part in manifest.parts:
        path = backup / part.name
        try:
            found = describe(path)
        except OSError as error:
            raise BackupError(f"{path}: cannot be read: {error.strerror}") from error
        if found != part:
            raise BackupError(
                f"{path}: has {found.bytes} bytes with the sha256 {found.sha256}, "
                f"expected {part.bytes} bytes with {part.sha256}"
            )


def describe(path: Path) -> Part:
    """A file's name, size and sha256."""
    with path.open("rb") as handle:
        sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
    return Part(path.name, path.stat().st_size, sha256)


def write_durably(path: Path, text: str) -> None:
    """A new file whose content is on the disk when this returns."""
    with path.open("x", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())


def sync_file(path: Path) -> None:
    """Force what another program wrote to the disk."""
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def sync_folder(folder: Path) -> None:
    """Force a folder's names to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def heads_text(document: dict[str, Any]) -> str:
    """The heads as they are written beside a backup."""
    return json.dumps(document, indent=1) + "\n"
