"""``docs/development.md`` sends nobody to a function that is not there."""

from __future__ import annotations

import importlib
import re

import pytest

from studies.models import Study
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "development.md").read_text()
ROWS = re.findall(r"^\| (.+\?) \| `([\w/]+)\.py` \| `(\w+)` \|$", PAGE, re.MULTILINE)


def test_it_answers_at_least_fifteen_questions_each_once():
    questions = [question for question, _, _ in ROWS]
    assert len(questions) >= 15
    assert len(set(questions)) == len(questions)
    # No row slips past the pattern.
    table = PAGE.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == len(ROWS)


@pytest.mark.parametrize(("question", "file", "name"), ROWS, ids=[row[2] for row in ROWS])
def test_each_named_function_stands_in_its_file(question, file, name):
    module = importlib.import_module(file.replace("/", "."))
    found = getattr(module, name)
    assert found.__module__ == module.__name__, f"{question} is answered in {found.__module__}"


def test_the_walk_from_an_upload_to_its_chart_takes_at_most_eight_files():
    walk = PAGE.partition("## From an uploaded attempt to its chart")[2].partition("\n## ")[0]
    files = re.findall(r"^\d\. `([\w/.]+)`", walk, re.MULTILINE)
    assert 0 < len(files) <= 8
    assert all((ROOT / file).is_file() for file in files)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:studies|tests|rlvram_site|host)/[\w/.]+)`", PAGE)))
)
def test_each_named_path_is_there(path):
    assert (ROOT / path).exists()


def test_each_named_test_is_there():
    for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", PAGE):
        assert f"def {name}(" in (ROOT / file).read_text()


@pytest.mark.django_db
def test_the_named_page_is_there(client, sample_studies):
    [path] = re.findall(r"http://127\.0\.0\.1:8001(/\S+/)`", PAGE)
    assert Study.objects.filter(slug=path.split("/")[2]).exists()
    assert client.get(path).status_code == 200
