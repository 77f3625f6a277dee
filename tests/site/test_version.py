"""One version number: the checkout states it, and footer, commands and API show that one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import django
import pytest

from host.version import product_version
from tests.conftest import ROOT
from tests.site.prepared import shell_environment

STATED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
ASK = "from host.version import product_version; print(product_version())"


def printed(*arguments: object, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=shell_environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_footer_of_a_page_shows_it(client, db):
    page = client.get("/").content.decode()
    footer = re.search(r"<footer.*</footer>", page, re.DOTALL)
    assert footer
    assert f"RL VRAM studies {STATED}<" in footer[0]


def test_a_page_that_does_not_exist_shows_it_too(client, db):
    assert f"RL VRAM studies {STATED}<" in client.get("/nothing/").content.decode()


def test_the_api_states_it_at_its_root_and_in_its_document(client, db):
    assert client.get("/api/v1/").json()["version"] == STATED
    assert client.get("/api/v1/schema/?format=json").json()["info"]["version"] == STATED


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_manage_py_prints_it_beside_the_version_of_django(asked, tmp_path):
    said = printed("manage.py", asked, DATA_DIR=str(tmp_path))
    assert said == f"RL VRAM studies {STATED}, Django {django.get_version()}\n"


@pytest.mark.parametrize(
    ("module", "name"), [("host.upload", "rlvram-upload"), ("host.command", "rlvram-host")]
)
def test_the_programs_of_a_host_print_it(module, name):
    assert printed("-m", module, "--version") == f"{name} {STATED}\n"


def copy_of_package(folder: Path) -> None:
    (folder / "host").mkdir()
    for name in ("__init__.py", "version.py"):
        shutil.copy(ROOT / "host" / name, folder / "host")


def test_a_wheel_without_a_checkout_tells_the_installed_number(tmp_path):
    copy_of_package(tmp_path)
    metadata = tmp_path / "rlvram_dashboard-7.8.9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rlvram-dashboard\nVersion: 7.8.9\n")
    assert printed("-c", ASK, cwd=tmp_path) == "7.8.9\n"


def test_the_folder_of_another_project_does_not_lend_its_number(tmp_path):
    copy_of_package(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\nversion = "3.2.1"\n')
    assert printed("-c", ASK, cwd=tmp_path) != "3.2.1\n"


def test_the_newest_entry_of_the_change_log_is_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == product_version() == STATED
