"""Roles of PostgreSQL: one owns the tables and migrates, the site's own reads, appends, and can do no more.

A trigger refuses a change; whoever owns the table can drop the trigger. So the site runs as somebody who owns
nothing. On SQLite there are no roles: whoever writes the file can do everything to it.
"""

from __future__ import annotations

from django.db import connections, transaction
from psycopg import sql

from rlvram_site.ledger.triggers import protected_tables

_MIGRATIONS = "django_migrations"


def grant_site_role(role: str, password: str = "", using: str = "default") -> None:
    """Make ``role``, or bring it down to what the site needs, in the database and schema of ``using``.

    Safe to run again, and needed after each migration that adds a table. An empty password leaves the present
    one. Raises ``ValueError`` for the role that is connected: it would take away its own rights.
    """
    connection = connections[using]
    with transaction.atomic(using), connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database(), current_schema()")
        own, database, schema = cursor.fetchone()
        if role == own:
            raise ValueError(f"{role} owns the tables; the site's role must be another one")
        name = sql.Identifier(role)
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE ROLE {}").format(name))
        rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        cursor.execute(sql.SQL(f"ALTER ROLE {{}} WITH {rights}").format(name))
        if password:
            cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(password)))
        place = sql.Identifier(schema)
        for statement in (
            sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(database), name),
            sql.SQL("REVOKE CREATE ON SCHEMA {} FROM PUBLIC").format(place),
            sql.SQL("REVOKE ALL ON SCHEMA {} FROM {}").format(place, name),
            sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, name),
            sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(place, name),
            sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(place, name),
            sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}").format(place, name),
        ):
            cursor.execute(statement)
        protected = set(protected_tables())
        for table in connection.introspection.table_names(cursor):
            if table == _MIGRATIONS:
                continue
            more = "INSERT" if table in protected else "INSERT, UPDATE, DELETE"
            cursor.execute(sql.SQL(f"GRANT {more} ON {{}} TO {{}}").format(sql.Identifier(table), name))


def ways_around(using: str = "default") -> list[str]:
    """How the role that the site runs as could take the guard away, one sentence each; empty if it can't."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        )
        role, superuser, creates = cursor.fetchone()
        found = [f"{role} is a superuser"] if superuser else []
        if creates and not superuser:
            found.append(f"{role} may make roles")
        cursor.execute(
            "SELECT count(*) FILTER (WHERE pg_has_role(relowner, 'MEMBER')), "
            "count(*) FILTER (WHERE has_table_privilege(oid, 'UPDATE, DELETE, TRUNCATE')) "
            "FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace "
            "AND relname = ANY(%s)",
            [protected_tables()],
        )
        owned, changeable = cursor.fetchone()
    if owned and not superuser:
        found.append(f"{role} owns {owned} recorded tables, so it could drop their triggers")
    elif changeable and not superuser:
        found.append(f"{role} has the right to change {changeable} recorded tables")
    return found
