"""What every view of an issue's records starts with."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from admission.api.fields import as_of
from admission.models import TrackedIssue
from admission.models.base import IssueRecord, Origin
from admission.services.identity import find_issue
from admission.services.uploads import OtherContent, record_once
from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import Scope
from rlvram_site.api.pagination import RecordPagination
from rlvram_site.api.tables import ConditionalView, RecordTable


class StatedPagination(RecordPagination):
    """Pages whose column may repeat: several records can be stated at one moment. Ties go by their id."""

    offset_cutoff = 1_000_000

    def get_ordering(self, request, queryset, view):
        (column,) = super().get_ordering(request, queryset, view)
        if column.removeprefix("-") == "pk":
            return (column,)
        return column, "-pk" if column.startswith("-") else "pk"


class IssueView(ConditionalView):
    """One issue of the address; ``write_scope`` is what writing needs."""

    write_scope: Scope | None = None

    def required_scope(self, request: Request) -> Scope | None:
        """The scope that a write needs; None where there is no write at all, so nobody has it."""
        return self.write_scope

    @property
    def issue(self) -> TrackedIssue:
        """The issue of the address, or 404."""
        if not hasattr(self, "_issue"):
            owner, name, number = (self.kwargs[part] for part in ("owner", "name", "number"))
            host = self.kwargs.get("host", "")
            # PostgreSQL cannot look for a NUL.
            if "\x00" in owner + name + host:
                raise NotFound("There is no such issue.")
            self._issue = find_issue(owner, name, number, host)
        return self._issue

    @property
    def day(self) -> dt.datetime | None:
        """The moment that a read asks about; None for now."""
        return as_of(self.request) if self.request.method in SAFE_METHODS else None

    def etag_streams(self) -> Iterable[str]:
        return [self.issue.stream]


class IssueTable(IssueView, RecordTable):
    """A list of one issue's records. With ``@takes`` records are added to it as well."""

    pagination_class = StatedPagination
    orderings = {"id": "pk", "stated": "sort_at", "key": "key"}
    upload_class: type[Serializer]
    stem = ""

    def get_queryset(self) -> QuerySet:
        return super().get_queryset().filter(issue=self.issue).select_related("issue")

    def add(self, request: Request) -> Response:
        """Record what was sent: 201 if it is new, 200 if it stands with the same content, 409 with other."""
        sent = self.upload_class(data=request.data, context={"issue": self.issue})
        sent.is_valid(raise_exception=True)
        values = dict(sent.validated_data)
        stated = values.pop("stated", "")
        try:
            row, new = self.recorded(values, stated)
        except OtherContent as error:
            raise Conflict({error.field: [error.message]}) from error
        self.prepare([row])
        return Response(self.get_serializer(row).data, status=201 if new else 200)

    def recorded(self, values: dict[str, Any], stated: str) -> tuple[Any, bool]:
        """The record of ``values``, and whether it is new."""
        rows: Any = self.queryset  # type: ignore[arg-type]
        row: IssueRecord = rows.model(issue=self.issue, **values)
        # Only staff have the scope for what is said about an issue.
        origin = Origin.STAFF if self.write_scope == Scope.STATUS else Origin.UPLOAD
        return record_once(self.issue, row, self.stem, stated=stated, origin=origin)


_Table = TypeVar("_Table", bound=IssueTable)


def takes(upload: type[Serializer], scope: Scope, stem: str = "") -> Callable[[type[_Table]], type[_Table]]:
    """Let a table be written to: what it takes, which scope that needs, and how a made key begins."""

    def made(view: type[_Table]) -> type[_Table]:
        read = view.serializer_class

        @extend_schema(request=upload, responses={201: read, 200: read}, filters=False)
        def post(self: _Table, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return self.add(request)

        view.write_scope, view.upload_class, view.stem = scope, upload, stem
        view.post = post  # type: ignore[attr-defined]
        return view

    return made


class Contextual(ABC):
    """Gives the serializer what ``derive`` found for the rows at hand."""

    derived: dict[str, Any] = {}

    @abstractmethod
    def derive(self, rows: Sequence[Any]) -> dict[str, Any]:
        """What the serializer needs beside ``rows``."""

    def prepare(self, rows: Sequence[Any]) -> None:
        self.derived = {**self.derived, **self.derive(rows)}

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **self.derived}  # type: ignore[misc]
