"""Run directories to the site, now or, after a crash or without a network, later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from host.errors import BadInput, NotHeld, Refused
from host.gather import gather
from host.locks import lock
from host.runs import ASIDE, LAUNCHED, OWN_FILES, SENT, Run, now, runs_of, write_json
from host.uploading import send
from host.web import Web

ITS_FAULT = {400, 403, 404, 409, 413, 422}
"""Answers that say something of this run and not of the key or the site: the next run may be taken."""


def send_run(run: Run, web: Web) -> dict[str, Any]:
    """Upload one run directory; returns the site's answer, which is kept in the folder.

    A run that the site does not take is set aside with its reason. Raises ``Refused``, ``Unreachable`` or
    ``BadInput`` of the upload.
    """
    try:
        gathered = gather([run.folder])
        gathered.sources = [item for item in gathered.sources if item.shown not in OWN_FILES]
        answer = send(web, run.study, {**run.record, "invocation_id": run.invocation}, gathered)
    except (BadInput, Refused) as error:
        if isinstance(error, (BadInput, NotHeld)) or error.status in ITS_FAULT:
            write_json(run.folder / ASIDE, {"reason": str(error)[:500], "at": now()})
        raise
    write_json(run.folder / SENT, answer)
    (run.folder / ASIDE).unlink(missing_ok=True)
    return answer


def unsent(home: Path, *, again: bool = False) -> Iterator[Run]:
    """Runs that have ended, however, and that the site does not have yet; oldest first.

    Those that were set aside only ``again``.
    """
    for folder in runs_of(home):
        if (folder / SENT).exists() or ((folder / ASIDE).exists() and not again):
            continue
        with suppress(BlockingIOError), lock(folder):
            run = Run.read(folder)
            if run.state != LAUNCHED:
                yield run


def set_aside(home: Path) -> list[Run]:
    """The runs that the site did not take."""
    return [Run.read(folder) for folder in runs_of(home) if (folder / ASIDE).exists()]
