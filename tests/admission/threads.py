"""Threads in the shape that 'gh api' prints, written to files as a user has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

DATA = Path(__file__).parent / "data"
REAL = ROOT.parent / "shared" / "art-848"


@dataclass(frozen=True)
class Thread:
    """The files of one thread."""

    issue: Path
    timeline: Path


def long_running_thread() -> Thread:
    """The thread of OpenPipe/ART #848 where it is at hand, else ours of the same shape and counts."""
    folder = REAL if REAL.is_dir() else DATA / "long-running"
    return Thread(folder / "issue.json", folder / "timeline.json")


def other_project() -> Thread:
    """A thread of another project with other habits."""
    return Thread(DATA / "harbor" / "issue.json", DATA / "harbor" / "timeline.json")


def issue_object(
    body: str = "It breaks.", *, number: int = 7, updated: str = "2026-03-02T10:00:00Z", **more: Any
) -> dict:
    """A small issue of octo/cat."""
    return {
        "url": f"https://api.github.com/repos/octo/cat/issues/{number}",
        "html_url": f"https://github.com/octo/cat/issues/{number}",
        "repository_url": "https://api.github.com/repos/octo/cat",
        "number": number,
        "title": "It breaks",
        "state": "open",
        "user": {"login": "ada"},
        "comments": 0,
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": updated,
        "body": body,
        **more,
    }


def comment(
    identity: int, body: str, *, at: str = "2026-03-02T08:00:00Z", number: int = 7, **more: Any
) -> dict:
    """A comment of that issue's timeline."""
    return {
        "event": "commented",
        "id": identity,
        "created_at": at,
        "user": {"login": "bo"},
        "html_url": f"https://github.com/octo/cat/issues/{number}#issuecomment-{identity}",
        "body": body,
        **more,
    }


def write(path: Path, value: Any) -> str:
    """``value`` as a JSON file; its name."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def write_pages(path: Path, pages: Iterable[Any]) -> str:
    """Several JSON values one after the other, as --paginate prints them; the file's name."""
    path.write_text("".join(json.dumps(page) for page in pages), encoding="utf-8")
    return str(path)
