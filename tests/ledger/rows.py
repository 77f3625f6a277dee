"""One row of any recorded table, whatever its columns are."""

from __future__ import annotations

import datetime as dt
import itertools

from django.db import IntegrityError, models, transaction

from rlvram_site.ledger.models import AppendOnlyModel


def insert_any(model: type[AppendOnlyModel]) -> models.Model:
    """Insert a row of ``model`` straight into its table, past the ledger; its relations point at nothing.

    Nullable relations stay empty unless a constraint of the table wants one of them.
    """
    optional = [f.attname for f in model._meta.concrete_fields if f.is_relation and f.null]
    for given in itertools.chain([()], ((name,) for name in optional)):
        row = model(**_values(model), **dict.fromkeys(given, 1))
        try:
            with transaction.atomic():
                return models.QuerySet(model).bulk_create([row])[0]
        except IntegrityError as error:
            refused = error
    raise refused


def _values(model: type[AppendOnlyModel]) -> dict[str, object]:
    return {
        field.attname: _value(field)
        for field in model._meta.concrete_fields
        if not field.primary_key and not field.null
    }


def _value(field: models.Field) -> object:
    if field.choices:
        return field.flatchoices[0][0]
    if isinstance(field, models.JSONField):
        return {}
    if isinstance(field, models.DateTimeField):
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    if isinstance(field, models.DateField):
        return dt.date(2026, 1, 1)
    if isinstance(field, models.CharField | models.TextField):
        return "x"
    return 1
