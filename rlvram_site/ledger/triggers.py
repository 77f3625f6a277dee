"""Database triggers that refuse UPDATE, DELETE and (on PostgreSQL) TRUNCATE on recorded tables."""

from __future__ import annotations

from django.apps import apps
from django.db import connections, transaction

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
    with transaction.atomic(using), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_PG_FUNCTION)
        for table in protected_tables():
            if table not in existing:
                continue
            if connection.vendor == "postgresql":
                statements = _postgresql(table)
            else:
                statements = _sqlite(table, _unique_keys(cursor, table))
            for statement in statements:
                cursor.execute(statement)


def missing(using: str = "default") -> list[str]:
    """What is wrong with the triggers, one sentence each; empty while every one is there in its exact form.

    A chain shows that nothing was changed so far; only the triggers refuse the next change.
    """
    connection = connections[using]
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        tables = [table for table in protected_tables() if table in existing]
        found = _postgresql_state(cursor) if connection.vendor == "postgresql" else _sqlite_state(cursor)
        problems = []
        for table in tables:
            if connection.vendor == "postgresql":
                wanted: dict[str, object] = dict(zip(_names("postgresql", table), _PG_FORMS, strict=True))
                wanted = {f"{table}.{name}": form for name, form in wanted.items()}
            else:
                made = _sqlite(table, _unique_keys(cursor, table))[-3:]
                wanted = dict(zip(_names("sqlite", table), made, strict=True))
            for name, form in wanted.items():
                if name not in found:
                    problems.append(f"{table}: the trigger {name} is not there")
                elif found[name] != form:
                    problems.append(f"{table}: the trigger {name} is not the one that this version installs")
        if tables and connection.vendor == "postgresql" and not _function_is_ours(cursor):
            problems.append("the function ledger_refuse is not the one that this version installs")
    return problems


def _sqlite_state(cursor) -> dict[str, object]:
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return dict(cursor.fetchall())


# tgtype's bits (row 1, before 2, delete 8, update 16, truncate 32), the function, on, without a condition.
_PG_FORMS = ((27, "ledger_refuse", "O", True), (34, "ledger_refuse", "O", True))


def _postgresql_state(cursor) -> dict[str, object]:
    cursor.execute(
        "SELECT c.relname || '.' || t.tgname, t.tgtype, p.proname::text, t.tgenabled::text, "
        "t.tgqual IS NULL AND t.tgattr::text = '' "
        "FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace"
    )
    return {name: form for name, *rest in cursor.fetchall() if (form := tuple(rest))}


def _function_is_ours(cursor) -> bool:
    cursor.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = 'ledger_refuse' "
        "AND pronamespace = current_schema()::regnamespace"
    )
    return [row[0] for row in cursor.fetchall()] == [_PG_FUNCTION.split("$$")[1]]


def uninstall(using: str = "default") -> None:
    """Remove the triggers, for a test runner that empties its own database; ``install`` brings them back."""
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


def _postgresql(table: str) -> list[str]:
    change, truncate = _names("postgresql", table)
    return [
        f'CREATE OR REPLACE TRIGGER {change} BEFORE UPDATE OR DELETE ON "{table}" '
        "FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
        f'CREATE OR REPLACE TRIGGER {truncate} BEFORE TRUNCATE ON "{table}" '
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()",
    ]


def _sqlite(table: str, keys: list[list[str]]) -> list[str]:
    refused = "refused: recorded rows are never changed or deleted"
    update, delete, replace = _names("sqlite", table)
    # INSERT OR REPLACE removes every row that it collides with, and fires no DELETE trigger for them unless
    # the connection asks for it. So an insert that meets an existing key is refused before it does so.
    collides = " OR ".join(
        "(" + " AND ".join(f'"{column}" = NEW."{column}"' for column in key) + ")" for key in keys
    )
    select = f'SELECT 1 FROM "{table}" WHERE {collides}'  # noqa: S608 - names of our own tables
    return [
        *(f'DROP TRIGGER IF EXISTS "{name}"' for name in (update, delete, replace)),
        f'CREATE TRIGGER "{update}" BEFORE UPDATE ON "{table}" '
        f"BEGIN SELECT RAISE(ABORT, 'UPDATE on {table} {refused}'); END",
        f'CREATE TRIGGER "{delete}" BEFORE DELETE ON "{table}" '
        f"BEGIN SELECT RAISE(ABORT, 'DELETE on {table} {refused}'); END",
        f'CREATE TRIGGER "{replace}" BEFORE INSERT ON "{table}" '
        f"WHEN EXISTS ({select}) "
        f"BEGIN SELECT RAISE(ABORT, 'a second row with the key of an earlier one on {table} {refused}'); END",
    ]


def _unique_keys(cursor, table: str) -> list[list[str]]:
    """Columns of the primary key and of each full unique index of an SQLite table."""
    cursor.execute(f'PRAGMA table_info("{table}")')
    keys = [[row[1] for row in cursor.fetchall() if row[5]]]
    cursor.execute(f'PRAGMA index_list("{table}")')
    indexes = [row[1] for row in cursor.fetchall() if row[2] and not row[4]]
    for index in indexes:
        cursor.execute(f'PRAGMA index_info("{index}")')
        columns = [row[2] for row in cursor.fetchall()]
        if None not in columns:  # an index on an expression has no column to compare
            keys.append(columns)
    return keys
