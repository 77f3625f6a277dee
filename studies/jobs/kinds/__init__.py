"""The kinds of job. A further kind is one more module here that calls ``register``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from studies.jobs.errors import JobRefused
from studies.jobs.kinds.base import Kind, WorkerKind

_registered: dict[str, Kind] = {}


def register(kind: type[Kind]) -> type[Kind]:
    """Class decorator: make a kind known by its name."""
    _registered[kind.name] = kind()
    return kind


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def all_kinds() -> list[Kind]:
    """Every kind, by title."""
    _load()
    return sorted(_registered.values(), key=lambda kind: kind.title)


def kind_of(name: str) -> Kind:
    """The kind of that name.

    Raises ``JobRefused`` if there is none.
    """
    _load()
    if name not in _registered:
        raise JobRefused("kind", f"is {name[:80]!r}, expected one of {', '.join(sorted(_registered))}")
    return _registered[name]


def worker_kind_of(name: str) -> WorkerKind:
    """The kind of that name, for a worker that is to do it.

    Raises ``JobRefused`` if there is none, or if a host does it.
    """
    kind = kind_of(name)
    if not isinstance(kind, WorkerKind):
        raise JobRefused("kind", f"is {name!r}, which a host does; expected one that workers do")
    return kind


def is_done_elsewhere(name: str) -> bool:
    """Whether no worker does that kind: its host asks for it."""
    return not isinstance(kind_of(name), WorkerKind)
