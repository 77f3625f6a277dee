"""Eight processes write to the same streams at once: no gap, no fork, nothing lost."""

from __future__ import annotations

from django.core.management import call_command

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Event
from tests.factories import make_study
from tests.processes import start_python

WRITERS, EACH = 8, 15


def test_eight_writers_keep_both_chains_whole(transactional_db):
    studies = [make_study(slug="first"), make_study(slug="second")]
    writers = [
        start_python("-m", "tests.ledger.writer", str(number), str(EACH), "first", "second")
        for number in range(WRITERS)
    ]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS, errors
    for study in studies:
        links = LedgerEntry.objects.filter(stream__name=study.stream).order_by("sequence")
        assert [link.sequence for link in links] == list(range(1, 2 + WRITERS * EACH))
        assert Event.objects.filter(study=study).count() == WRITERS * EACH
        assert {link.actor for link in links[1:]} == {f"writer {number}" for number in range(WRITERS)}
    call_command("verify_ledger")
