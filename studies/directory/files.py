"""A study's folder as files in memory: which paths belong to it, and how an archive is read into them."""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from studies.checkpoints.architecture import CONFIG, INDEX
from studies.directory import configurations, matrix, protocol_file, schedule_table, study_file
from studies.directory.problems import Problems

TABLES = (configurations.NAME, configurations.POOL_NAME, schedule_table.NAME)
TEXTS = (study_file.NAME, protocol_file.NAME, matrix.NAME, *TABLES)
MAX_FILES = 500
MAX_BYTES = 64 * 1024 * 1024
"""Of all files together, unpacked."""
_MODEL_FILE = re.compile(
    r"models/[A-Za-z0-9][A-Za-z0-9._+-]{0,99}/(?:"
    + re.escape(CONFIG) + "|" + re.escape(INDEX)
    + r"|[A-Za-z0-9][A-Za-z0-9._+-]{0,199}\.safetensors)"
)  # fmt: skip
_LEFT_ALONE = re.compile(
    r"(?:.*/)?(?:__MACOSX/.*|\.DS_Store|Thumbs\.db|README(?:\.md|\.txt)?|LICENSE(?:\..*)?)"
)
_EXPECTED = f"one of {', '.join(TEXTS)}, models/NAME/{CONFIG}, models/NAME/{INDEX}, models/NAME/*.safetensors"
_UNREADABLE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError,
)  # fmt: skip


def belongs(path: str) -> bool:
    """Whether a path, with `/` and relative to the folder, is one that a study's folder has."""
    return path in TEXTS or bool(_MODEL_FILE.fullmatch(path))


def is_weights(path: str) -> bool:
    """Whether a file may hold weights, of which only the header is read."""
    return path.endswith(".safetensors")


def read_archive(file: IO[bytes], problems: Problems) -> dict[str, bytes]:
    """The files of a zip archive by path. One folder around everything is taken off.

    Nothing is unpacked to a disk, and never more than `MAX_BYTES` at all. What does not belong is noted.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = [item for item in archive.infolist() if not item.is_dir()]
            if len(members) > MAX_FILES:
                problems.add("archive", None, "files", len(members), f"at most {MAX_FILES}")
                return {}
            return _members(archive, members, problems)
    except _UNREADABLE as error:
        problems.add("archive", None, "file", str(error)[:200], "a zip archive of a study's folder")
        return {}
    except RuntimeError as error:  # what zipfile raises for an encrypted member
        problems.add("archive", None, "file", str(error)[:200], "an archive without a password")
        return {}


def _members(
    archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo], problems: Problems
) -> dict[str, bytes]:
    kept = [item for item in members if not _LEFT_ALONE.fullmatch(item.filename)]
    outer = _outer_folder([item.filename for item in kept])
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    for item in kept:
        path = item.filename.removeprefix(outer)
        if not belongs(path) or stat.S_ISLNK(item.external_attr >> 16):
            problems.add(path[:200] or "archive", None, "file", path, _EXPECTED)
            continue
        if path in files:
            problems.add(path, None, "file", "twice in the archive", "each file once")
            continue
        with archive.open(item) as source:
            content = source.read(left + 1)
        left -= len(content)
        if left < 0:
            problems.add("archive", None, "size", "more", f"at most {MAX_BYTES:,} bytes when unpacked")
            return {}
        files[path] = content
    return files


def _outer_folder(names: list[str]) -> str:
    """`NAME/` if that is around every file, else nothing."""
    first = names[0].partition("/") if names else ("", "", "")
    outer = first[0] + first[1]
    whole = outer.endswith("/") and outer != "models/" and all(name.startswith(outer) for name in names)
    return outer if whole else ""


def check_paths(files: Mapping[str, object], problems: Problems) -> None:
    """Note every path that no study's folder has."""
    for path in files:
        if not belongs(path):
            problems.add(str(path)[:200], None, "file", path, _EXPECTED)


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Put the files into an empty folder. Each path must `belong`."""
    for path, content in files.items():
        if not belongs(path):
            raise ValueError(f"{path!r} is no path of a study's folder")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def listing(folder: Path) -> dict[str, tuple[str, int]]:
    """sha256 and size in bytes of each file of a folder by path; weights are left out."""
    paths = [*(folder / name for name in TEXTS), *sorted(folder.glob("models/*/*.json"))]
    found = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if belongs(name) and path.is_file():
            content = path.read_bytes()
            found[name] = (hashlib.sha256(content).hexdigest(), len(content))
    return found
