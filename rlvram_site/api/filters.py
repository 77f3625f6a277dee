"""Filters that every table of the API shares. A value that is not understood is an error, never ignored."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import BooleanField
from django_filters.rest_framework import DjangoFilterBackend
from django_filters.widgets import BooleanWidget
from rest_framework import exceptions


class FlagField(forms.NullBooleanField):
    """true, false or nothing; anything else is an error instead of nothing."""

    def clean(self, value: Any) -> bool | None:
        flag = super().clean(value)
        if flag is None and value not in (None, ""):
            raise ValidationError("expected true or false")
        return flag


class FlagWidget(BooleanWidget):
    """Hands what it does not know to the field, which refuses it."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        sent = data.get(name)
        return {"true": True, "false": False}.get(str(sent).lower(), sent)


class FlagFilter(filters.BooleanFilter):
    """A flag whose misspelling is an error."""

    field_class = FlagField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "widget": FlagWidget})


class RecordFilterSet(filters.FilterSet):
    """A filter set whose flags are `FlagFilter`s."""

    FILTER_DEFAULTS = {**filters.FilterSet.FILTER_DEFAULTS, BooleanField: {"filter_class": FlagFilter}}


class FilterBackend(DjangoFilterBackend):
    """The package's own formats each message as a template, which fails where a person's text has a ``%``."""

    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        if not filterset.is_valid():
            found = filterset.errors.as_data()
            raise exceptions.ValidationError(
                {
                    name: [text for error in errors for text in error.messages]
                    for name, errors in found.items()
                }
            )
        return filterset.qs
