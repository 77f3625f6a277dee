"""What an import recorded cannot be changed or deleted, in Python or with SQL."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from rlvram_site.ledger.models import AppendOnlyError
from studies.archive.records import KINDS
from studies.models import Attempt, Prediction

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "exclusion"])
def test_raw_sql_cannot_change_or_delete_a_row(sample_studies, kind):
    model = KINDS[kind]
    table, count = model._meta.db_table, model.objects.count()
    assert count
    for statement in (f'UPDATE "{table}" SET recorded_at = recorded_at', f'DELETE FROM "{table}"'):
        with (
            pytest.raises(DatabaseError, match="never changed or deleted"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert model.objects.count() == count


def test_neither_can_the_models(sample_studies):
    attempt = Attempt.objects.first()
    attempt.outcome = "completed"
    for attack in (
        attempt.save,
        attempt.delete,
        Attempt.objects.all().delete,
        lambda: Prediction.objects.update(label="within_margin"),
    ):
        with pytest.raises(AppendOnlyError):
            attack()
