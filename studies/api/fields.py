"""Fields that take nothing which could not be recorded or would be recorded as something else."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import Direction, extend_schema_field
from rest_framework import serializers

from rlvram_site.ledger.canonical import canonical
from rlvram_site.strict_json import JsonError, read_json, too_deep
from studies.models.base import name_validator, sha256_validator

_EARLIEST, _LATEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


class StrictSerializer(serializers.Serializer):
    """Refuses fields that it does not know, instead of dropping them silently."""

    _sent: Mapping[str, Any] = {}

    @property
    def _writable_fields(self) -> list[serializers.Field]:
        # A record uses few of its fields; asking each absent one costs most of the time.
        return [
            field
            for name, field in self.fields.items()
            if not field.read_only
            and (name in self._sent or field.required or field.default is not serializers.empty)
        ]

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            self._sent = data
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                known = ", ".join(self.fields)
                raise serializers.ValidationError(
                    {name[:60]: [f"is no field here, expected only {known}"] for name in unknown}
                )
        return super().to_internal_value(data)


class StrictSerializerSchema(OpenApiSerializerExtension):
    """Says in the API's document what a strict serializer refuses: other fields, too short or long lists."""

    target_class = StrictSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        schema["additionalProperties"] = False
        for name, field in self.target.fields.items():
            many = schema.get("properties", {}).get(name)
            if isinstance(field, serializers.ListSerializer) and many is not None:
                if (most := getattr(field, "max_length", None)) is not None:
                    many["maxItems"] = most
                if not field.allow_empty:
                    many["minItems"] = 1
        return schema


class NameField(serializers.CharField):
    """An identifier that can stand in an address."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 200)
        super().__init__(validators=[name_validator], **kwargs)


class FileNameField(serializers.CharField):
    """A file's own name, without a folder."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_length=200,
            validators=[
                RegexValidator(
                    r"^[A-Za-z0-9][A-Za-z0-9._@+-]*\Z",
                    "expected a plain file name of letters, digits and . _ @ + - without a folder",
                )
            ],
            **kwargs,
        )


class RepositoryField(serializers.CharField):
    """Where commits can be looked at: ``https://HOST/OWNER/NAME``, without a name or password."""

    def __init__(self, **kwargs: Any) -> None:
        pattern = r"^https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)+\Z"
        expected = "expected https://HOST/OWNER/NAME without a name or password"
        super().__init__(max_length=300, validators=[RegexValidator(pattern, expected)], **kwargs)

    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data).rstrip("/").removesuffix(".git")


class Sha256(serializers.CharField):
    """64 lower-case hexadecimal digits."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validators=[sha256_validator], min_length=64, max_length=64, **kwargs)


class TextField(serializers.CharField):
    """A text kept exactly as it was sent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **kwargs)


class NumberField(serializers.FloatField):
    """A finite number."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            value = super().to_internal_value(data)
        except OverflowError:
            self.fail("invalid")
        if not math.isfinite(value):
            raise serializers.ValidationError("expected a finite number")
        return value


@extend_schema_field(OpenApiTypes.DATETIME)
class MomentField(serializers.DateTimeField):
    """A time with its zone, from 2000 to 2100."""

    def enforce_timezone(self, value: dt.datetime) -> dt.datetime:
        if value.tzinfo is None:
            raise serializers.ValidationError(
                "expected a time with its zone, for example 2026-09-15T12:00:00Z"
            )
        try:
            moment = value.astimezone(dt.UTC)
        except (OverflowError, ValueError) as error:
            raise serializers.ValidationError("expected a time from 2000 to 2100") from error
        if not _EARLIEST <= moment <= _LATEST:
            raise serializers.ValidationError("expected a time from 2000 to 2100")
        return moment


@extend_schema_field({"type": "object", "additionalProperties": {}})
class ObjectField(serializers.Field):
    """A JSON object of at most ``max_bytes`` and eight levels, with values that the ledger can record."""

    def __init__(self, *, max_bytes: int = 65_536, **kwargs: Any) -> None:
        self.max_bytes = max_bytes
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, str):  # a form field
            try:
                data = read_json(data)
            except JsonError as error:
                raise serializers.ValidationError(f"expected a JSON object: {error}") from error
        if not isinstance(data, dict):
            raise serializers.ValidationError("expected a JSON object")
        if too_deep(data, 8):
            raise serializers.ValidationError("expected at most 8 levels of nesting")
        try:
            value = canonical(data)
            size = len(json.dumps(value))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error
        if size > self.max_bytes:
            raise serializers.ValidationError(f"has {size} bytes, expected at most {self.max_bytes}")
        return value

    def to_representation(self, value: Any) -> Any:
        return value
