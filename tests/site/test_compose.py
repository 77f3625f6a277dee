"""docker-compose.yml and Dockerfile, as far as they can be judged without a Docker engine."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from scripts.probe import main as probe
from tests.conftest import ROOT

COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(COMPOSE_TEXT)
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service.get("image") == "rlvram-dashboard"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SECRETS = {"SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "SITE_DATABASE_PASSWORD"}


def test_there_are_a_site_workers_a_database_and_a_broker():
    assert {"web", "worker", "postgres", "redis"} <= set(SERVICES)
    assert set(OURS) == {"prepare", "web", "worker", "beat"}


@pytest.mark.parametrize("name", sorted(SECRETS | {"ALLOWED_HOSTS"}))
def test_nothing_starts_without_its_secrets(name):
    uses = re.findall(r"(?<!\$)\$\{" + name + r"(?![A-Z_])([^}]*)\}", COMPOSE_TEXT)
    assert uses
    assert all(use.startswith(":?") and len(use) > 10 for use in uses), uses


def test_no_secret_has_a_default_or_stands_in_the_file():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if name in SECRETS or "PASSWORD" in name:
                assert re.fullmatch(r"\$\{\w+:\?.+\}", value), name
    addresses = re.findall(r"\w+://\S+", COMPOSE_TEXT)
    assert [a for a in addresses if "@" in a and "${" not in a] == []


@pytest.mark.parametrize("name", ["web", "worker", "postgres", "redis"])
def test_every_lasting_service_says_how_it_is(name):
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries"} <= set(check)


def test_services_start_when_what_they_need_is_healthy():
    for name in ("web", "worker", "beat"):
        needed = SERVICES[name]["depends_on"]
        assert needed["prepare"] == {"condition": "service_completed_successfully"}
        assert needed["redis"] == {"condition": "service_healthy"}
    assert SERVICES["prepare"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for service in SERVICES.values():
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[needed]


def test_data_outlives_its_containers():
    named = set(COMPOSE["volumes"])
    mounts = [mount.split(":") for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {source for source, _target in mounts} == named
    assert ["postgres", "/var/lib/postgresql/data"] in mounts
    assert ["redis", "/data"] in mounts


def test_our_containers_can_do_little_beyond_their_work():
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert "privileged" not in service


def test_only_the_site_is_published_and_only_to_this_machine():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:${PORT:-8000}:8000"]}


def test_the_site_runs_in_production_on_postgresql_and_redis():
    environment = SERVICES["web"]["environment"]
    assert environment["RLVRAM_MODE"] == "production"
    assert environment["DATABASE_URL"].startswith("postgresql://")
    assert environment["BROKER_URL"].startswith("redis://")
    lasting = [service for name, service in OURS.items() if name != "prepare"]
    assert all(service["environment"] == environment for service in lasting)


def test_the_site_owns_no_table_and_what_prepares_it_does():
    site, owner = SERVICES["web"]["environment"], SERVICES["prepare"]["environment"]
    assert site["DATABASE_URL"].startswith("postgresql://rlvram_site:${SITE_DATABASE_PASSWORD:")
    assert owner["DATABASE_URL"].startswith("postgresql://rlvram:${POSTGRES_PASSWORD:")
    assert SERVICES["postgres"]["environment"]["POSTGRES_USER"] == "rlvram"
    assert "SITE_DATABASE_PASSWORD" not in site
    steps = SERVICES["prepare"]["command"].split(" && ")
    assert [step.split()[-1] for step in steps[1:2]] == ["rlvram_site"]
    assert {**owner, "DATABASE_URL": ""} == {
        **site,
        "DATABASE_URL": "",
        "SITE_DATABASE_PASSWORD": owner["SITE_DATABASE_PASSWORD"],
    }


def test_every_variable_that_is_passed_on_is_one_that_the_site_reads():
    documented = set(re.findall(r"^\| `([A-Z_]+)` ", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert set(SERVICES["web"]["environment"]) <= documented


def test_the_image_is_built_from_the_lock_file_for_an_ordinary_user():
    instructions = re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    users = [line.split()[1] for line in instructions if line.startswith("USER")]
    assert users == ["site"]
    assert instructions.index("USER site") < next(
        n for n, line in enumerate(instructions) if line.startswith("CMD")
    )
    assert "pip install --no-cache-dir --require-hashes --requirement requirements.lock" in DOCKERFILE
    assert "FROM python:3.11" in DOCKERFILE
    for source in re.findall(r"^COPY (.+) \./$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in source.split())


def test_the_image_holds_neither_data_nor_history():
    ignored = set((ROOT / ".dockerignore").read_text().split())
    assert {".git", ".venv", "var", "*.sqlite3*"} <= ignored


class _Answer(BaseHTTPRequestHandler):
    status = 200
    hosts: list[str] = []

    def do_GET(self) -> None:
        self.hosts.append(self.headers["Host"])
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *arguments) -> None:
        pass


@pytest.mark.parametrize(("status", "expected"), [(200, 0), (503, 1), (404, 1)])
def test_the_probe_says_whether_the_site_is_ready(monkeypatch, status, expected):
    monkeypatch.setattr(_Answer, "status", status)
    monkeypatch.setattr(_Answer, "hosts", [])
    monkeypatch.setenv("ALLOWED_HOSTS", "studies.example.org,other.example.org")
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert probe(f"http://127.0.0.1:{server.server_port}/health/ready/") == expected
    assert _Answer.hosts == ["studies.example.org"]


def test_the_probe_fails_when_nothing_answers():
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        port = server.server_port
    assert probe(f"http://127.0.0.1:{port}/") == 1
