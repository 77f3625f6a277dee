"""No page looks through a whole table of records: whatever it asks, the database has an index for it."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from django.db import connection

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Attempt, CellProjection, Prediction, SeedSlot, SlotProjection, Study
from studies.services.history import long
from studies.services.scores import panel_groups

pytestmark = pytest.mark.usefixtures("sample_studies")
LARGE = [
    model._meta.db_table
    for model in (Attempt, SeedSlot, Prediction, CellProjection, SlotProjection, LedgerEntry)
]
PAGES = ("", "unscored/", "pairs/", "costs/", "outcomes/", "configurations/", "history/", "methods/")


@contextmanager
def asked():
    """The queries that were asked, with their values."""
    found: list[tuple[str, object]] = []

    def keep(execute, sql, params, many, context):
        found.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        yield found


def scanned(sql: str, params: object) -> list[str]:
    """The large tables that the database would read from end to end for it, if it has any other way."""
    postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if postgresql:  # a small table is read whole for good reasons
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {'' if postgresql else 'QUERY PLAN '}{sql}", params)
        lines = [str(row[-1]) for row in cursor.fetchall()]
    begin = "Seq Scan on " if postgresql else "SCAN "
    whole = [line.split(begin)[1] for line in lines if begin in line and " USING " not in line]
    return [table for line in whole if (table := line.split()[0].strip('"')) in LARGE]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_large_study_scans_no_large_table(client, page, monkeypatch):
    monkeypatch.setattr(panel_groups, "MOST_CELLS", 10)
    monkeypatch.setattr(long, "MOST_ITEMS", 10)
    study = Study.objects.get(slug="estimation")
    with asked() as queries:
        assert client.get(f"/studies/{study.slug}/{page}").status_code == 200
    read = [item for item in queries if item[0].lstrip().startswith("SELECT")]
    assert read
    found = [(tables, sql) for sql, params in read if (tables := scanned(sql, params))]
    assert found == []
