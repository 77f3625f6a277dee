"""Part of a file, as the ``Range`` header of HTTP asks for it."""

from __future__ import annotations

import re

_ONE = re.compile(r"\s*bytes\s*=\s*([0-9]{0,18})\s*-\s*([0-9]{0,18})\s*\Z")


def wanted_range(header: str, size_bytes: int) -> range | None:
    """The bytes that are asked for; None: all of them, also for several ranges, which need not be served.

    An empty range: none of what is asked for exists, which is answered by 416.
    """
    match = _ONE.match(header)
    if not match or not (match[1] or match[2]):
        return None
    if not match[1]:
        return range(max(0, size_bytes - int(match[2])), size_bytes) if int(match[2]) else range(0)
    first = int(match[1])
    last = min(int(match[2]), size_bytes - 1) if match[2] else size_bytes - 1
    if match[2] and int(match[2]) < first:
        return None  # no valid range is none at all
    return range(first, last + 1)
