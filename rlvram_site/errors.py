"""Errors that no view answers: as a page for people, in the API's documented shape for machines."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

from rlvram_site.api.errors import NOT_DONE, body

API = "/api/"


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An unknown address."""
    if request.path.startswith(API):
        return _json("not_found", f"There is nothing at {request.path[:200]}.", 404)
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that Django itself refuses before a view sees it."""
    if request.path.startswith(API):
        return _json("parse_error", str(exception)[:300] or "The request can't be read.", 400)
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Something that the caller may not do."""
    if request.path.startswith(API):
        return _json("permission_denied", str(exception)[:300] or "This is not allowed.", 403)
    return defaults.permission_denied(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of the site. Says nothing of its inside; that stands in the log."""
    if request.path.startswith(API):
        return _json("error", NOT_DONE, 500)
    return defaults.server_error(request)


def _json(code: str, message: str, status: int) -> JsonResponse:
    content: dict[str, Any] = body(code, message)
    return JsonResponse(content, status=status)
