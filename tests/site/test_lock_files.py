"""The lock files hold what pyproject.toml asks for, pinned and with hashes."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SITE = (
    PROJECT["project"]["dependencies"]
    + PROJECT["project"]["optional-dependencies"]["host"]
    + PROJECT["dependency-groups"]["build"]
)
ASKED = {"requirements.lock": SITE, "requirements-dev.lock": SITE + PROJECT["dependency-groups"]["dev"]}


def pinned(lock: str) -> list[Requirement]:
    text = (ROOT / lock).read_text()
    return [Requirement(line) for line in re.findall(r"^(\S.*==.*) \\$", text, re.MULTILINE)]


def pins(lock: str) -> dict[str, str]:
    """Of this Python: the lock files hold the other versions' pins as well, each with its marker."""
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for one in pinned(lock)
        if not one.marker or one.marker.evaluate()
    }


@pytest.mark.parametrize(
    ("lock", "asked"), [(lock, asked) for lock, all_asked in ASKED.items() for asked in all_asked]
)
def test_what_the_project_asks_for_is_pinned(lock, asked):
    requirement = Requirement(asked)
    version = pins(lock).get(canonicalize_name(requirement.name))
    assert version, f"{requirement.name} is not in {lock}: make the lock files again (docs/install.md)"
    assert requirement.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("lock", ASKED)
def test_every_pin_has_hashes_and_nothing_else_stands_in_the_file(lock):
    pin = r"\S[^\n]*==\S+(?: ; [^\n]+?)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"({pin})+", (ROOT / lock).read_text())


def test_the_tests_use_the_versions_that_the_site_uses():
    tests = pins("requirements-dev.lock")
    assert {name: tests.get(name) for name in pins("requirements.lock")} == pins("requirements.lock")


def test_extras_that_packages_ask_of_each_other_are_pinned_with_their_extras():
    """pip looks at `name[extra]` apart from `name`: without a pin of its own, the newest release is looked at
    first, and an installation that worked yesterday fails on the day of that release."""
    extras = {canonicalize_name(one.name): set(one.extras) for one in pinned("requirements-dev.lock")}
    missing = []
    for distribution in importlib.metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name not in extras:
            continue
        for text in distribution.requires or ():
            asked = Requirement(text)
            wanted = not asked.marker or any(
                asked.marker.evaluate({"extra": extra}) for extra in extras[name] | {""}
            )
            of = canonicalize_name(asked.name)
            if wanted and of in extras and not asked.extras <= extras[of]:
                missing.append(f"{name} asks for {asked.name}{sorted(asked.extras)}")
    assert missing == []


def test_the_list_of_licences_and_the_bill_of_materials_are_of_the_lock_file():
    """Made anew by ``python scripts/inventory.py``."""
    text = (ROOT / "docs" / "licences.md").read_text()
    listed = dict(re.findall(r"^\| ([\w-]+) \| (\d\S*) \|", text, re.MULTILINE))
    every = {canonicalize_name(one.name) for one in pinned("requirements.lock")}
    assert set(listed) == every
    here = pins("requirements.lock")
    assert {name: listed[name] for name in here} == here or sys.version_info[:2] != (3, 11)
    components = json.loads((ROOT / "docs" / "sbom.cdx.json").read_text())["components"]
    every_pin = [(one.name, str(one.specifier).removeprefix("==")) for one in pinned("requirements.lock")]
    assert {(canonicalize_name(one["name"]), one["version"]) for one in components} == {
        (canonicalize_name(name), version) for name, version in every_pin
    }
