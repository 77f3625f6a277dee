"""Which files of a run directory go to the site, as what, and which stay: decided before any is sent."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from host.errors import BadInput
from host.kinds import TAIL, job_of, kind_of, part_name

MIB = 1 << 20
MAX_MIB = 60.0
"""Of a longer log only the end is sent; any other file that is not sampled memory stays behind."""

PART_BYTES = 32 * MIB
"""Sampled memory above this goes in packed parts of that many unpacked bytes."""

MOST_SAMPLES_BYTES = 512 * MIB
"""The site's own limit of what one file may unpack to."""

MOST_FILES = 500
MOST_LOOKED_AT = 20_000
LONGEST_NAME = 150

_WEIGHTS = (
    ".safetensors",
    ".pt",
    ".pth",
    ".ckpt",
    ".bin",
    ".gguf",
    ".h5",
    ".npz",
    ".npy",
    ".onnx",
    ".distcp",
)
_PASSING = (".pyc", ".swp", ".tmp", ".part", ".lock")
_CHECKPOINT = re.compile(r"(?:checkpoints?|ckpts?)(?:[-_.]\w+)?|global_step_?\d+", re.IGNORECASE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._@+-]+")


@dataclass(frozen=True)
class Piece:
    """What is sent as one file: ``size`` bytes from ``offset`` on, packed on their own if ``packed``."""

    name: str
    offset: int
    size: int
    packed: bool = False


@dataclass(frozen=True)
class Source:
    """A plain file below ``root``, by the names of its folders and its own."""

    root: Path
    parts: tuple[str, ...]
    size: int
    kind: str | None
    pieces: tuple[Piece, ...]

    @property
    def shown(self) -> str:
        return "/".join(self.parts)

    @property
    def cut_bytes(self) -> int:
        """How many bytes at its start are not sent."""
        return self.pieces[0].offset

    def open(self) -> BinaryIO:
        """The file's bytes. Raises ``BadInput`` if it is no longer the plain file that it was."""
        return _open_plain(self.root, self.parts)


