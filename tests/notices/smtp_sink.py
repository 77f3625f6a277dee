"""A mail server on this machine that keeps what it is given, and can be told to be slow."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message


@dataclass
class Sink:
    """``mails`` holds what was taken.

    While ``busy`` is set, a mail that is being handed over waits: before its text, or with ``late`` after it
    and before the answer.
    """

    port: int = 0
    mails: list[Message] = field(default_factory=list)
    busy: threading.Event = field(default_factory=threading.Event)
    late: bool = False
    waiting: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)


class _Session(socketserver.StreamRequestHandler):
    server: _Server

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def _wait(self, *, late: bool) -> None:
        sink = self.server.sink
        if sink.busy.is_set() and sink.late == late:
            sink.waiting.set()
            sink.free.wait(60)

    def handle(self) -> None:
        sink = self.server.sink
        self._say("220 sink")
        while line := self.rfile.readline():
            word = line.split()[0].upper() if line.split() else b""
            if word == b"DATA":
                self._wait(late=False)
                self._say("354 go on")
                body = self._body()
                if body is None:
                    return
                sink.mails.append(message_from_bytes(body))
                self._wait(late=True)
                self._say("250 taken")
            elif word == b"QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _body(self) -> bytes | None:
        lines = []
        while line := self.rfile.readline():
            if line == b".\r\n":
                return b"".join(lines)
            lines.append(line)
        return None  # hung up before the end: the mail was never given


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, sink: Sink) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.sink = sink


@contextmanager
def running_sink() -> Iterator[Sink]:
    """A mail server until the block ends."""
    sink = Sink()
    server = _Server(sink)
    sink.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    try:
        yield sink
    finally:
        sink.free.set()
        server.shutdown()
        server.server_close()
