"""Fields and parameters that only tracked issues have."""

from __future__ import annotations

import datetime as dt
from typing import Any

import django_filters as filters
from django import forms
from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from admission.dates import FIRST_YEAR, LAST_YEAR
from admission.models.base import key_validator

AS_OF = OpenApiParameter(
    "as_of", dt.date, description="Only what was stated up to the end of this day, such as 2026-09-17"
)


class DayField(forms.DateField):
    """A day such as 2026-09-17."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "input_formats": ["%Y-%m-%d"]})
        self.error_messages["invalid"] = (
            f"expected a day such as 2026-09-17, from {FIRST_YEAR} to {LAST_YEAR}"
        )

    def clean(self, value: Any) -> dt.date | None:
        day = super().clean(value)
        if day is not None and not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise DjangoValidationError(self.error_messages["invalid"])
        return day


class AsOfFilter(filters.DateFilter):
    """What was stated up to the end of a day."""

    field_class = DayField

    def __init__(self) -> None:
        super().__init__(field_name="stated_day", lookup_expr="lte")


def as_of(request: Request) -> dt.date | None:
    """The ``as_of`` of the address. Raises ``ValidationError`` for what is not a day."""
    try:
        return DayField(required=False).clean(request.query_params.get("as_of", ""))
    except DjangoValidationError as error:
        raise ValidationError({"as_of": error.messages}) from error


class KeyField(serializers.CharField):
    """The name of a record within its issue."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validators=[key_validator], max_length=119, **kwargs)


class Pointer(serializers.SlugRelatedField):
    """Another record of the same issue, by its key."""

    default_error_messages = {
        "does_not_exist": "no such record of this issue, expected the {slug_name} of one",
        "invalid": "expected the key of a record",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="key", **kwargs)

    def get_queryset(self) -> Any:
        rows: Any = super().get_queryset()
        issue = self.context.get("issue")
        return rows if issue is None else rows.filter(issue=issue)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)
