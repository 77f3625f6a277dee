"""The key of the site: read once, from a file or the environment, and shown to nobody."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from host.errors import BadInput

KEY, KEY_FILE = "RLVRAM_KEY", "RLVRAM_KEY_FILE"
_FORM = re.compile(r"[A-Za-z0-9]{1,16}\.[A-Za-z0-9_-]{1,200}\Z")


class Key(str):
    """A key that shows itself only to who asks for it as plain text; printed by accident, it is hidden."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<key>"

    def hide(self, text: str) -> str:
        """``text`` without the key, for a message to a person."""
        return text.replace(str(self), "<key>").replace(self.partition(".")[2], "<key>")


def read_key(file: Path | None = None) -> Key:
    """The key in ``file``, in the file that ``RLVRAM_KEY_FILE`` names, or in ``RLVRAM_KEY``.

    Blanks and line ends around it are dropped, as a file or a CI secret has them.
    Raises ``BadInput`` without ever quoting what it found.
    """
    place = str(file) if file is not None else os.environ.get(KEY_FILE, "")
    if place:
        where = place
        try:
            with open(place, encoding="utf-8") as source:
                if os.fstat(source.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                    raise BadInput(f"{place}: others may read it, expected the mode 600: chmod 600 {place}")
                text = source.read(1000)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise BadInput(f"{place}: the key can't be read ({reason})") from None
    else:
        where, text = KEY, os.environ.get(KEY, "")
    text = text.strip()
    if not text:
        raise BadInput(f"no key: set {KEY}, or name a file of mode 600 in {KEY_FILE} or with --key-file")
    if not _FORM.match(text):
        raise BadInput(f"{where} holds no key: expected PREFIX.SECRET, as the site showed it once")
    return Key(text)
