"""Fixtures of the estimation tests."""

import pytest

from tests.estimation.facts import Facts, published_facts


@pytest.fixture(scope="session")
def archive() -> Facts:
    """The published facts."""
    return published_facts()
