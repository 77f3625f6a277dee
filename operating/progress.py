"""A progress bar for a person at a terminal, and silence for a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tqdm import tqdm


def bar(stream: Any, what: str) -> Callable[[Iterable[str], int], Iterable[str]]:
    """A function that shows how far its items are, if ``stream`` is a terminal."""
    terminal = getattr(stream, "isatty", lambda: False)()
    return lambda items, total: tqdm(items, total=total, desc=what, disable=not terminal or not total)
