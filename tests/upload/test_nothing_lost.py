"""An upload that was not recorded never looks as if it were, and a key never stands in an output."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.test import Client

from studies.models import Attempt
from tests.upload.conftest import command, slot

SECRET = "s3cr3tS3cr3tS3cr3t"


class Stand:
    """A server that answers everything alike; it counts what it was asked."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.asked: list[str] = []
        stand = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                stand.asked.append(f"{self.command} {self.path}")
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_PUT = do_POST = answer

            def log_message(self, *arguments) -> None:
                """Keep the test's output to itself."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def stand():
    made: list[Stand] = []

    def start(status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> Stand:
        made.append(Stand(status, headers or {}, body))
        return made[-1]

    yield start
    for item in made:
        item.close()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed_and_the_right_address_is_named(stand, run_directory, status):
    there = stand(201, {"Content-Type": "application/json"}, b'{"invocation_id": "run-7"}')
    here = stand(status, {"Location": f"{there.url}/somewhere/else/"})
    done = command(here.url, f"abc.{SECRET}", run_directory, "--invocation", "run-7", "--slot", "s")
    assert done.returncode == 1
    assert f"Use --url {there.url}" in done.stderr
    assert (there.asked, done.stdout) == ([], "")


@pytest.mark.parametrize("body", [b"", b"<html>welcome</html>", b"{}", b'{"invocation_id": null}', b"[]"])
def test_an_answer_without_the_invocations_id_is_no_success(stand, run_directory, body):
    here = stand(200, {"Content-Type": "application/json"}, body)
    done = command(here.url, f"abc.{SECRET}", run_directory, "--invocation", "run-7", "--slot", "s")
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused" in done.stderr


def test_the_site_answers_writes_over_http_instead_of_redirecting_them(settings, db):
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().post("/api/v1/studies/demo/attempts/?x=1", {}, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "https_required"
    assert "https://testserver/api/v1/studies/demo/attempts/" in answer.json()["error"]["message"]
    assert Client().get("/api/v1/").status_code == 301
    assert Client().post("/api/v1/", secure=True).status_code != 400


@pytest.mark.parametrize("around", ["{}\n", " {} ", "{}\r\n", "\n{}\n"])
def test_blanks_around_a_key_are_dropped(site, key, run_directory, around):
    done = command(site.url, around.format(key), run_directory, "--invocation", "run-7", "--slot", slot())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wrong", ["nokey", "a b.cd", f"abc.{SECRET}\nsecond", f"abc.{SECRET}é", " "])
def test_a_malformed_key_ends_it_at_once_and_stands_nowhere(run_directory, wrong):
    done = command("http://127.0.0.1:9", wrong, run_directory, "--invocation", "run-7", "--slot", "s")
    assert done.returncode == 2
    assert SECRET not in done.stderr + done.stdout
    assert "key" in done.stderr


def test_the_key_may_stand_in_a_file_that_only_its_owner_reads(site, key, run_directory, tmp_path):
    file = tmp_path / "key"
    file.write_text(key + "\n")
    file.chmod(0o644)
    arguments = [run_directory, "--invocation", "run-7", "--slot", slot()]
    shown = command(site.url, "", *arguments, "--key-file", file)
    assert (shown.returncode, "expected the mode 600" in shown.stderr) == (2, True)
    file.chmod(0o600)
    assert command(site.url, "", *arguments, "--key-file", file).returncode == 0
    assert command(site.url, "", *arguments, RLVRAM_KEY_FILE=str(file)).returncode == 0
    assert command(site.url, "", *arguments).returncode == 2


def test_what_a_server_says_back_never_shows_the_key(stand, run_directory):
    error = {"error": {"code": "x", "message": f"you sent abc.{SECRET} \x1b[31m and {SECRET}", "fields": []}}
    here = stand(403, {"Content-Type": "application/json"}, json.dumps(error).encode())
    done = command(here.url, f"abc.{SECRET}", run_directory, "--invocation", "run-7", "--slot", "s")
    assert done.returncode == 1
    assert SECRET not in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    "url", ["studies.example.org", "ftp://host", "https://", "https://a:pw0rd@host", "http://host:port"]
)
def test_an_address_that_cannot_be_right_ends_it_at_once(run_directory, url):
    done = command(url, f"abc.{SECRET}", run_directory, "--invocation", "run-7", "--slot", "s")
    assert done.returncode == 2
    assert "pw0rd" not in done.stderr


def test_the_number_of_tries_is_a_setting_and_retry_after_is_kept(stand, run_directory):
    busy = stand(503, {"Retry-After": "1", "Content-Type": "application/json"},
                 b'{"error": {"code": "busy", "message": "the database is away", "fields": []}}')  # fmt: skip
    before = time.monotonic()
    arguments = [run_directory / "trial-7.json", "--invocation", "run-7", "--slot", "s", "--retries", 2]
    done = command(busy.url, f"abc.{SECRET}", *arguments)
    assert done.returncode == 3
    assert len(busy.asked) == 3
    assert time.monotonic() - before > 2
    assert "trying again, up to 2 times" in done.stderr
    assert "given up after 3 tries" in done.stderr
    gone = command("http://127.0.0.1:9", f"abc.{SECRET}", *arguments[:-1], 0)
    assert (gone.returncode, "given up after 1 try" in gone.stderr) == (3, True)


def test_a_site_that_comes_back_within_the_tries_gets_it(site, key, run_directory):
    site.kill()
    back = threading.Timer(3, site.start)
    back.start()
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", slot())
    back.join()
    assert done.returncode == 0, done.stderr
    assert Attempt.objects.count() == 1


def test_a_netrc_does_not_take_the_keys_place(site, key, run_directory, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    (tmp_path / ".netrc").chmod(0o600)
    done = command(
        site.url, key, run_directory, "--invocation", "run-7", "--slot", slot(), HOME=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr


def test_the_key_is_never_an_argument():
    told = subprocess.run(
        [sys.executable, "-m", "host.upload", "--help"], capture_output=True, text=True, check=False
    )
    assert "--key " not in told.stdout