@dataclass
class Gathered:
    """What goes, in the order in which it is sent, and what stays with the reason."""

    sources: list[Source] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For a person: a line for each file."""
        for source in self.sources:
            names = source.pieces[0].name if len(source.pieces) == 1 else f"{len(source.pieces)} packed parts"
            what = source.kind or "other, kept and not read"
            cut = f", without its first {source.cut_bytes} bytes" if source.cut_bytes else ""
            yield f"send {source.shown} as {names} ({what}, {source.size} bytes{cut})"
        for name, reason in self.left_out:
            yield f"leave {name}: {reason}"

    def warnings(self) -> Iterator[str]:
        """What somebody should know who did not ask: evidence that is cut, and files that stay."""
        for source in self.sources:
            if source.cut_bytes:
                kept = source.size - source.cut_bytes
                yield f"{source.shown}: of {source.size} bytes only the last {kept} are sent"
        if self.left_out:
            first = "; ".join(f"{name} ({reason})" for name, reason in self.left_out[:5])
            more = f"; and {len(self.left_out) - 5} more, see --dry-run" if len(self.left_out) > 5 else ""
            yield f"left out: {first}{more}"


def gather(paths: Sequence[Path], max_mib: float = MAX_MIB) -> Gathered:
    """The files of a run directory with its subfolders, or of single files.

    No link is followed and only plain files are opened, so that nothing from outside the folder gets in.
    Raises ``BadInput`` for evidence that can't be sent whole, and for files of several jobs.
    """
    found = Gathered()
    taken: set[str] = set()
    for path in paths:
        if path.is_dir():
            root, files = path, list(_walk(path, found))
        elif path.is_symlink() or not path.exists():
            what = "is a link" if path.is_symlink() else "is not there"
            raise BadInput(f"{path}: {what}, expected a run directory or a plain file")
        else:
            root, files = path.parent, [((path.name,), path.lstat())]
            if not stat.S_ISREG(files[0][1].st_mode):
                raise BadInput(f"{path}: is no plain file")
        for parts, status in files:
            _decide(found, root, parts, status, int(max_mib * MIB), taken)
    _limit(found)
    jobs = sorted({job for source in found.sources if (job := job_of(source.pieces[0].name))})
    if len(jobs) > 1:
        raise BadInput(f"there are files of the jobs {', '.join(jobs)}, expected those of one invocation")
    return found


def _walk(root: Path, found: Gathered) -> Iterator[tuple[tuple[str, ...], os.stat_result]]:
    """Plain files below ``root`` that may be evidence, in a fixed order."""
    looked_at = 0
    for folder, folders, names in os.walk(root, followlinks=False):
        here = Path(folder).relative_to(root).parts
        for name in sorted(folders):
            shown = "/".join((*here, name))
            reason = _folder_stays(Path(folder, name))
            if reason:
                folders.remove(name)
                found.left_out.append((f"{shown}/", reason))
        folders.sort()
        for name in sorted(names):
            looked_at += 1
            if looked_at > MOST_LOOKED_AT:
                raise BadInput(f"{root}: holds more than {MOST_LOOKED_AT} files, expected one run directory")
            status = os.lstat(os.path.join(folder, name))
            reason = _stays(name, status)
            if reason:
                found.left_out.append(("/".join((*here, name)), reason))
            else:
                yield (*here, name), status


def _folder_stays(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    if path.name.startswith(".") or path.name == "__pycache__":
        return "hidden or a cache"
    return "a checkpoint" if _CHECKPOINT.fullmatch(path.name) else ""


def _stays(name: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "a link"
    if not stat.S_ISREG(status.st_mode):
        return "no plain file"
    lower = name.lower()
    if lower.endswith(_WEIGHTS):
        return "model weights"
    if lower.startswith(".") or lower.endswith(_PASSING):
        return "hidden or passing"
    return "empty" if status.st_size == 0 else ""


def _decide(
    found: Gathered, root: Path, parts: tuple[str, ...], status: os.stat_result, limit: int, taken: set[str]
) -> None:
    size, shown = status.st_size, "/".join(parts)
    if size == 0:
        found.left_out.append((shown, "empty"))
        return
    name = _name(parts, taken)
    kind = kind_of(name)
    packed = name.endswith(".gz")
    if kind is None and size > limit:
        found.left_out.append((shown, f"no evidence, and larger than {limit / MIB:g} MiB"))
        taken.discard(name)
        return
    if kind == "samples" and not packed and size > PART_BYTES:
        if size > MOST_SAMPLES_BYTES:
            raise BadInput(
                f"{shown}: has {size} bytes, expected at most {MOST_SAMPLES_BYTES} of sampled memory"
            )
        pieces = _parts(name, size)
    elif size <= limit:
        pieces = (Piece(name, 0, size),)
    elif kind == "log" and not packed:
        pieces = (Piece(TAIL + name, size - limit, limit),)
    else:
        raise BadInput(f"{shown}: has {size} bytes, expected at most {limit} (only plain logs can be cut)")
    found.sources.append(Source(root, parts, size, kind, pieces))


def _parts(name: str, size: int) -> tuple[Piece, ...]:
    starts = range(0, size, PART_BYTES)
    return tuple(
        Piece(part_name(name, number, len(starts)), start, min(PART_BYTES, size - start), packed=True)
        for number, start in enumerate(starts, start=1)
    )


def _name(parts: tuple[str, ...], taken: set[str]) -> str:
    """A name that the site takes and that still says what the file is, and that none before it has."""
    stem, dot, suffix = parts[-1].partition(".")
    if not stem:  # a leading dot
        stem, dot, suffix = suffix.partition(".")
    middle = "".join(f".{folder}" for folder in parts[:-1])
    for number in range(1, 10_000):
        again = f".{number}" if number > 1 else ""
        whole = _NOT_IN_A_NAME.sub("-", f"{stem}{middle}{again}{dot}{suffix}").lstrip("._@+-")
        if len(whole) > LONGEST_NAME:
            whole = whole[:40].rstrip(".") + "." + whole[-(LONGEST_NAME - 41) :].lstrip(".")
        whole = whole or f"file{again}"
        if whole not in taken:
            taken.add(whole)
            return whole
    raise BadInput(f"{parts[-1]}: too many files of this name")


def _limit(found: Gathered) -> None:
    """Evidence before other files; what is over the limit stays."""
    found.sources.sort(key=lambda source: source.kind is None)
    kept, count = [], 0
    for source in found.sources:
        count += len(source.pieces)
        if count <= MOST_FILES:
            kept.append(source)
        elif source.kind is None:
            found.left_out.append((source.shown, f"more than {MOST_FILES} files"))
        else:
            raise BadInput(f"{source.shown}: there are more than {MOST_FILES} files of evidence")
    found.sources = kept


def _open_plain(root: Path, parts: tuple[str, ...]) -> BinaryIO:
    """Open a file step by step from its folder, so that no step can be a link that leads out."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in parts[:-1]:
            inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
        # Without O_NONBLOCK a pipe that took the file's place would wait for a writer for ever.
        file = os.open(parts[-1], flags | os.O_NONBLOCK, dir_fd=at)
    except OSError as error:
        raise BadInput(f"{'/'.join(parts)}: can't be opened as a plain file ({error.strerror})") from None
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise BadInput(f"{'/'.join(parts)}: is no plain file any more")
    return cast("BinaryIO", os.fdopen(file, "rb"))
