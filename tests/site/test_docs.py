"""README and docs: marked commands work, links lead somewhere, every page is listed."""

from __future__ import annotations

import re
import subprocess

import pytest
from django.core.management import get_commands

from tests.conftest import ROOT
from tests.site.prepared import shell_environment

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = re.compile(r"^```bash run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_COMMANDS = [page for page in PAGES if RUN.search(page.read_text())]
page_name = {"ids": lambda page: page.name}


def test_the_readme_has_commands_that_are_run():
    assert ROOT / "README.md" in WITH_COMMANDS


@pytest.mark.parametrize("page", WITH_COMMANDS, **page_name)
def test_marked_commands_work_as_they_stand(page, prepared_data, tmp_path):
    # Everything of the repository is there, but what a command writes lands in a folder of its own.
    for entry in ROOT.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(RUN.findall(page.read_text()))],
        cwd=tmp_path,
        env=shell_environment(DATA_DIR=str(prepared_data)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, **page_name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"[a-z]+://", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "index.md").read_text()
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert listed == {page.name for page in PAGES[1:]} - {"index.md"}


@pytest.mark.parametrize("page", PAGES, **page_name)
def test_commands_and_files_that_pages_name_exist(page):
    text = page.read_text()
    commands = set(re.findall(r"manage\.py (\w+)", text)) - {"help"}
    assert commands <= set(get_commands()) | {"version"}
    for name in re.findall(r"`((?:docs|scripts|studies|admission|rlvram_site)/[\w/.-]+)`", text):
        assert (ROOT / name).exists(), f"{page.name} names {name}"
