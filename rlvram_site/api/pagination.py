"""Pages by cursor: stable while rows are added, and as quick at the end of a table as at its start."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination


class RecordPagination(CursorPagination):
    """``page_size`` rows (100, at most 1,000); ``ordering`` names a column whose values are unique."""

    page_size = 100
    max_page_size = 1000
    page_size_query_param = "page_size"
    ordering = "id"

    def get_ordering(self, request, queryset, view):
        return (ordering_of(request, view),)

    def paginate_queryset(self, queryset, request, view=None):
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, DjangoValidationError) as error:
            # A cursor holds a value of the column; somebody else's may hold anything.
            raise ValidationError({"cursor": "expected one from next or previous of this table"}) from error

    def get_schema_operation_parameters(self, view) -> list[dict[str, Any]]:
        names = [sign + name for name in view.orderings for sign in ("", "-")]
        return [
            {"name": "cursor", "required": False, "in": "query", "schema": {"type": "string"},
             "description": "From `next` or `previous` of another page"},
            {"name": "page_size", "required": False, "in": "query", "description": "Rows of a page",
             "schema": {"type": "integer", "minimum": 1, "maximum": self.max_page_size, "default": 100}},
            {"name": "ordering", "required": False, "in": "query", "description": "- in front for descending",
             "schema": {"type": "string", "enum": names}},
        ]  # fmt: skip

    def get_page_size(self, request) -> int:
        sent = request.query_params.get(self.page_size_query_param)
        if sent is None:
            return self.page_size
        if not (sent.isascii() and sent.isdecimal() and 1 <= int(sent[:9]) <= self.max_page_size):
            raise ValidationError(
                {"page_size": f"is {sent[:40]!r}, expected a whole number from 1 to {self.max_page_size}"}
            )
        return int(sent)


def ordering_of(request, view) -> str:
    """The column to order by, ``-`` in front for descending. Raises ``ValidationError`` for another one."""
    allowed: dict[str, str] = view.orderings
    sent = request.query_params.get("ordering", next(iter(allowed)))
    name = sent.removeprefix("-")
    if name not in allowed:
        raise ValidationError(
            {"ordering": f"is {sent[:40]!r}, expected one of {', '.join(allowed)}, with - for descending"}
        )
    return ("-" if sent.startswith("-") else "") + allowed[name]
