"""A real browser on a real site: started by ``./run`` with its own data folder and the bundled samples."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.conftest import ROOT
from tests.site.prepared import prepared_folder


@dataclass(frozen=True)
class LiveSite:
    """A served site: ``url`` without a slash at its end, its data folder and the password of ``admin``."""

    url: str
    data: Path
    password: str

    def __add__(self, path: str) -> str:
        return self.url + path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def started_site(data: Path) -> Iterator[LiveSite]:
    """``./run`` on this data folder, until the block ends."""
    log = data / "run.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [ROOT / "run", "--port", str(free_port()), "--data", str(data)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line)
        if match := re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\n", line):
            break
    else:
        pytest.fail(f"./run ended with {process.wait()}:\n{''.join(lines)}{log.read_text()}")
    try:
        yield LiveSite(match[1], data, (data / "admin-password").read_text().strip())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


@pytest.fixture(scope="session")
def live_site(tmp_path_factory) -> Iterator[LiveSite]:
    """The whole product as a stranger gets it. Tests of one process share it: leave it as it was."""
    with started_site(prepared_folder(tmp_path_factory, "live-site")) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. It can reach nothing but this machine, whatever a page asks for.

    One for each module and not for longer: its driver keeps an event loop in this thread, and while one runs
    there Django hands out another database connection. A test that opens windows uses no database fixture.
    """
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    assert executable, "Chromium is missing; ./test installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )
        yield browser
        browser.close()


@dataclass
class Watch:
    """What went wrong in a browser window. ``expect`` names what a test provokes on purpose."""

    origin: str
    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, text: str) -> None:
        """A problem whose description contains ``text`` is part of the test."""
        self.expected.append(text)

    def attach(self, page: Page) -> None:
        page.on("console", lambda message: message.type == "error" and self._note(f"console: {message.text}"))
        page.on("pageerror", lambda error: self._note(f"script: {error}"))
        page.on("requestfailed", lambda request: self._failed(request))
        page.on("request", lambda request: self._foreign(request.url))
        page.on(
            "response",
            lambda answer: answer.status >= 400 and self._note(f"answer {answer.status}: {answer.url}"),
        )

    def _note(self, problem: str) -> None:
        self.problems.append(problem)

    def _failed(self, request) -> None:
        # A page that is left while it loads, and a download that takes over, abort their own request.
        if request.failure != "net::ERR_ABORTED":
            self._note(f"request: {request.failure} {request.url}")

    def _foreign(self, url: str) -> None:
        if urlsplit(url).scheme not in {"data", "blob"} and not url.startswith(self.origin + "/"):
            self._note(f"foreign host: {url}")

    def unexpected(self) -> list[str]:
        return [problem for problem in self.problems if not any(text in problem for text in self.expected)]


@pytest.fixture
def watch(live_site) -> Watch:
    """The problems of this test's windows; ``watch.expect("404")`` allows one."""
    return Watch(live_site.url)


@pytest.fixture
def open_window(browser, live_site, watch) -> Iterator[Callable[..., Page]]:
    """Opens a window: ``open_window(width, height, **options)``. Its problems fail the test at its end."""
    contexts: list[BrowserContext] = []

    def open_one(width: int, height: int, **options) -> Page:
        context = browser.new_context(
            base_url=live_site.url, viewport={"width": width, "height": height}, **options
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        watch.attach(page)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert watch.unexpected() == []


@pytest.fixture
def page(open_window) -> Page:
    """A desktop window, 1280 pixels wide; addresses may be relative (``page.goto("/")``)."""
    return open_window(1280, 900)


@pytest.fixture
def phone_page(open_window) -> Page:
    """A phone, 390 pixels wide, with touch."""
    return open_window(390, 844, is_mobile=True, has_touch=True, device_scale_factor=2)
