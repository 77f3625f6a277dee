"""Worlds of the admission tests."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from tests.databases import ISSUE

RECORD = ISSUE


def run(command: str, *arguments: str) -> list[str]:
    """A management command's output, line by line."""
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue().splitlines()


def refusal(command: str, *arguments: str) -> str:
    """The error with which a command refuses; it must be a sentence for people."""
    with pytest.raises(CommandError) as caught:
        call_command(command, *arguments, stdout=StringIO())
    return str(caught.value)


@pytest.fixture
def staff_client(client, db):
    """A browser in which somebody of the staff is logged in."""
    user = get_user_model().objects.create_user("sam", password="x", is_staff=True)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def reader_client(client, db):
    """A browser in which somebody without rights is logged in."""
    user = get_user_model().objects.create_user("rita", password="x")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client
