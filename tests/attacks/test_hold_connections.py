"""Somebody who opens connections and then hardly sends anything. Real sockets, the real server."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import pytest
import requests
from gunicorn.config import Config

from rlvram_site.server import worker
from tests.conftest import ROOT
from tests.site.prepared import prepared_folder

pytestmark = pytest.mark.one_engine("what holds a thread is a connection, not a database")
MANY = 24
SLOW = {
    "silent": b"",
    "half a line": b"GET /health/li",
    "a head without an end": b"GET /health/live/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "a body that never comes": b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nusername=",
    "chunks that never come": b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[str]:
    """The site as ``./run`` serves it, without its worker."""
    data = prepared_folder(tmp_path_factory, "slow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--config", "python:rlvram_site.server.settings",
         "--bind", f"127.0.0.1:{port}"],
        cwd=ROOT, env={**own, "DATA_DIR": str(data)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            with contextlib.suppress(requests.ConnectionError):
                requests.get(f"http://127.0.0.1:{port}/health/live/", timeout=120)
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def held(site: str, sent: bytes, number: int = MANY) -> Iterator[list[socket.socket]]:
    place = ("127.0.0.1", int(site.rpartition(":")[2]))
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(place, timeout=60)) for _ in range(number)]
        for one in sockets:
            one.sendall(sent)
        yield sockets


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
def test_probes_and_pages_answer_meanwhile(site, sent):
    with held(site, sent):
        for _ in range(7):
            assert requests.get(f"{site}/health/live/", timeout=60).status_code == 200
        assert requests.get(f"{site}/health/ready/", timeout=60).status_code == 200
        assert requests.get(f"{site}/login/", timeout=60).status_code == 200


def test_closing_many_connections_makes_nobody_wait(monkeypatch):
    """An answered connection whose other side stays silent is left to the loop, which goes on meanwhile."""
    clock = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    loop = _Loop()
    try:
        others = [loop.answered() for _ in range(MANY)]
        assert [other.recv(10) for other in others] == [b""] * MANY  # each is told at once that no more comes
        assert (loop.worker.nr_conns, clock) == (MANY, [0.0])
        others.pop().close()
        others[0].sendall(b"the rest of what was asked")
        loop.turn()
        assert loop.worker.nr_conns == MANY - 1
        clock[0] += worker.LINGER_SECONDS
        loop.turn()
        assert loop.worker.nr_conns == 0
    finally:
        loop.close()


def test_a_head_that_came_in_time_is_read_when_the_loop_was_late(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    loop = _Loop()
    try:
        in_time, too_short = loop.waiting(), loop.waiting()
        in_time.sendall(b"GET / HTTP/1.1\r\n\r\n")
        too_short.sendall(b"GET / HT")
        clock[0] += worker.HEAD_SECONDS
        loop.worker.murder_pending()
        assert [conn.head for conn in loop.handed_over] == [b"GET / HTTP/1.1\r\n\r\n"]
        assert (loop.worker.nr_conns, too_short.recv(10)) == (1, b"")
    finally:
        loop.close()


def test_a_request_in_pieces_is_answered_all_the_same(site):
    with held(site, b"GET /health/live/ HT", number=1) as (one,):
        for piece in (b"TP/1.1\r\n", b"Host: 127.0.0.1\r", b"\n\r\n"):
            one.sendall(piece)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000, b"\x16\x03\x01\x02\x00" * 20_000]
)
def test_an_endless_head_is_refused(site, head):
    with held(site, b"", number=1) as (one,):
        with contextlib.suppress(ConnectionError):
            one.sendall(head)
        with contextlib.suppress(ConnectionError):
            assert one.recv(1000)[:12] in {b"HTTP/1.1 431", b""}
    assert requests.get(f"{site}/health/live/", timeout=60).status_code == 200


def test_headers_of_a_proxy_are_not_believed_by_the_server_itself(site):
    """gunicorn believes the loopback address by itself; the site decides, and it trusts nobody here."""
    answer = requests.get(
        f"{site}/health/live/", headers={"X-Forwarded-Proto": "https", "SCRIPT_NAME": "/x"}, timeout=20
    )
    assert answer.status_code == 200


class _Loop:
    """The worker's loop alone, without its server: connections are pairs of sockets."""

    def __init__(self) -> None:
        self.worker = worker.PatientWorker(0, 0, [], None, 30, Config(), None)
        self.worker.poller = selectors.DefaultSelector()
        self.handed_over: list[worker.Connection] = []
        self.worker.enqueue_req = self.handed_over.append
        self._sockets: list[socket.socket] = []

    def _connection(self) -> tuple[socket.socket, worker.Connection]:
        here, there = socket.socketpair()
        self._sockets += [here, there]
        self.worker.nr_conns += 1
        return there, worker.Connection(self.worker.cfg, here, None, None)

    def answered(self) -> socket.socket:
        there, conn = self._connection()
        self.worker.finish_request(conn, None)
        return there

    def waiting(self) -> socket.socket:
        there, conn = self._connection()
        conn.timeout = worker.time.monotonic() + worker.HEAD_SECONDS
        self.worker.pending_conns.append(conn)
        on_data = partial(self.worker.on_pending_socket_readable, conn)
        self.worker.poller.register(conn.sock, selectors.EVENT_READ, on_data)
        return there

    def turn(self) -> None:
        self.worker.wait_for_and_dispatch_events(timeout=0)
        self.worker.murder_pending()

    def close(self) -> None:
        for one in self._sockets:
            one.close()
        self.worker.poller.close()
        self.worker.tmp.close()


class _Trickle:
    """A socket that brings one byte a second, on a clock of its own."""

    def __init__(self, clock: list[float]) -> None:
        self.clock, self.wait = clock, 0.0

    def settimeout(self, seconds: float) -> None:
        self.wait = seconds

    def recv(self, size: int) -> bytes:
        if self.wait < 1:
            raise TimeoutError
        self.clock[0] += 1
        return b"x"


def test_a_body_has_to_keep_coming(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    reader = worker.PatientUnreader(_Trickle(clock))

    def read_on() -> None:
        for _ in range(10_000):
            reader.chunk()

    with pytest.raises(worker.http.errors.NoMoreData):
        read_on()
    assert worker.BODY_SECONDS - 2 <= clock[0] <= worker.BODY_SECONDS + 2
