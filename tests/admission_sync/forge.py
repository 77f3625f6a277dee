"""A forge on this machine that speaks GitHub's REST API: pages, tags, limits, and all that goes wrong."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

SHA = {name: hashlib.sha1(name.encode()).hexdigest() for name in ("one", "two", "three", "merge")}


@dataclass
class Request:
    """One request that came, and how it was answered."""

    path: str
    etag: str
    authorization: str
    method: str
    status: int = 0


Trouble = Callable[["Handler"], None]


@dataclass
class LocalForge:
    """What the forge holds, by path without a query, and what it does wrong next."""

    documents: dict[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    troubles: list[tuple[str, Trouble]] = field(default_factory=list)
    page_size: int = 100
    url: str = ""
    host: str = "github.com"

    def trouble(self, path: str, what: Trouble, times: int = 1) -> None:
        """The next ``times`` requests whose path and query contain ``path`` go wrong."""
        self.troubles += [(path, what)] * times

    def statuses(self, part: str = "") -> list[int]:
        return [request.status for request in self.requests if part in request.path]

    # What it holds

    def issue(self, number: int = 7, *, body: str = "It breaks.", **more: Any) -> dict[str, Any]:
        document = {
            "url": f"{self.url}/repos/octo/cat/issues/{number}",
            "html_url": f"https://{self.host}/octo/cat/issues/{number}",
            "repository_url": f"{self.url}/repos/octo/cat",
            "id": 1000 + number, "number": number, "title": "It breaks", "state": "open",
            "user": {"login": "ada"}, "comments": 0, "created_at": "2026-03-01T09:30:00Z",
            "updated_at": "2026-03-02T10:00:00Z", "body": body, **more,
        }  # fmt: skip
        self.documents[f"/repos/octo/cat/issues/{number}"] = document
        self.documents.setdefault(f"/repos/octo/cat/issues/{number}/timeline", [])
        return document

    def timeline(self, number: int = 7) -> list[Any]:
        return self.documents[f"/repos/octo/cat/issues/{number}/timeline"]

    def comment(self, identity: int, body: str, number: int = 7, at: str = "2026-03-02T08:00:00Z") -> None:
        self.timeline(number).append(
            {
                "event": "commented", "id": identity, "created_at": at, "user": {"login": "bo"}, "body": body,
                "html_url": f"https://{self.host}/octo/cat/issues/{number}#issuecomment-{identity}",
            }
        )  # fmt: skip
        issue = self.documents[f"/repos/octo/cat/issues/{number}"]
        issue["comments"] += 1
        issue["updated_at"] = max(issue["updated_at"], at)

    def link(self, pull: int, number: int = 7, at: str = "2026-03-02T09:00:00Z") -> None:
        """The timeline says that a pull request mentions the issue."""
        self.timeline(number).append(
            {
                "event": "cross-referenced", "created_at": at, "actor": {"login": "cy"},
                "source": {"type": "issue", "issue": {
                    "number": pull, "title": "Mend it", "pull_request": {"merged_at": None},
                    "html_url": f"https://{self.host}/octo/cat/pull/{pull}"}},
            }
        )  # fmt: skip

    def pull(self, number: int = 9, sha: str = SHA["one"], **more: Any) -> dict[str, Any]:
        document = {
            "number": number, "title": "Mend it", "state": "open", "draft": False, "merged_at": None,
            "closed_at": None, "merge_commit_sha": None, "head": {"sha": sha},
            "created_at": "2026-03-02T09:00:00Z", "updated_at": "2026-03-02T09:00:00Z", **more,
        }  # fmt: skip
        self.documents[f"/repos/octo/cat/pulls/{number}"] = document
        self.documents.setdefault(f"/repos/octo/cat/pulls/{number}/reviews", [])
        self.documents.setdefault(
            f"/repos/octo/cat/commits/{sha}/check-runs", {"total_count": 0, "check_runs": []}
        )
        self.documents.setdefault(
            f"/repos/octo/cat/commits/{sha}/status", {"state": "pending", "total_count": 0, "statuses": []}
        )
        return document

    def check(self, sha: str, conclusion: str | None, at: str | None = "2026-03-02T09:20:00Z") -> None:
        runs = self.documents[f"/repos/octo/cat/commits/{sha}/check-runs"]
        runs["check_runs"].append(
            {
                "status": "completed" if conclusion else "in_progress", "conclusion": conclusion,
                "completed_at": at if conclusion else None,
            }
        )  # fmt: skip
        runs["total_count"] += 1

    def review(self, identity: int, state: str, sha: str, login: str = "dee", number: int = 9) -> None:
        reviews = self.documents[f"/repos/octo/cat/pulls/{number}/reviews"]
        reviews[:] = [review for review in reviews if review["id"] != identity]
        reviews.append(
            {
                "id": identity, "user": {"login": login}, "state": state, "commit_id": sha,
                "body": "Looked at it.", "submitted_at": "2026-03-02T09:40:00Z",
            }
        )  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Answers one request of the forge that its server holds."""

    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def forge(self) -> LocalForge:
        return self.server.forge

    def log_message(self, *args: Any) -> None:
        pass

    def answer(self, status: int, value: Any = None, headers: dict[str, str] | None = None) -> None:
        self.request_seen.status = status
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._take("GET")

    def do_POST(self) -> None:
        self._take("POST")

    do_PATCH = do_PUT = do_DELETE = do_POST

    def _take(self, method: str) -> None:
        self.request_seen = Request(
            self.path, self.headers.get("If-None-Match", ""), self.headers.get("Authorization", ""), method
        )
        self.forge.requests.append(self.request_seen)
        if method != "GET":
            return self.answer(405, {"message": "This forge is only read."})
        for entry in self.forge.troubles:
            if entry[0] in self.path:
                self.forge.troubles.remove(entry)
                return entry[1](self)
        return self._document()

    def _document(self) -> None:
        parts = urlsplit(self.path)
        value = self.forge.documents.get(parts.path)
        if value is None:
            return self.answer(404, {"message": "Not Found"})
        headers = {"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": "1900000000"}
        if isinstance(value, list):
            value, link = self._page(value, parts.path, parse_qs(parts.query))
            headers |= {"Link": link} if link else {}
        body = json.dumps(value).encode()
        headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
        if self.headers.get("If-None-Match") == headers["ETag"]:
            return self.answer(304, None, headers)
        return self.answer(200, body, headers)

    def _page(self, items: list[Any], path: str, query: dict[str, list[str]]) -> tuple[list[Any], str]:
        if since := query.get("since", [""])[0]:
            items = [item for item in items if item["updated_at"] >= since]
        if label := query.get("labels", [""])[0]:
            items = [item for item in items if label in [one["name"] for one in item.get("labels", [])]]
        number, size = int(query.get("page", ["1"])[0]), self.forge.page_size
        part = items[(number - 1) * size : number * size]
        if number * size >= len(items):
            return part, ""
        flat = {name: values[0] for name, values in query.items()} | {"page": str(number + 1)}
        return part, f'<{self.forge.url}{path}?{urlencode(flat)}>; rel="next"'


