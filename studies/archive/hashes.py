"""Every hash that a document of the archive names, and whether the bytes agree.

A protocol, an amendment, a seal, an execution history and an output manifest name files by sha256. For each
file present the last hash named for it must be that of its bytes. Only an amendment may replace a hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError

_SHA256 = re.compile(r"[0-9a-f]{64}")
VERIFIED, ABSENT, SUPERSEDED = "verified", "absent", "superseded"


@dataclass(frozen=True)
class Declaration:
    """``document`` says that the bytes of ``path`` have this sha256 (and, in a manifest, this size)."""

    document: str
    path: str
    sha256: str
    size_bytes: int | None = None
    may_replace: bool = False


@dataclass(frozen=True)
class CheckedFile:
    """A declaration and what was found: verified, absent, or superseded by a later hash."""

    declaration: Declaration
    state: str
    size_bytes: int | None


def named(document: Document, key: str, folder: str = "", *, may_replace: bool = False) -> list[Declaration]:
    """The files under ``key``, an object from path to sha256; paths are relative to ``folder``."""
    return [
        Declaration(
            document.path, folder + path, _digest(document, f"{key}.{path}", value), None, may_replace
        )
        for path, value in document.mapping(key, optional=True).items()
    ]


def single(document: Document, key: str, path: str) -> list[Declaration]:
    """The one file whose sha256 stands directly under ``key``; nothing if the key is absent."""
    if key not in document.values:
        return []
    return [Declaration(document.path, path, _digest(document, key, document.values[key]))]


def manifest(document: Document, folder: str) -> list[Declaration]:
    """The files of an output manifest: an object from name to sha256 and size in bytes."""
    found = []
    for name in document.values:
        entry = document.sub(name)
        size = entry.whole("size_bytes")
        found.append(
            Declaration(
                document.path, folder + name, _digest(entry, "sha256", entry.values.get("sha256")), size
            )
        )
    return found


def _digest(document: Document, key: str, value: object) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise document.fail(key, value, "a sha256 of 64 lower-case hexadecimal digits")
    return value


def check(root: Root, declarations: Iterable[Declaration]) -> list[CheckedFile]:
    """Check every declaration, in the order in which its documents were made.

    Raises ``ArchiveError`` for bytes that differ from the hash named for them, and for two documents that
    name different hashes for one file where the later one may not replace it.
    """
    found = _once(declarations)
    latest: dict[str, Declaration] = {}
    for item in found:
        before = latest.get(item.path)
        if before is not None and before.sha256 != item.sha256 and not item.may_replace:
            raise _contradiction(root, before, item)
        latest[item.path] = item
    return [_compare(root, item, latest[item.path]) for item in found]


def _contradiction(root: Root, before: Declaration, later: Declaration) -> ArchiveError:
    """Blame the document that disagrees with the bytes, or the later one where there are none."""
    actual = root.sha256(later.path) if root.has(later.path) else before.sha256
    if actual == later.sha256:
        wrong, other = before, later
    else:
        wrong, other = later, before
    return ArchiveError(
        f"{wrong.document} names {wrong.path} with sha256 {wrong.sha256}, expected {other.sha256} "
        f"as in {other.document}"
    )


def _once(declarations: Iterable[Declaration]) -> list[Declaration]:
    found: dict[tuple[str, str], Declaration] = {}
    for item in declarations:
        before = found.setdefault((item.document, item.path), item)
        if before.sha256 != item.sha256:
            raise ArchiveError(
                f"{item.document} names {item.path} twice, with sha256 {before.sha256} and with {item.sha256}"
            )
    return list(found.values())


def _compare(root: Root, item: Declaration, latest: Declaration) -> CheckedFile:
    if item.sha256 != latest.sha256:
        return CheckedFile(item, SUPERSEDED, None)
    if not root.has(item.path):
        return CheckedFile(item, ABSENT, None)
    actual, size = root.sha256(item.path), root.size(item.path)
    if actual != item.sha256:
        raise ArchiveError(
            f"{item.path}: sha256 is {actual}, expected {item.sha256} as named in {item.document}"
        )
    if item.size_bytes is not None and size != item.size_bytes:
        raise ArchiveError(
            f"{item.path}: {size} bytes, expected {item.size_bytes} as named in {item.document}"
        )
    return CheckedFile(item, VERIFIED, size)


def counts(files: Iterable[CheckedFile]) -> Mapping[str, int]:
    """How many declarations ended in each state."""
    found = {VERIFIED: 0, ABSENT: 0, SUPERSEDED: 0}
    for item in files:
        found[item.state] += 1
    return found
