"""What the databases look words up in: indexes over trigrams, each engine's own."""

from django.db import DatabaseError, migrations

NEEDED = (
    "The search needs PostgreSQL's extension pg_trgm (Debian: in the package of the server), and the role that "
    "migrates needs the right to add it. Whoever owns the database can do it once: CREATE EXTENSION pg_trgm"
)
SQLITE = (
    # The words stay in the table; the index holds trigrams alone.
    "CREATE VIRTUAL TABLE search_text USING fts5(haystack, content='search_searchdocument', "
    "content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER search_text_insert AFTER INSERT ON search_searchdocument BEGIN "
    "INSERT INTO search_text(rowid, haystack) VALUES (new.id, new.haystack); END",
    "CREATE TRIGGER search_text_delete AFTER DELETE ON search_searchdocument BEGIN "
    "INSERT INTO search_text(search_text, rowid, haystack) VALUES ('delete', old.id, old.haystack); END",
)
POSTGRESQL = (
    "CREATE INDEX search_by_trigrams ON search_searchdocument USING gin (haystack gin_trgm_ops)",
    "CREATE INDEX search_by_beginning ON search_searchdocument (label_key varchar_pattern_ops)",
)


def make(apps, schema_editor) -> None:
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            statements = SQLITE
        else:
            cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
            if cursor.fetchone() is None:
                try:
                    cursor.execute("CREATE EXTENSION pg_trgm")
                except DatabaseError as error:
                    raise RuntimeError(f"{NEEDED}. It said: {error}") from error
            statements = POSTGRESQL
        for statement in statements:
            cursor.execute(statement)


def remove(apps, schema_editor) -> None:
    connection = schema_editor.connection
    statements = (
        ("DROP TRIGGER search_text_insert", "DROP TRIGGER search_text_delete", "DROP TABLE search_text")
        if connection.vendor == "sqlite"
        else ("DROP INDEX search_by_trigrams", "DROP INDEX search_by_beginning")
    )
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("search", "0001_searching")]

    operations = [migrations.RunPython(make, remove)]
