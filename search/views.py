"""The page of results, and the same for programs."""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from search.documents import kinds
from search.finding import Found, Page, Query, find, find_of_kind
from search.indexing import follow, is_behind
from search.models import SearchDocument
from search.snippets import marked

FOLLOWED_AT_ONCE = 3000
"""Newest records that a search takes in by itself; the clock of the site brings the others."""


def search(request: HttpRequest) -> HttpResponse:
    query = Query.of(request.GET.get("q", ""))
    kind = request.GET.get("kind", "")
    context: dict[str, Any] = {"query": query, "kind": "", "plural": ""}
    if kind in kinds():
        before = request.GET.get("before", "")
        page = find_of_kind(query, kind, int(before) if before.isdecimal() and len(before) < 18 else None)
        context |= {"kind": kind, "plural": kinds()[kind], "page": page,
                    "shown": [_shown(row, query) for row in page.documents]}  # fmt: skip
    else:
        context["behind"] = catch_up() if query.words else False
        found = find(query)
        context["found"] = found
        context["groups"] = [
            {"group": group, "shown": [_shown(row, query) for row in group.documents],
             "more": found.cut or group.count > len(group.documents)}
            for group in found.groups
        ]  # fmt: skip
    return render(request, "search/results.html", context)


def catch_up() -> bool:
    """Take in the newest records. Returns whether some are still not found."""
    try:
        follow(FOLLOWED_AT_ONCE)
        return is_behind()
    except DatabaseError:
        # A database that can only be read, or that somebody writes to: what is there is found all the same.
        return True


def _shown(row: SearchDocument, query: Query) -> dict[str, Any]:
    return {
        "row": row,
        "label": marked(row.label, query.words),
        "words": marked(row.words, query.words) if any(w in row.words.lower() for w in query.words) else "",
    }


_RESULT = inline_serializer(
    "SearchResult",
    {
        "kind": serializers.CharField(),
        "label": serializers.CharField(),
        "place": serializers.CharField(),
        "address": serializers.CharField(help_text="Path of its page on this site"),
        "recorded_at": serializers.DateTimeField(),
    },
    many=True,
)


class Search(APIView):
    """Records that have every word of ``q`` somewhere in them, best first; a part of a word is enough."""

    @extend_schema(
        operation_id="search",
        parameters=[
            OpenApiParameter("q", OpenApiTypes.STR, required=True, description="Words, or a part of a hash"),
            OpenApiParameter("kind", OpenApiTypes.STR, description="Only records of one kind, newest first"),
            OpenApiParameter("before", OpenApiTypes.INT, description="Where the next page of a kind begins"),
        ],
        responses=inline_serializer(
            "SearchAnswer",
            {
                "results": _RESULT,
                "more": serializers.BooleanField(),
                "next_before": serializers.IntegerField(allow_null=True),
                "complete": serializers.BooleanField(help_text="No: the newest records are not yet found"),
            },
        ),
    )
    def get(self, request: Request) -> Response:
        query, kind = Query.of(request.query_params.get("q", "")), request.query_params.get("kind", "")
        before = request.query_params.get("before", "")
        problems = {}
        if not query.words:
            problems["q"] = ["expected at least one word"]
        if kind and kind not in kinds():
            problems["kind"] = [f"{kind!r} is no kind, expected one of {', '.join(kinds())}"]
        if before and not (before.isdecimal() and len(before) < 18):
            problems["before"] = [f"{before!r} is no place in a list, expected next_before of an answer"]
        if problems:
            raise ValidationError(problems)
        complete = not catch_up()
        if kind:
            return Response(_page(find_of_kind(query, kind, int(before) if before else None), complete))
        return Response(_groups(find(query), complete))


def _page(page: Page, complete: bool) -> dict[str, Any]:
    rows = [_result(row) for row in page.documents]
    return {"results": rows, "more": page.next_before is not None, "next_before": page.next_before,
            "complete": complete}  # fmt: skip


def _groups(found: Found, complete: bool) -> dict[str, Any]:
    rows = [_result(row) for group in found.groups for row in group.documents]
    more = found.cut or len(rows) < found.count
    return {"results": rows, "more": more, "next_before": None, "complete": complete}


def _result(row: SearchDocument) -> dict[str, Any]:
    return {"kind": row.kind, "label": row.label, "place": row.place, "address": row.address,
            "recorded_at": row.recorded_at}  # fmt: skip
