"""gunicorn's threaded worker, in which nobody holds a thread by being slow.

A thread gets a connection once the head of its request is there; until then it costs a file descriptor, for
``HEAD_SECONDS`` at most. A body has to keep coming, and bodies take only half of the threads, so that pages
and probes answer meanwhile. The loop that collects heads waits for nobody, also when it closes a connection.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn import http
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn, ThreadWorker

HEAD_SECONDS = 10.0
"""From the connection to the end of its request's head."""
SILENCE_SECONDS = 20.0
"""Longest pause within a body, and longest time that one piece of an answer waits to be taken."""
BODY_SECONDS = 30.0
SLOWEST_BODY = 2048
"""Bytes per second that a body must bring after its first ``BODY_SECONDS``."""
LINGER_SECONDS = 2.0
"""How long an answered connection stays half open, lest a reset cut its answer off (RFC 9112, 9.6)."""
MOST_DRAINED = 64 * 1024
"""Bytes of an unread request that are taken meanwhile."""
LARGEST_HEAD = 64 * 1024
_END = b"\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class PatientUnreader(SocketUnreader):
    """Reads a body as long as it keeps coming. One that is too slow has ended too early: ``NoMoreData``."""

    def __init__(self, sock: Any) -> None:
        super().__init__(sock)
        self._started = time.monotonic()
        self._bytes = 0

    def chunk(self, size_hint: int | None = None) -> bytes:
        allowed = BODY_SECONDS + self._bytes / SLOWEST_BODY
        left = self._started + allowed - time.monotonic()
        self.sock.settimeout(max(0.001, min(left, SILENCE_SECONDS)))
        try:
            data: bytes = super().chunk(size_hint)
        except TimeoutError:
            raise http.errors.NoMoreData(b"") from None
        self._bytes += len(data)
        self.sock.settimeout(SILENCE_SECONDS)
        return data


class Connection(TConn):
    """A connection whose head is collected before a thread gets it."""

    head = b""
    drained = 0
    initialized: bool

    @property
    def has_body(self) -> bool:
        """Whether the head announces one; what it announces wrongly the parser refuses."""
        head = self.head.lower()
        return b"\ncontent-length:" in head or b"\ntransfer-encoding:" in head

    def init(self) -> None:
        """As gunicorn's, with the collected head and time limits."""
        if self.initialized:
            return
        self.initialized = True
        self.sock.settimeout(SILENCE_SECONDS)
        self.parser = http.get_parser(self.cfg, self.sock, self.client)
        self.parser.unreader = PatientUnreader(self.sock)
        self.parser.unreader.unread(self.head)


class PatientWorker(ThreadWorker):
    """Collects heads in its loop. TLS it does not speak: a proxy does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most_bodies = max(1, self.cfg.threads // 2)
        self._bodies = 0
        self._waiting: deque[Connection] = deque()
        self._leaving: deque[Connection] = deque()

    def accept(self, listener: Any) -> None:
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        self.nr_conns += 1
        connection = Connection(self.cfg, client, address, listener.getsockname())
        connection.timeout = time.monotonic() + HEAD_SECONDS
        self.pending_conns.append(connection)
        self.poller.register(client, EVENT_READ, partial(self.on_pending_socket_readable, connection))

    def on_pending_socket_readable(self, conn: Connection, client: Any) -> None:
        try:
            data = client.recv(8192)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        conn.head += data
        if data and _END not in conn.head and len(conn.head) < LARGEST_HEAD:
            return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        if not data:
            self._let_go(conn)
        elif _END in conn.head:
            conn.data_ready = True
            self._hand_over(conn)
        else:
            with suppress(OSError):
                client.send(_TOO_LARGE)
            self._take_leave(conn)

    def _hand_over(self, conn: Connection) -> None:
        if conn.has_body:
            if self._bodies >= self._most_bodies:
                self._waiting.append(conn)
                return
            self._bodies += 1
        self.enqueue_req(conn)

    def finish_request(self, conn: Connection, fs: Any) -> None:
        self._take_leave(conn)
        if conn.has_body:
            self._bodies -= 1
            if self._waiting:
                self._hand_over(self._waiting.popleft())

    def _take_leave(self, conn: Connection) -> None:
        """Half closes an answered connection and leaves the rest to the loop.

        gunicorn's own waits here for the other side, up to two seconds each, and the whole loop with it:
        heads that came meanwhile would be too late.
        """
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, EVENT_READ, partial(self._drain, conn))
        except (OSError, ValueError):
            self._let_go(conn)
        else:
            conn.timeout = time.monotonic() + LINGER_SECONDS
            self._leaving.append(conn)

    def _drain(self, conn: Connection, client: Any) -> None:
        try:
            data = client.recv(8192)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        conn.drained += len(data)
        if not data or conn.drained >= MOST_DRAINED:
            self._leaving.remove(conn)
            self.poller.unregister(client)
            self._let_go(conn)

    def _let_go(self, conn: Connection) -> None:
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Closes what is late, but first reads what came in time: the loop may have been late itself."""
        now = time.monotonic()
        while self.pending_conns and self.pending_conns[0].timeout <= now:
            conn = self.pending_conns[0]
            self.on_pending_socket_readable(conn, conn.sock)
            if self.pending_conns and self.pending_conns[0] is conn:
                self.pending_conns.popleft()
                self.poller.unregister(conn.sock)
                self._let_go(conn)
        while self._leaving and self._leaving[0].timeout <= now:
            conn = self._leaving.popleft()
            self.poller.unregister(conn.sock)
            self._let_go(conn)
