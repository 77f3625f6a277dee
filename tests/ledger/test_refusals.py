"""Nothing recorded can be changed or deleted: not in Python, and not with SQL either."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction

from rlvram_site.ledger.models import AppendOnlyError, AppendOnlyModel
from studies.models import Pool, SeedSlot, Study
from tests.factories import make_pool, make_small_study
from tests.ledger.rows import insert_any

RECORDED = sorted(
    (model for model in apps.get_models() if issubclass(model, AppendOnlyModel)),
    key=lambda model: model._meta.label_lower,
)
every_recorded_table = pytest.mark.parametrize("model", RECORDED, ids=lambda model: model._meta.label_lower)

CHANGES = [
    "UPDATE {table} SET id = id",
    "DELETE FROM {table}",
    "INSERT INTO {table} SELECT * FROM {table} WHERE true ON CONFLICT (id) DO UPDATE SET id = excluded.id",
]
if connection.vendor == "sqlite":
    CHANGES.append("INSERT OR REPLACE INTO {table} SELECT * FROM {table}")


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _refused(sql: str) -> None:
    with pytest.raises(IntegrityError, match="refused: recorded rows are never"), transaction.atomic():
        _execute(sql)


def test_there_are_recorded_tables():
    assert {"studies.attempt", "studies.seal", "studies.amendment", "ledger.ledgerentry"} <= {
        model._meta.label_lower for model in RECORDED
    }


@every_recorded_table
def test_raw_sql_cannot_change_a_recorded_table(model, db):
    table = f'"{model._meta.db_table}"'
    if connection.vendor == "postgresql":  # SQLite has no TRUNCATE
        _refused(f"TRUNCATE {table} CASCADE")
    with transaction.atomic():
        row = insert_any(model)
        for statement in CHANGES:
            _refused(statement.format(table=table))
        assert models.QuerySet(model).filter(pk=row.pk).exists()
        transaction.set_rollback(True)  # the row's relations point at nothing


def test_replace_cannot_remove_a_row_through_another_unique_key(db):
    make_small_study(slug="kept")
    if connection.vendor == "sqlite":
        # A new id, but the slug of the old row, which REPLACE would silently remove.
        _refused(
            "INSERT OR REPLACE INTO studies_study (recorded_at, slug, title, question, source_name,"
            " source_authors, source_licence) SELECT recorded_at, slug, 'forged', question, source_name,"
            " source_authors, source_licence FROM studies_study"
        )
    else:
        _refused(
            "INSERT INTO studies_study (recorded_at, slug, title, question, source_name, source_authors,"
            " source_licence) SELECT recorded_at, slug, 'forged', question, source_name, source_authors,"
            " source_licence FROM studies_study ON CONFLICT (slug) DO UPDATE SET title = 'forged'"
        )
    assert list(Study.objects.values_list("slug", "title")) == [("kept", "Study")]


@every_recorded_table
def test_queries_cannot_change_a_recorded_table(model):
    rows = model._default_manager.all()
    with pytest.raises(AppendOnlyError, match="never changed or deleted"):
        rows.update(pk=1)
    with pytest.raises(AppendOnlyError, match="never changed or deleted"):
        rows.delete()
    with pytest.raises(AppendOnlyError, match="never changed or deleted"):
        rows.bulk_update([], ["pk"])
    with pytest.raises(AppendOnlyError, match="also extends the chain"):
        rows.bulk_create([])


@every_recorded_table
def test_a_read_row_can_be_neither_saved_nor_deleted(model, db):
    with transaction.atomic():
        row = models.QuerySet(model).get(pk=insert_any(model).pk)
        with pytest.raises(AppendOnlyError):
            row.save()
        with pytest.raises(AppendOnlyError):
            row.delete()
        transaction.set_rollback(True)


@every_recorded_table
def test_no_field_changes_its_value_while_it_is_written(model):
    # A digest is taken before the insert; a field that fills itself in then would not be covered.
    assert not [f.name for f in model._meta.concrete_fields if getattr(f, "auto_now", False)]
    assert not [f.name for f in model._meta.concrete_fields if getattr(f, "auto_now_add", False)]


def test_a_row_with_an_old_key_does_not_overwrite(db):
    pool = make_pool(title="first")
    with pytest.raises(IntegrityError), transaction.atomic():
        Pool(pk=pool.pk, slug="other", title="second").save()
    assert Pool.objects.get().title == "first"


def test_get_or_create_finds_and_update_or_create_refuses(db):
    pool = make_pool(slug="panel", title="first")
    assert Pool.objects.get_or_create(slug="panel", defaults={"title": "second"}) == (pool, False)
    with pytest.raises(AppendOnlyError):
        Pool.objects.update_or_create(slug="panel", defaults={"title": "second"})


def test_a_study_with_slots_cannot_lose_them_through_a_relation(db):
    study = make_small_study()
    with pytest.raises(AppendOnlyError):
        study.seedslots.all().delete()
    assert SeedSlot.objects.count() == 6
