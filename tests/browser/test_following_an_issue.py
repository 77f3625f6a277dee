"""From a pasted address to a notification: a person follows an issue and is told when it changes."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.admission_sync.forge import SHA, running_forge
from tests.browser.conftest import Watch, started_site

PATIENCE = 120
"""Seconds after which the test gives up. Nothing here is timed; a busy machine only takes longer."""


@pytest.fixture(scope="module")
def forge():
    with running_forge() as running:
        running.issue(7, title="It runs out of memory", body="## Update (2026-03-02)\n\nUnresolved.")
        running.link(9)
        running.pull(9)
        running.check(SHA["one"], "success")
        yield running


@pytest.fixture(scope="module")
def told():
    """Where webhooks are posted to, and the bodies that came."""
    bodies: list[str] = []

    class Receiver(BaseHTTPRequestHandler):
        def log_message(self, *args) -> None:
            pass

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/told", bodies
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def live_site(tmp_path_factory, forge):
    """The product, with that forge as its own, allowed to post to this machine."""
    patch = pytest.MonkeyPatch()
    patch.setenv("FORGE_API_URL", forge.url)
    patch.setenv("FORGE_HOST", forge.host)
    patch.setenv("WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8")
    try:
        with started_site(tmp_path_factory.mktemp("following")) as site:
            yield site
    finally:
        patch.undo()


@pytest.fixture
def watch(live_site) -> Watch:
    return Watch(live_site.url)


def log_in(page, site) -> None:
    page.goto("/login/?next=/admission/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admission/")


@pytest.mark.browser
def test_from_the_pasted_address_to_the_notification(page, live_site, forge, told):
    page.set_default_timeout(PATIENCE * 1000)
    url, bodies = told
    log_in(page, live_site)
    page.get_by_label("Address of an issue, or of a repository").fill(
        f"https://{forge.host}/octo/cat/issues/7#issuecomment-1"
    )
    page.get_by_role("button", name="Track this issue").click()
    # The job's page follows it by itself until it is done.
    page.get_by_role("link", name="octo/cat#7").click()
    page.get_by_role("heading", name="It runs out of memory").wait_for()
    page.get_by_role("link", name="Tell me when this changes").click()
    page.get_by_label("By", exact=True).select_option("webhook")
    page.get_by_text("For a webhook: address and form").click()
    page.get_by_label("Address that it is posted to").fill(url)
    page.get_by_role("button", name="Tell me").click()
    page.get_by_text("You are told of octo/cat#7.").wait_for()
    page.get_by_role("link", name="Preview of octo/cat#7").click()
    page.get_by_text("this is an example").wait_for()

    forge.issue(
        7, title="It runs out of memory", body="## Update (2026-03-09)\n\nResolved by #9.",
        updated_at="2026-03-09T08:00:00Z",
    )  # fmt: skip
    page.goto("/admission/followed/")
    page.get_by_role("button", name="Read octo/cat#7 now").click()
    page.get_by_role("link", name="octo/cat#7").wait_for()
    end = time.monotonic() + PATIENCE
    while not bodies and time.monotonic() < end:
        page.wait_for_timeout(200)
    (notice,) = json.loads(bodies[0])["notices"]
    assert (notice["kind"], notice["subject"]) == ("holds", "octo/cat#7")
    assert "March 2" in notice["before"]
    assert "March 9" in notice["now"]
    page.goto(notice["url"])
    page.get_by_text("Resolved by #9.").first.wait_for()
    page.goto("/notices/messages/")
    page.get_by_text("✓ delivered").wait_for()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit(width, scheme, open_window, live_site):
    page = open_window(width, 900, color_scheme=scheme)
    log_in(page, live_site)
    for address in ("/admission/followed/", "/notices/", "/notices/messages/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
        assert page.locator("h1").count() == 1
        assert page.locator("p.sentence").count() == 1
