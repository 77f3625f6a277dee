"""Run directories of this host: what each is about, and how far it got."""

from __future__ import annotations

import datetime as dt
import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host.launches import newest_token
from host.locks import lock
from host.order import Order
from host.processes import end_marked, end_scope

NOTE, SENT, ASIDE = "upload.json", "sent.json", "not-sent.json"
OWN_FILES = {NOTE, SENT, ASIDE, "order.json"}
LAUNCHED, ENDED, ENDED_ALONE = "launched", "ended", "ended without its host"


@dataclass
class Run:
    """What one launch left behind.

    Attributes:
        invocation: identifies it for good.
        folder: its run directory; its name is ``token``, the mark that all processes of the run carry.
        study: slug of its study.
        job: the site's job that ordered it, if one did.
        record: the fields of the attempt that do not come out of the files.
        state: launched; ended; or ended without its host, which was gone before it.
    """

    invocation: str
    folder: Path
    study: str
    slot: str
    job: int | None = None
    record: dict[str, Any] = field(default_factory=dict)
    state: str = LAUNCHED

    @property
    def token(self) -> str:
        return self.folder.name

    @classmethod
    def new(cls, order: Order, folder: Path, token: str, job: int | None) -> Run:
        return cls(f"{_plain(order.slot)}-{token}", folder, order.study, order.slot, job)

    @classmethod
    def read(cls, folder: Path) -> Run:
        """The run of a directory that ``note`` wrote."""
        note = json.loads((folder / NOTE).read_text())
        return cls(
            note["invocation"], folder, note["study"], note.get("slot", ""), note.get("job"), note["record"],
            note.get("state", LAUNCHED),
        )  # fmt: skip

    def note(self) -> None:
        """Write down what is known, so that it survives this process."""
        write_json(
            self.folder / NOTE,
            {
                "invocation": self.invocation, "study": self.study, "slot": self.slot, "job": self.job,
                "record": self.record, "state": self.state,
            },
        )  # fmt: skip

    @property
    def answer(self) -> dict[str, Any] | None:
        """What the site answered to the upload; None before it was recorded."""
        with suppress(FileNotFoundError):
            answer: dict[str, Any] = json.loads((self.folder / SENT).read_text())
            return answer
        return None

    @property
    def not_sent(self) -> str:
        """Why the site does not take it; empty when nobody has refused it."""
        with suppress(FileNotFoundError):
            return str(json.loads((self.folder / ASIDE).read_text())["reason"])
        return ""

    def result(self) -> dict[str, Any]:
        """Its facts as they are told to the site: launched, ended, uploaded and recorded."""
        answer, reason = self.answer, self.not_sent
        found: dict[str, Any] = {
            "slot": self.slot, "invocation": self.invocation, "launched": True,
            "ended": self.state != LAUNCHED, "uploaded": answer is not None, "recorded": answer is not None,
            "exit_code": self.record.get("exit_code"), "problem": reason,
        }  # fmt: skip
        if answer:
            found |= {name: answer.get(name) for name in ("outcome", "diagnosis")}
        return found


def runs_of(home: Path) -> Iterator[Path]:
    """Every run directory, oldest first."""
    runs = home / "runs"
    folders = sorted(runs.iterdir(), key=lambda path: path.stat().st_mtime) if runs.is_dir() else []
    yield from (folder for folder in folders if (folder / NOTE).exists())


def last_run(home: Path, study: str, slot: str) -> Run | None:
    """The slot's last launch from here; None if there is none, or nothing of it was kept."""
    token = newest_token(home, study, slot)
    folder = home / "runs" / token
    return Run.read(folder) if token and (folder / NOTE).exists() else None


def end_leftovers(home: Path) -> list[Run]:
    """End what is left of runs whose host is gone, before anything is launched. Returns these runs."""
    gone = []
    for folder in runs_of(home):
        with suppress(BlockingIOError), lock(folder):
            run = Run.read(folder)
            # On storage that several machines share, another one's run may well go on.
            where = run.record.get("host", {}).get("hostname")
            if run.state == LAUNCHED and where == socket.gethostname():
                gone.append(run)
    if not gone:
        return []
    left = end_marked({run.token for run in gone})
    for run in gone:
        end_scope(run.token)
        run.state = ENDED_ALONE
        run.record.setdefault("facts", {})["host_was_gone"] = True
        if left:
            run.record["facts"]["ended_later"] = left[:20]
        run.note()
    return gone


def now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat()  # noqa: UP017 - Python 3.10 has no dt.UTC


def write_json(path: Path, content: Any) -> None:
    """Write JSON so that a reader finds the old file or the whole new one."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w") as file:
        json.dump(content, file, indent=2, sort_keys=True)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _plain(text: str) -> str:
    """``text`` as an invocation's id may be spelled."""
    kept = "".join(
        letter if (letter.isalnum() and letter.isascii()) or letter in "._-" else "-" for letter in text
    )
    return kept.lstrip("._-")[:150] or "slot"
