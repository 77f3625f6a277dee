"""The bundled issue, and callers who may read, post witnesses, or state what holds."""

from __future__ import annotations

import pytest
from django.core.cache import caches

from tests.api.conftest import Api, key_for

ISSUE = "admission/issues/OpenPipe/ART/848/"
TABLES = (
    "status-updates", "corrections", "thread", "versions", "gaps", "events", "changes", "heads", "reviews",
    "receipts", "witnesses", "measurements", "replays", "open-questions", "question-mentions",
    "related-issues", "proposals",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _fresh_rates():
    """Keys of one test have the numbers of another's; their requests must not be counted together."""
    caches["rates"].clear()


@pytest.fixture
def reader(art_848) -> Api:
    return key_for("read")


@pytest.fixture
def ci(art_848) -> Api:
    return key_for("read", "witnesses")


@pytest.fixture
def staff(art_848) -> Api:
    return key_for("read", "status")


def rows(api: Api, table: str, query: str = "") -> list[dict]:
    """All rows of one table of the bundled issue."""
    answer = api.get(f"{ISSUE}{table}/?page_size=1000{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]
