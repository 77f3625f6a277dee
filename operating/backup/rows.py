"""The database as rows that belong to no engine: how a site moves from SQLite to PostgreSQL, or back.

A gzip file of JSON lines: per table its name and columns, then a list of values per row, and at the end the
number of rows. Rows are read into the tables as they were at the backup's migrations, then migrated.
"""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DataError, IntegrityError

from operating.backup.folder import BackupError, Manifest

LEFT_OUT = ("sessions", "axes", "search")
"""Apps whose rows stay behind: who is logged in, who typed a wrong password lately, and what is made anew."""

BATCH = 500


def write(path: Path, alias: str) -> None:
    """Write every row that ``alias`` sees into a new file."""
    with gzip.open(path, "xt", encoding="utf-8", compresslevel=6) as file:
        number = 0
        for model in _tables(apps):
            fields = model._meta.concrete_fields
            _line(file, {"table": model._meta.label_lower, "columns": [field.attname for field in fields]})
            rows: models.QuerySet = models.QuerySet(model, using=alias).order_by("pk")
            for row in rows.values_list(*(field.attname for field in fields)).iterator(2000):
                _line(file, [_plain(value) for value in row])
                number += 1
        _line(file, {"rows": number})


def read(path: Path, manifest: Manifest) -> None:
    """Fill an empty database: the tables as they were then, and all rows in one transaction.

    ``migrate`` has to follow. Raises ``BackupError`` if this version doesn't know the backup's migrations, or
    a row is not as its table expects; no row is kept then.
    """
    executor = MigrationExecutor(connection)
    state = executor.migrate(_ends(executor, manifest))
    known = {model._meta.label_lower: model for model in _tables(state.apps)}
    try:
        with transaction.atomic():
            _empty(known.values())
            for table, columns, rows in _sections(path):
                if table not in known:
                    raise BackupError(f"{path}: there was no table {table!r} at the backup's migrations")
                _insert(known[table], columns, rows, path)
    except (IntegrityError, DataError, ValueError) as error:
        raise BackupError(f"{path}: {error}") from error
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(known.values())):
            cursor.execute(statement)


def _tables(registry: Any) -> list[type[models.Model]]:
    return sorted(
        (
            model
            for model in registry.get_models(include_auto_created=True)
            if model._meta.managed and not model._meta.proxy and model._meta.app_label not in LEFT_OUT
        ),
        key=lambda model: model._meta.label_lower,
    )


def _line(file: Any, value: Any) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    return value


def _ends(executor: MigrationExecutor, manifest: Manifest) -> list[tuple[str, str]]:
    """The last applied migrations of each app: what to migrate to."""
    nodes, ends = executor.loader.graph.nodes, []
    for app, names in manifest.migrations.items():
        unknown = [name for name in names if (app, name) not in nodes]
        if unknown:
            raise BackupError(
                f"the backup was made by version {manifest.versions.get('site', '?')} with the migration "
                f"{app}.{unknown[0]}, which this version doesn't know; use that one or a newer one"
            )
        before = {
            parent.key[1]
            for name in names
            for parent in executor.loader.graph.node_map[app, name].parents
            if parent.key[0] == app
        }
        ends += [(app, name) for name in names if name not in before]
    return ends


def _empty(tables: Iterable[type[models.Model]]) -> None:
    """Take out what migrations put in: it comes again with the rows."""
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for model in tables:
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')  # noqa: S608 - names of our own tables


def _sections(path: Path) -> Iterator[tuple[str, list[str], Iterator[list[Any]]]]:
    """Each table of the file with its columns and rows; checks at the end that all lines were there."""
    count, ended = 0, False
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = (json.loads(line) for line in file)
        header = next(lines, None)

        def rows() -> Iterator[list[Any]]:
            nonlocal header, count
            header = None
            for line in lines:
                if isinstance(line, dict):
                    header = line
                    return
                count += 1
                yield line

        while header is not None and "table" in header:
            section = rows()
            yield header["table"], header["columns"], section
            for _ in section:
                pass
        ended = header == {"rows": count}
    if not ended:
        raise BackupError(f"{path}: it ends after {count} rows, expected a last line with their number")


def _insert(model: type[models.Model], columns: list[str], rows: Iterator[list[Any]], path: Path) -> None:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    if set(columns) != set(by_name):
        odd = sorted(set(columns) ^ set(by_name))
        raise BackupError(f"{path}: {model._meta.label_lower} has other columns: {', '.join(odd)}")
    fields = [by_name[column] for column in columns]
    for field in fields:  # a moment is the recorded one, not that of the reading
        for stamp in ("auto_now", "auto_now_add"):
            if hasattr(field, stamp):
                setattr(field, stamp, False)
    plain: models.QuerySet = models.QuerySet(model)
    batch: list[models.Model] = []
    for row in rows:
        values = zip(fields, row, strict=True)
        batch.append(model(**{field.attname: _value(field, value) for field, value in values}))
        if len(batch) == BATCH:
            plain.bulk_create(batch)
            batch = []
    plain.bulk_create(batch)


def _value(field: models.Field, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(field, models.DurationField):
        return dt.timedelta(seconds=value)
    if isinstance(field, models.JSONField):
        return value
    return field.to_python(value)
