"""What the clock does: it reads what is due, and tells what changed."""

from __future__ import annotations

import pytest

from admission.models import TrackedIssue
from admission.sync import following
from admission.tasks import schedule_sync, sync_due
from notices.tasks import tell
from rlvram_site.celery import app
from tests.admission_sync.forge import refuses

pytestmark = pytest.mark.django_db


def test_the_clock_reads_what_is_due(forge):
    following.follow(following.address_here("octo/cat#7"))
    sync_due()
    assert TrackedIssue.objects.count() == 1
    forge.requests.clear()
    sync_due()
    assert forge.requests == []


def test_a_forge_in_trouble_does_not_stop_the_clock(forge):
    forge.trouble("/issues/7", refuses(500), times=3)
    following.follow(following.address_here("octo/cat#7"))
    sync_due()
    tell()


def test_the_clock_knows_both_tasks():
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks


def test_a_broker_that_is_away_is_no_error(monkeypatch):
    def away(*args, **kwargs):
        raise ConnectionRefusedError

    monkeypatch.setattr(app, "send_task", away)
    schedule_sync()
