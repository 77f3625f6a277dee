"""The estimator's conformance table: published figures, ours, and what can't be expressed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from admission.estimator import conformance_table
from admission.estimator.conformance import Conformance, Inexpressible, Row
from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import CsvRenderer, JsonErrors
from rlvram_site.csv_download import csv_response

COLUMNS = ("id", "source", "url", "test", "policy", "what", "says", "model", "inputs", "theirs", "ours",
           "equal", "reason")  # fmt: skip


class ConformanceTable(JsonErrors):
    """Every published figure beside ours, and the tests that this model can't express with the reason.

    As CSV it is one table; ``equal`` is empty where there is nothing to compare.
    """

    serializer_class = Serializer
    renderer_classes = [JSONRenderer, CsvRenderer]

    def required_scope(self, request: Request) -> Scope:
        return Scope.READ

    @extend_schema(
        parameters=[OpenApiParameter("policy", description="Only figures of this policy", type=str)],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> HttpResponseBase:
        table = conformance_table()
        for name in request.query_params:
            if name not in ("policy", "format"):
                raise ValidationError({name[:60]: "is no parameter of this table, expected policy, format"})
        policy = request.query_params.get("policy", "")
        if policy and policy not in table.policies:
            raise ValidationError({"policy": f"is unknown here, expected one of {', '.join(table.policies)}"})
        rows = [row_values(row) for row in table.chosen(policy)]
        if request.accepted_renderer.format == "csv":
            return csv_response("conformance", COLUMNS, csv_rows(table, rows))
        others = [inexpressible_values(item) for item in table.inexpressible]
        return Response({"sentence": table.sentence, "rows": rows, "inexpressible": others})


def row_values(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "source": row.source.label,
        "url": row.source.url,
        "test": row.where,
        "policy": row.policy,
        "what": row.kind,
        "says": row.says,
        "model": row.model,
        "inputs": row.inputs,
        "theirs": row.figure,
        "ours": row.ours,
        "equal": row.equal,
    }


def inexpressible_values(item: Inexpressible) -> dict[str, Any]:
    return {
        "source": item.source.label,
        "url": item.source.url,
        "test": item.where,
        "theirs": item.figure,
        "reason": item.reason,
    }


def csv_rows(table: Conformance, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
    for values in (*rows, *(inexpressible_values(item) for item in table.inexpressible)):
        cells = {**values, "inputs": json.dumps(values["inputs"])} if "inputs" in values else values
        yield [cells.get(name) for name in COLUMNS]