# What may go wrong


def refuses(status: int, message: str = "No.", **headers: str) -> Trouble:
    """An error with a message and headers (``retry_after="30"`` is ``retry-after``)."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda handler: handler.answer(status, {"message": message}, named)


def cut(handler: Handler) -> None:
    """The connection ends in the middle of the answer."""
    handler.request_seen.status = -1
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b'[{"event": "comm')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(2)


def silent(until: threading.Event) -> Trouble:
    """No answer, until the test ends."""

    def wait(handler: Handler) -> None:
        until.wait(60)
        handler.close_connection = True

    return wait


def trickles(until: threading.Event) -> Trouble:
    """An answer that comes byte by byte and never ends."""

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not until.wait(0.02):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                break
        handler.close_connection = True

    return drip


def page_of_a_proxy(handler: Handler) -> None:
    """A login page instead of the API's answer."""
    handler.answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"})


def moved(to: str) -> Trouble:
    """The issue was transferred."""
    return lambda handler: handler.answer(301, {"message": "Moved Permanently"}, {"Location": to})


@contextmanager
def running_forge() -> Iterator[LocalForge]:
    """A forge that listens on this machine until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    forge = LocalForge(url=f"http://127.0.0.1:{server.server_port}")
    server.forge = forge  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        server.server_close()
