"""Archives and bundles on the server's disk that a job may read."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from studies.jobs.errors import JobFailed, JobRefused


def check_source(field: str, name: str, *, operator: bool) -> str:
    """The name under which a job finds an archive or bundle.

    That is its name inside ``ARCHIVES_DIR``; only ``operator``, somebody at the server's own command line,
    may name another path, which is kept in full.
    Raises ``JobRefused`` for what is not there, or lies elsewhere.
    """
    if "\x00" in name:
        raise JobRefused(field, "holds a null character, expected a name")
    if operator and Path(name).exists():
        return str(Path(name).resolve())
    folder = Path(settings.ARCHIVES_DIR)
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or path == folder or not path.exists():
        there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
        raise JobRefused(
            field, f"is {name[:120]!r}, expected one of the server's archives: {', '.join(there) or 'none'}"
        )
    return str(path.relative_to(folder))


def source_path(name: str) -> Path:
    """Where the archive or bundle of that name lies.

    Raises ``JobFailed`` if it is not there any more.
    """
    path = Path(settings.ARCHIVES_DIR) / name
    if not path.exists():
        raise JobFailed(f"{name} is not there any more, on the host of this worker")
    return path


def describe(name: str) -> list[list[object]]:
    """Every file of a source with its size and time of change (ns): another content, another list."""
    root = source_path(name)
    files = [root] if root.is_file() else sorted(item for item in root.rglob("*") if item.is_file())
    return [[str(item.relative_to(root)), item.stat().st_size, item.stat().st_mtime_ns] for item in files]
