"""The wheel and the source archive: built without an index, complete, and a site by themselves."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from host.version import product_version
from tests.conftest import ROOT

INSIDE = ["docs", "static", "templates"]
SOURCES = ["admission", "host", "notices", "operating", "rlvram_site", "search", "studies", *INSIDE]
FILES = ["CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "manage.py", "pyproject.toml", "setup.py"]
BUILD = "from setuptools import build_meta as b; import sys; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"

pytestmark = pytest.mark.one_engine("about files, not rows")


def checkout(folder: Path) -> Path:
    """What a clean checkout has, without what tests and runs leave in this one."""
    for name in SOURCES:
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
        )
    for name in [*FILES, "requirements.lock"]:
        shutil.copy(ROOT / name, folder)
    return folder


def build(source: Path, what: str, target: Path) -> Path:
    before = set(target.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = {path for path in target.iterdir() if path.is_file()} - before
    return built


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    source, target = checkout(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist")
    return {what: build(source, what, target) for what in ("wheel", "sdist")}


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return {name for name in file.namelist() if not name.endswith("/RECORD")}


def test_the_wheel_has_every_file_of_the_site(built):
    there = contents(built["wheel"])
    for name in SOURCES:
        inside = f"rlvram_site/files/{name}" if name in INSIDE else name
        for path in (ROOT / name).rglob("*"):
            kept = path.suffix in (".py", ".json") or name in INSIDE
            if path.is_file() and kept and not {"__pycache__", "build"} & set(path.parts):
                assert f"{inside}/{path.relative_to(ROOT / name)}" in there, path


def test_the_source_archive_builds_the_same_wheel(built, tmp_path):
    shutil.unpack_archive(built["sdist"], tmp_path)
    (unpacked,) = tmp_path.iterdir()
    (tmp_path / "dist").mkdir()
    assert contents(build(unpacked, "wheel", tmp_path / "dist")) == contents(built["wheel"])


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """An environment with the wheel alone, which finds the other packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    scheme = {"base": str(folder), "platbase": str(folder)}
    # As a path only: the project itself, which is installed here as well, is not found through it.
    own = Path(sysconfig.get_path("purelib", vars=scheme))
    (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python",
         "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--prefix", folder,
         built["wheel"]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def environment(folder: Path, data: Path) -> dict[str, str]:
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(data), "DATA_DIR": str(data)}


def dashboard(folder: Path, data: Path, *arguments: str) -> str:
    done = subprocess.run(
        [folder / "bin" / "rlvram-dashboard", *arguments], cwd=data, env=environment(folder, data),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.status, answer.read().decode()


def test_an_installed_wheel_is_a_site_by_itself(installed, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    assert product_version() in dashboard(installed, data, "version")
    dashboard(installed, data, "check")
    said = dashboard(installed, data, "prepare_site")
    assert "study estimation: imported" in said
    where = dashboard(
        installed, data, "shell", "--no-imports", "-c", "import studies; print(studies.__file__)"
    )
    assert str(installed) in where
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [installed / "bin" / "python", "-m", "gunicorn", "--config",
         "python:rlvram_site.server.settings", "--bind", f"127.0.0.1:{port}", "--no-control-socket"],
        cwd=data, env=environment(installed, data), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while True:
            assert server.poll() is None
            try:
                status, page = read(f"http://127.0.0.1:{port}/studies/estimation/")
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        assert status == 200
        style = re.search(r'href="(/static/site[^"]*\.css)"', page)
        assert style
        assert "--good" in read(f"http://127.0.0.1:{port}{style[1]}")[1]
    finally:
        server.terminate()
        server.wait()


def test_the_uploader_is_built_alone_with_the_products_number(tmp_path):
    source, target = checkout(tmp_path / "source"), tmp_path / "dist"
    target.mkdir()
    sdist = build(source / "host", "sdist", target)
    assert sdist.name == f"rlvram_host-{product_version()}.tar.gz"
    shutil.unpack_archive(sdist, tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = build(unpacked, "wheel", target)
    assert wheel.name == f"rlvram_host-{product_version()}-py3-none-any.whl"
    assert "host/upload.py" in contents(wheel)
