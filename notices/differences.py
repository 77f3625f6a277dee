"""One thing that differs from before."""

from __future__ import annotations

from dataclasses import dataclass

from notices.kinds import Kind


@dataclass(frozen=True)
class Difference:
    """What held before and what holds now, in words; ``path`` is the permalink on this site."""

    kind: Kind
    before: str
    now: str
    path: str
