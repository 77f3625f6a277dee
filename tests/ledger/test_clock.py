"""The server's clock goes back. That is never silent, and loses nothing."""

from __future__ import annotations

import datetime as dt
import logging

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone

from rlvram_site.api.keys import STREAM, issue_key
from rlvram_site.ledger.models import LedgerEntry


@pytest.fixture
def record(db, monkeypatch):
    """Records one more key, on a clock that is so many seconds late."""
    owner = get_user_model().objects.create_user("ada")
    real = timezone.now

    def record(late: float) -> None:
        monkeypatch.setattr(timezone, "now", lambda: real() - dt.timedelta(seconds=late))
        issue_key(name="robot", owner=owner, scopes=["read"])

    return record


def test_a_record_of_an_earlier_time_is_remarked_on_in_log_and_health(record, caplog, client):
    record(0)
    with caplog.at_level(logging.WARNING):
        record(3 * 3600)
    assert f"the clock has gone back: {LedgerEntry.objects.last().recorded_at}" in caplog.text
    assert 3 * 3600 - 60 <= client.get("/health/ledger/").json()["clock_behind_seconds"] <= 3 * 3600


def test_nothing_is_lost_and_the_order_stays(record, capsys):
    for late in (0, 3600, 60):
        record(late)
    call_command("verify_ledger")
    assert f"ok      {STREAM}  3 links" in capsys.readouterr().out


@pytest.mark.parametrize("late", [0, 1])
def test_a_clock_that_goes_on_is_not_remarked_on(record, caplog, client, late):
    record(0)
    with caplog.at_level(logging.WARNING):
        record(late)
    assert "clock" not in caplog.text
    assert "clock_behind_seconds" not in client.get("/health/ledger/").json()
