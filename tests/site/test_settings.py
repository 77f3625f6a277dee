"""Settings come from the environment, and a value that is not understood stops the start with its name."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PRODUCTION = {
    "RLVRAM_MODE": "production",
    "SECRET_KEY": "k7" * 40 + "abcdefghij",
    "ALLOWED_HOSTS": "studies.example.org",
    "DATABASE_URL": "postgresql://rlvram:secret@db.example.org/rlvram",
    "BROKER_URL": "redis://:secret@redis.example.org:6379/0",
}


def start(tmp_path, *command, **environment):
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def read(tmp_path, expression, **environment):
    """One setting as a fresh process sees it."""
    done = start(tmp_path, "-c", f"import rlvram_site.settings as s; print({expression})", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"RLVRAM_MODE": "cloud"}, r"RLVRAM_MODE.*one of.*embedded.*production"),
        ({"DEBUG": "maybe"}, r"DEBUG.*[Bb]oolean"),
        ({"PUBLIC_READ": "sometimes"}, r"PUBLIC_READ.*[Bb]oolean"),
        ({"HTTPS": "2"}, r"HTTPS.*[Bb]oolean"),
        (
            {"EVIDENCE_STORAGE_URL": "ftp://host/a"},
            r"EVIDENCE_STORAGE_URL.*'ftp'.*file:///FOLDER or s3://BUCKET",
        ),
        ({"EVIDENCE_STORAGE_URL": "file:folder"}, r"EVIDENCE_STORAGE_URL.*file:///FOLDER"),
        ({"EVIDENCE_STORAGE_URL": "s3://key:secret@bucket"}, r"EVIDENCE_STORAGE_URL.*AWS_ACCESS_KEY_ID"),
        (
            {"EVIDENCE_STORAGE_URL": "s3://bucket?addressing=odd"},
            r"addressing is 'odd', expected one of auto",
        ),
        ({"EVIDENCE_STORAGE_URL": "s3://bucket?enpoint=x"}, r"EVIDENCE_STORAGE_URL.*expected"),
        ({"DISK_RESERVE_MIB": "-1"}, r"DISK_RESERVE_MIB"),
        ({"LOG_LEVEL": "LOUD"}, r"LOG_LEVEL.*DEBUG.*CRITICAL"),
        (
            {"DATABASE_URL": "mysql://db/x"},
            r"DATABASE_URL starts with 'mysql'; expected sqlite:///FILE or post",
        ),
        ({"DATABASE_URL": "site.sqlite3"}, r"DATABASE_URL starts with 'nothing'; expected"),
        ({"DATABASE_URL": "postgresql://db/x", "DATABASE_POOL_SIZE": "0"}, r"DATABASE_POOL_SIZE.*1"),
        ({"DATABASE_URL": "postgresql://db/x", "DATABASE_POOL_SIZE": "many"}, r"DATABASE_POOL_SIZE.*integer"),
        ({"API_MAX_BATCH": "0"}, r"API_MAX_BATCH.*1"),
        ({"CACHE_URL": "memcached://host"}, r"CACHE_URL starts with 'memcached'; expected redis:"),
        ({"BROKER_URL": "amqp://queue"}, r"BROKER_URL starts with 'amqp'; expected filesystem:.* or redis:"),
        (PRODUCTION | {"SECRET_KEY": ""}, r"SECRET_KEY is not set. Production needs a long random value"),
        (PRODUCTION | {"SECRET_KEY": "short"}, r"SECRET_KEY has 5 characters, expected at least 50"),
        (PRODUCTION | {"SECRET_KEY": "ab" * 40}, r"SECRET_KEY is made of 2 different characters"),
        (
            PRODUCTION | {"SECRET_KEY": "django-insecure-" + "k7bcdefghij" * 5},
            r"SECRET_KEY has 'django-insecure' in it",
        ),
        (PRODUCTION | {"SECRET_KEY_FALLBACKS": "short"}, r"SECRET_KEY_FALLBACKS has 5 characters"),
        (PRODUCTION | {"ALLOWED_HOSTS": "*"}, r"ALLOWED_HOSTS holds '\*'"),
        (PRODUCTION | {"ALLOWED_HOSTS": "studies.example.org,*.example.org"}, r"ALLOWED_HOSTS holds '\*'"),
        (PRODUCTION | {"DEBUG": "true"}, r"DEBUG is on. Production never"),
        (PRODUCTION | {"STAFF_TWO_STEP": "yes"}, r"STAFF_TWO_STEP.*optional.*required"),
        (
            {"TRUSTED_PROXIES": "10.0.0.0/8,proxy"},
            r"TRUSTED_PROXIES.*'proxy'.*expected addresses or networks",
        ),
        ({"OIDC_ROLES": "lab=owner"}, r"OIDC_ROLES: 'owner' is no role; expected pairs"),
        ({"OIDC_ISSUER": "https://id.example.org"}, r"OIDC_CLIENT_ID is not set"),
        (
            PRODUCTION | {"OIDC_ISSUER": "http://id.example.org"},
            r"OIDC_ISSUER is 'http://id.example.org'; expected an address such as https",
        ),
        (PRODUCTION | {"ALLOWED_HOSTS": ""}, r"ALLOWED_HOSTS is not set. Production needs the site's host"),
        (PRODUCTION | {"DATABASE_URL": ""}, r"DATABASE_URL is not set. Production needs it: postgresql:"),
        (PRODUCTION | {"BROKER_URL": ""}, r"BROKER_URL is not set. Production needs it: redis:"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value.split(".")[0][:30],
)
def test_a_wrong_value_is_named_with_what_was_expected(tmp_path, environment, expected):
    done = start(tmp_path, "-c", "import rlvram_site.settings", **environment)
    assert done.returncode != 0
    assert re.search(r"ImproperlyConfigured: .*" + expected, done.stderr), done.stderr


def test_a_password_in_an_address_is_not_repeated_in_the_error(tmp_path):
    done = start(tmp_path, "-c", "import rlvram_site.settings", DATABASE_URL="mysql://me:hunter2@db/x")
    assert "hunter2" not in done.stderr


def test_production_passes_djangos_own_deployment_check(tmp_path):
    done = start(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "DEBUG", **PRODUCTION)
    assert done.returncode == 0, done.stderr
    assert "no issues (0 silenced)" in done.stdout


def test_production_needs_a_login_and_https_unless_told_otherwise(tmp_path):
    values = "s.PUBLIC_READ, s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.DEBUG"
    assert read(tmp_path, values, **PRODUCTION) == "False True True True False"


@pytest.mark.parametrize(
    ("environment", "public"),
    [
        ({}, "True"),
        ({"ALLOWED_HOSTS": "localhost"}, "True"),
        ({"ALLOWED_HOSTS": "localhost,studies.example.org"}, "False"),
        ({"PUBLIC_READ": "no"}, "False"),
        (PRODUCTION, "False"),
        (PRODUCTION | {"PUBLIC_READ": "yes"}, "True"),
    ],
)
def test_reading_without_a_login_is_for_the_loopback_address_only(tmp_path, environment, public):
    assert read(tmp_path, "s.PUBLIC_READ", **environment) == public


def test_the_embedded_site_keeps_everything_under_its_data_folder(tmp_path):
    folder = tmp_path / "100% data #1"
    values = read(tmp_path, "s.DATABASES['default']['NAME'], s.STATIC_ROOT, sep='|'", DATA_DIR=str(folder))
    assert values == f"{folder}/site.sqlite3|{folder}/static"


def test_the_embedded_secret_is_made_once_and_is_private(tmp_path):
    first = read(tmp_path, "s.SECRET_KEY")
    assert len(first) >= 50
    assert read(tmp_path, "s.SECRET_KEY") == first
    assert (tmp_path / "data" / "secret-key").stat().st_mode & 0o777 == 0o600


def test_options_of_a_database_address_are_kept(tmp_path):
    url = "postgresql://rlvram@db.example.org/rlvram?sslmode=verify-full"
    options = read(tmp_path, "s.DATABASES['default']['OPTIONS']", DATABASE_URL=url)
    assert "'sslmode': 'verify-full'" in options
    assert "'pool'" in options


def test_every_variable_is_in_the_documentation():
    read_by_settings = set(
        re.findall(r'env\.\w+,\s+"([A-Z_]+)"', (ROOT / "rlvram_site/settings.py").read_text())
    )
    documented = set(re.findall(r"^\| `([A-Z_]+)` ", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert read_by_settings | {"DATABASE_URL", "BROKER_URL"} == documented
