"""The embedded site's own secret key: made once, kept beside its database."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path


def read_or_create(path: Path) -> str:
    """The key in ``path``; made with mode 0600 when absent.

    Two processes that start at once agree on one key: the complete file is linked into place, and the
    second link fails, so that nobody ever reads a half-written key.
    """
    if path.exists():
        return path.read_text(encoding="ascii")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as handle:
            handle.write(secrets.token_urlsafe(64))
        try:
            os.link(temporary, path)
        except FileExistsError:
            return path.read_text(encoding="ascii")
    finally:
        os.unlink(temporary)
    return path.read_text(encoding="ascii")
