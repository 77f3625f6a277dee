"""Reading recorded rows: filters, order, pages by cursor, CSV of the whole table, and conditional reads."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.mixins import ListModelMixin
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.etags import matches, tag_of
from rlvram_site.api.pagination import RecordPagination, ordering_of
from rlvram_site.csv_download import csv_response

CHUNK = 500


class CsvRenderer(BaseRenderer):
    """Stands for CSV in content negotiation; tables stream themselves."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(self, data, accepted_media_type=None, renderer_context=None):
        return data


class JsonErrors(GenericAPIView):
    """An error has one shape, whatever the answer would have been."""

    def handle_exception(self, exc):
        if getattr(self.request, "accepted_renderer", None) is not None:
            self.request.accepted_renderer = JSONRenderer()
            self.request.accepted_media_type = JSONRenderer.media_type
        return super().handle_exception(exc)


class ConditionalView(JsonErrors, ABC):
    """A read whose answer depends on nothing but some streams' records and the address."""

    @abstractmethod
    def etag_streams(self) -> Iterable[str]:
        """Names of the streams that the answer is read from."""

    def conditional(self, request: Request) -> Response | None:
        """304 if the client has it already. Must run before the rows are read, so that no tag is too new."""
        self.tag = tag_of(self.etag_streams(), request.get_full_path(), request.accepted_renderer.format)
        sent = request.headers.get("If-None-Match", "")
        return Response(status=304) if sent and matches(sent, self.tag) else None

    def finalize_response(self, request, response: HttpResponseBase, *args, **kwargs):
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        tag = getattr(self, "tag", "")
        if tag and response.status_code in (200, 304) and request.method in ("GET", "HEAD"):
            response["ETag"] = tag
            response["Cache-Control"] = "private, no-cache"
        return response

    def handle_exception(self, exc):
        self.tag = ""
        return super().handle_exception(exc)


class Table(ListModelMixin, JsonErrors):
    """A list of rows as JSON pages or as one CSV. No stream needs to say whether they changed.

    ``orderings`` maps the names that ``ordering`` takes to columns with unique values; the first is the
    default. ``csv_name`` is the download's name.
    """

    pagination_class = RecordPagination
    renderer_classes = [JSONRenderer, CsvRenderer]
    orderings: dict[str, str] = {"id": "pk"}
    csv_name = "rows"

    def get_renderers(self) -> Sequence[BaseRenderer]:  # type: ignore[override]
        # What is written is answered in JSON; only the table itself exists as CSV.
        written = self.request is not None and self.request.method not in SAFE_METHODS
        return [JSONRenderer()] if written else super().get_renderers()

    def conditional(self, request: Request) -> Response | None:
        """An answer without reading the rows, where one is enough."""
        return None

    def prepare(self, rows: Sequence[Any]) -> None:
        """Load at once what the serializer needs of these rows. Called for each page or chunk."""

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return self.list(request, *args, **kwargs)

    def list(self, request: Request, *args, **kwargs) -> HttpResponseBase:  # type: ignore[override]
        self._check_parameters(request)
        unchanged = self.conditional(request)
        if unchanged is not None:
            return unchanged
        queryset = self.filter_queryset(self.get_queryset())
        if request.accepted_renderer.format == "csv":
            return self._csv(request, queryset)
        page = self.paginate_queryset(queryset)
        rows = [*(page or [])]
        self.prepare(rows)
        return self.get_paginated_response(self.get_serializer(rows, many=True).data)

    def _check_parameters(self, request: Request) -> None:
        known = {"format", "cursor", "ordering", "page_size"}
        filterset = getattr(self, "filterset_class", None)
        if filterset is not None:
            known |= set(filterset.base_filters)
        for name in request.query_params:
            if name not in known:
                raise ValidationError(
                    {name[:60]: f"is no parameter of this table, expected {', '.join(sorted(known))}"}
                )

    def csv_header(self) -> Sequence[str]:
        """The columns of the CSV: the serializer's fields, unless a table has others."""
        return [*self.get_serializer().fields]  # type: ignore[attr-defined]

    def _csv(self, request: Request, queryset: QuerySet) -> HttpResponseBase:
        header = self.csv_header()
        ordered = queryset.order_by(ordering_of(request, self))
        return csv_response(self.csv_name, header, self._lines(ordered, header))

    def _lines(self, queryset: QuerySet, header: Sequence[str]) -> Iterator[Sequence[Any]]:
        for rows in _chunks(queryset):
            self.prepare(rows)
            for row in self.get_serializer(rows, many=True).data:
                yield [_cell(row[name]) for name in header]


def _chunks(queryset: QuerySet) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for row in queryset.iterator(chunk_size=CHUNK):
        chunk.append(row)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict | list) else value


class RecordTable(ConditionalView, Table):
    """A table of recorded rows: what was read once is not sent again until one of its streams grows."""
