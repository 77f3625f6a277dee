"""Errors of the apps' own rules, which the API answers with 409 and their own words."""

from __future__ import annotations

_kinds: set[type[Exception]] = set()


def tell_as_conflict(*kinds: type[Exception]) -> None:
    """Called by an app when it is ready, for errors whose texts are written for people."""
    _kinds.update(kinds)


def is_conflict(exception: Exception) -> bool:
    """Whether an app said so of this kind of error."""
    return isinstance(exception, tuple(_kinds))
