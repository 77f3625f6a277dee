"""The real server as its own processes on the test's database, to be killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time

import requests

from tests.processes import start_python


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    """gunicorn with two workers in a process group of its own; the site is imported once for both."""

    def __init__(self, **environment: str) -> None:
        self.environment = environment
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Serve from now on; one that is serving goes on."""
        if self.process:
            return
        self.process = start_python(
            "-c",
            "import os, sys; os.setsid(); from gunicorn.app.wsgiapp import run; run()",
            "--bind", f"127.0.0.1:{self.port}", "--workers", "2", "--preload", "--log-level", "critical",
            "rlvram_site.wsgi", **self.environment,
        )  # fmt: skip
        for _ in range(600):
            try:
                if requests.get(f"{self.url}/health/live/", timeout=5).ok:
                    return
            except requests.RequestException:
                time.sleep(0.1)
            assert self.process.poll() is None, self.process.communicate()[1]
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """SIGKILL to the server and its workers: nobody can tidy up."""
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.process = None

    def stop(self) -> None:
        if self.process:
            self.kill()
