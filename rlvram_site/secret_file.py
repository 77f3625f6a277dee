"""The secret key: the embedded site's own, made once and kept beside its database, and what is none."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST = 50
"""Characters of a secret key in production."""
FEWEST_DIFFERENT = 10
KNOWN = ("django-insecure", "changeme", "change-me", "secret", "example", "password", "yoursecret", "replace")


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


def refuse_weak_keys(key: str, fallbacks: list[str]) -> None:
    """Raises ``ImproperlyConfigured`` with the setting's name for a key that could be guessed."""
    for name, value in (("SECRET_KEY", key), *(("SECRET_KEY_FALLBACKS", old) for old in fallbacks)):
        plain = value.lower()
        if len(value) < SHORTEST:
            why = f"has {len(value)} characters, expected at least {SHORTEST}"
        elif len(set(value)) < FEWEST_DIFFERENT:
            why = f"is made of {len(set(value))} different characters, expected at least {FEWEST_DIFFERENT}"
        elif word := next((word for word in KNOWN if word in plain), ""):
            why = f"has {word!r} in it, as keys from examples do"
        else:
            continue
        raise ImproperlyConfigured(
            f"{name} {why}. Whoever knows it can forge sessions; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe(64))'"
        )
