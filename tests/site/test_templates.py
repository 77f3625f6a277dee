"""Templates are there where they are asked for, and a part of a page is told from a page by its name."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template

TEMPLATES = Path(settings.BASE_DIR) / "templates"
FILES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html"))
TAKEN = {
    name
    for path in FILES
    for name in re.findall(r'{% include "([^"]+)"', (TEMPLATES / path).read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", FILES)
def test_every_template_can_be_read(name):
    get_template(name)


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_what_a_page_takes_in_is_there_and_named_as_a_part(name):
    assert name in FILES
    assert name.rpartition("/")[2].startswith("_")
