"""Fields and parameters that only tracked issues have."""

from __future__ import annotations

import datetime as dt
from typing import Any

import django_filters as filters
from django import forms
from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from admission.models.base import key_validator
from admission.services.standing import until
from rlvram_site.as_of import AsOfError, parse_as_of

AS_OF = OpenApiParameter(
    "as_of",
    str,
    description="Only what was stated by then, in the words of then: a day such as 2026-09-17, which means "
    "its end in UTC, or a time such as 2026-09-17T14:30:00Z",
)


class MomentField(forms.CharField):
    """A day or a time, read as ``rlvram_site.as_of`` reads it."""

    default_validators = []

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validators = []

    def clean(self, value: Any) -> dt.datetime | None:
        try:
            return parse_as_of(value)
        except AsOfError as error:
            raise DjangoValidationError(str(error)) from None


@extend_schema_field(OpenApiTypes.STR)
class AsOfFilter(filters.Filter):
    """What was stated by a moment."""

    field_class = MomentField

    def filter(self, qs: Any, value: dt.datetime | None) -> Any:
        return until(qs, value)


def as_of(request: Request) -> dt.datetime | None:
    """The ``as_of`` of the address. Raises ``ValidationError`` for what is neither a day nor a time."""
    try:
        return parse_as_of(request.query_params.get("as_of", ""))
    except AsOfError as error:
        raise ValidationError({"as_of": [str(error)]}) from error


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
