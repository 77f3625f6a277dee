"""Strict reading of JSON documents, and the bytes and hashes of an archive's files."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlvram_site.bounded_files import read_whole
from rlvram_site.strict_json import JsonError, read_json
from studies.archive.errors import ArchiveError

CHUNK = 1 << 20
WHOLE_LIMIT = 10**18


@dataclass
class Root:
    """The archive's root folder. Paths are relative to it, as its documents spell them."""

    folder: Path
    _digests: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Where ``name`` lies; a name that leads out of the archive is an error."""
        found = (self.folder / name).resolve()
        if not found.is_relative_to(self.folder.resolve()):
            raise ArchiveError(f"{name}: leads out of the archive, expected a path inside it")
        return found

    def has(self, name: str) -> bool:
        """Whether the file is in the archive."""
        return self.path(name).is_file()

    def read(self, name: str) -> bytes:
        """The bytes of a file that must be there; their hash is remembered."""
        try:
            content = read_whole(self.path(name))
        except FileNotFoundError:
            raise ArchiveError(f"{name}: not in the archive {self.folder}") from None
        except OSError as error:
            raise ArchiveError(f"{name}: cannot be read ({error.strerror})") from None
        self._digests[name] = hashlib.sha256(content).hexdigest()
        return content

    def sha256(self, name: str) -> str:
        """sha256 of a file's bytes, streamed."""
        if name not in self._digests:
            digest = hashlib.sha256()
            try:
                with self.path(name).open("rb") as file:
                    while chunk := file.read(CHUNK):
                        digest.update(chunk)
            except OSError as error:
                raise ArchiveError(f"{name}: cannot be read ({error.strerror})") from None
            self._digests[name] = digest.hexdigest()
        return self._digests[name]

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return self.path(name).stat().st_size

    def document(self, name: str) -> dict[str, Any]:
        """A JSON document that is an object."""
        document = self.json(name)
        if not isinstance(document, dict):
            raise ArchiveError(f"{name}: a {type(document).__name__}, expected a JSON object")
        return document

    def json(self, name: str) -> Any:
        """Any JSON document."""
        return parse_json(self.read(name), name)


def parse_json(content: bytes, name: str) -> Any:
    """JSON that both database engines can keep; errors name the file and the place.

    Refused beside what ``read_json`` refuses: texts with NUL or half a surrogate pair.
    """
    try:
        document = read_json(content, name)
    except JsonError as error:
        raise ArchiveError(str(error)) from None
    _refuse_unstorable(document, name)
    return document


def _refuse_unstorable(document: Any, name: str) -> None:
    spelled = json.dumps(document, ensure_ascii=False)
    if "\\u0000" in spelled:
        raise ArchiveError(f"{name}: a text with a NUL character, expected text that a database can keep")
    try:
        spelled.encode()
    except UnicodeEncodeError:
        raise ArchiveError(f"{name}: a text with half a surrogate pair, expected Unicode text") from None


@dataclass(frozen=True)
class Document:
    """A JSON object with its place, for reading keys of a known kind."""

    path: str
    values: dict[str, Any]

    def fail(self, key: str, value: object, expected: str) -> ArchiveError:
        """The error for one key; the caller raises it."""
        shown = repr(value)
        return ArchiveError(f"{self.path} {key}: {shown[:120]}, expected {expected}")

    def get(self, key: str, kind: type | tuple[type, ...], expected: str, *, optional: bool = False) -> Any:
        """The value of ``key`` if it is of ``kind``; booleans are not numbers here."""
        value = self.values.get(key)
        if value is None and optional:
            return None
        is_boolean = isinstance(value, bool)
        wanted = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kind) or (is_boolean and bool not in wanted):
            raise self.fail(key, value, expected)
        return value

    def text(self, key: str, *, optional: bool = False) -> str:
        """A text; blank only if optional."""
        value = self.get(key, str, "a text", optional=optional) or ""
        if not value and not optional:
            raise self.fail(key, value, "a text that is not blank")
        return value

    def number(self, key: str, *, optional: bool = False) -> float | None:
        """A number; None only if optional."""
        return self.get(key, (int, float), "a number", optional=optional)

    def whole(self, key: str, *, optional: bool = False) -> int | None:
        """A whole number of at most 18 digits; None only if optional."""
        value = self.get(key, int, "a whole number", optional=optional)
        if value is not None and abs(value) >= WHOLE_LIMIT:
            raise self.fail(key, value, "a whole number of at most 18 digits")
        return value

    def mapping(self, key: str, *, optional: bool = False) -> dict[str, Any]:
        """An object; empty if optional and absent."""
        return self.get(key, dict, "an object", optional=optional) or {}

    def sequence(self, key: str, *, optional: bool = False) -> list[Any]:
        """A list; empty if optional and absent."""
        return self.get(key, list, "a list", optional=optional) or []

    def moment(self, key: str, *, optional: bool = False) -> str | None:
        """A time with its zone as ISO 8601 text in UTC; None only if optional."""
        text = self.text(key, optional=optional)
        return utc(text, f"{self.path} {key}") if text else None

    def sub(self, key: str) -> Document:
        """The object under ``key``."""
        return Document(f"{self.path} {key}", self.mapping(key))

    def items(self, key: str) -> list[Document]:
        """The objects of the list under ``key``."""
        found = []
        for index, value in enumerate(self.sequence(key)):
            if not isinstance(value, dict):
                raise self.fail(f"{key}[{index}]", value, "an object")
            found.append(Document(f"{self.path} {key}[{index}]", value))
        return found


def utc(text: str, place: str) -> str:
    """An ISO 8601 time with a zone, in UTC with microseconds as the ledger spells it."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ArchiveError(f"{place}: {text!r}, expected a time in ISO 8601 with its zone") from None
    if moment.tzinfo is None:
        raise ArchiveError(f"{place}: {text!r} has no zone, expected a time in ISO 8601 with its zone")
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def epoch(seconds: float | None) -> str | None:
    """Seconds since 1970 as the ledger spells a time."""
    if seconds is None:
        return None
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
