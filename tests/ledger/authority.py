"""A time-stamping authority on this machine: ``openssl ts`` behind a small HTTP server."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

_CONFIGURATION = """
[tsa]
default_tsa = tsa1
[tsa1]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


def openssl(*arguments: object) -> None:
    """Run it. Raises ``CalledProcessError`` where it refuses."""
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_authority(folder: Path) -> Path:
    """Keys, a root and the authority's certificate in ``folder``. Returns the root's file."""
    root, root_key, key, request = (folder / name for name in ("root.pem", "root.key", "tsa.key", "tsa.csr"))
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *curve, "-keyout", root_key, "-out", root, "-subj", "/CN=Test root",
             "-days", "2")  # fmt: skip
    openssl("req", *curve, "-keyout", key, "-out", request, "-subj", "/CN=Test authority")
    (folder / "extensions").write_text("extendedKeyUsage = critical,timeStamping\n")
    openssl("x509", "-req", "-in", request, "-CA", root, "-CAkey", root_key, "-CAcreateserial", "-days", "1",
             "-extfile", folder / "extensions", "-out", folder / "tsa.pem")  # fmt: skip
    (folder / "tsa.conf").write_text(_CONFIGURATION.format(folder=folder))
    (folder / "serial").write_text("01\n")
    return root


def answer(folder: Path, question: bytes) -> bytes:
    """What the authority in ``folder`` replies to a request (DER)."""
    asked, said = folder / "question.tsq", folder / "answer.tsr"
    asked.write_bytes(question)
    openssl("ts", "-reply", "-config", folder / "tsa.conf", "-queryfile", asked, "-signer",
             folder / "tsa.pem", "-inkey", folder / "tsa.key", "-out", said)  # fmt: skip
    return said.read_bytes()


@contextmanager
def serving(reply: Callable[[bytes], tuple[int, bytes]]) -> Iterator[str]:
    """Answer each POST with ``reply`` of its body. Gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = reply(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing: what a test sees is the answer."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tsr"
    finally:
        server.shutdown()
        server.server_close()
