"""Run directories to the site, now or, after a crash or without a network, later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from host.locks import lock
from host.upload import Uploader, collect_files

SENT = "sent.json"
OWN_FILES = {"upload.json", SENT}


def send_run(folder: Path, url: str, key: str) -> dict[str, Any]:
    """Upload one run directory; returns the site's answer, which is kept in the folder.

    Raises ``Refused``, ``Unreachable`` or ``BadInput`` of ``rlvram-upload``; it can be sent again then.
    """
    note = json.loads((folder / "upload.json").read_text())
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and _goes(path)]
    uploader = Uploader(url, note["study"], key, quiet=True)
    answer = uploader.send({**note["record"], "invocation_id": note["invocation"]}, collect_files(files))
    (folder / SENT).write_text(json.dumps(answer, indent=2, sort_keys=True) + "\n")
    return answer


def _goes(path: Path) -> bool:
    return path.name not in OWN_FILES and not path.name.startswith(".") and path.stat().st_size > 0


def unsent(home: Path) -> Iterator[Path]:
    """Run directories that have ended, however, and that the site does not have yet; oldest first."""
    runs = home / "runs"
    folders = sorted(runs.iterdir(), key=lambda path: path.stat().st_mtime) if runs.is_dir() else []
    for folder in folders:
        if not (folder / "upload.json").exists() or (folder / SENT).exists():
            continue
        with suppress(BlockingIOError), lock(folder):
            yield folder
