"""Keeping the key from the programs that this host starts, which may run as the same user."""

from __future__ import annotations

import ctypes
import os
import sys

from host.keys import KEY, KEY_FILE, Key, read_key

_KEY_PIPE = "RLVRAM_KEY_PIPE"
_PR_SET_DUMPABLE = 4


def key_of_this_process() -> Key:
    """The key, while nothing of this process shows it.

    What stands in the environment at a program's start can be read from ``/proc`` for as long as it runs, so
    a key that came that way is read, and this program starts itself anew without it; the key goes through a
    pipe. Then the process is closed to others of the same user: they read neither its memory nor its files.
    Raises ``BadInput`` without a key.
    """
    pipe = os.environ.pop(_KEY_PIPE, "")
    if pipe:
        with os.fdopen(int(pipe), encoding="utf-8") as file:
            key = Key(file.read())
    else:
        key = read_key()
        if os.environ.get(KEY):
            _start_anew(key)
    os.environ.pop(KEY, None)
    os.environ.pop(KEY_FILE, None)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return key


def _start_anew(key: Key) -> None:
    reading, writing = os.pipe()
    os.write(writing, str(key).encode())
    os.close(writing)
    os.set_inheritable(reading, True)
    kept = {name: value for name, value in os.environ.items() if name != KEY}
    # The words with which Python itself was started: -m host.command, or the installed script.
    words = [sys.executable, *sys.orig_argv[1:]]
    sys.stdout.flush()
    os.execve(sys.executable, words, {**kept, _KEY_PIPE: str(reading)})  # noqa: S606 - itself, no shell
