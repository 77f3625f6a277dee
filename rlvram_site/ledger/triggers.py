"""Database triggers that refuse UPDATE, DELETE and (on PostgreSQL) TRUNCATE on recorded tables."""

from __future__ import annotations

from django.apps import apps
from django.db import connections

from rlvram_site.ledger.models import AppendOnlyModel

_PG_FUNCTION = """
CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % refused: recorded rows are never changed or deleted', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $$
"""


def protected_tables() -> list[str]:
    """Tables of every append-only model."""
    return sorted(m._meta.db_table for m in apps.get_models() if issubclass(m, AppendOnlyModel))


def install(sender=None, using: str = "default", **kwargs) -> None:
    """(Re)create the triggers on every recorded table that exists. Safe to run again."""
    connection = connections[using]
    existing = set(connection.introspection.table_names())
    tables = [table for table in protected_tables() if table in existing]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_PG_FUNCTION)
        for table in tables:
            for statement in _statements(connection.vendor, table):
                cursor.execute(statement)


def uninstall(using: str = "default") -> None:
    """Remove the triggers, for a test runner that has to empty its own database. ``install`` brings them back."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for table in protected_tables():
            for name in _names(connection.vendor, table):
                on = f' ON "{table}"' if connection.vendor == "postgresql" else ""
                cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on}')


def _names(vendor: str, table: str) -> list[str]:
    if vendor == "postgresql":
        return ["ledger_no_change", "ledger_no_truncate"]
    return [f"{table}_no_{what}" for what in ("update", "delete", "replace")]


def _statements(vendor: str, table: str) -> list[str]:
    if vendor == "postgresql":
        return [
            f'CREATE OR REPLACE TRIGGER ledger_no_change BEFORE UPDATE OR DELETE ON "{table}" '
            "FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
            f'CREATE OR REPLACE TRIGGER ledger_no_truncate BEFORE TRUNCATE ON "{table}" '
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()",
        ]
    refused = "refused: recorded rows are never changed or deleted"
    statements = [
        f'CREATE TRIGGER IF NOT EXISTS "{table}_no_{action.lower()}" BEFORE {action} ON "{table}" '
        f"BEGIN SELECT RAISE(ABORT, '{action} on {table} {refused}'); END"
        for action in ("UPDATE", "DELETE")
    ]
    # INSERT OR REPLACE removes the old row without firing its DELETE trigger.
    statements.append(
        f'CREATE TRIGGER IF NOT EXISTS "{table}_no_replace" BEFORE INSERT ON "{table}" '
        f'WHEN EXISTS (SELECT 1 FROM "{table}" WHERE id = NEW.id) '
        f"BEGIN SELECT RAISE(ABORT, 'REPLACE on {table} {refused}'); END"
    )
    return statements
