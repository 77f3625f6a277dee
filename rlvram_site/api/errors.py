"""One error shape for the whole API.

``{"error": {"code": …, "message": …, "fields": [{"field": …, "message": …, "value": …}]}}``; ``fields`` is
empty when no field is at fault. ``value`` is what was sent, shortened.
"""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import InterfaceError, OperationalError, transaction
from django.http import Http404
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.settings import api_settings

from rlvram_site.api.conflicts import is_conflict
from rlvram_site.disk import is_full
from rlvram_site.evidence_storage import StoreUnreachable

MAX_VALUE = 200
NOT_DONE = (
    "Something failed on our side and stands in the server's log. Send the request again: what was recorded "
    "already is found and not recorded twice."
)

NO_SPACE = (
    "The site's disk is nearly full, so nothing was kept. Send the request again later: what was recorded "
    "already is found and not recorded twice."
)

_log = logging.getLogger("django.request")
# The pool gives up with an error of the driver itself, which Django does not translate.
_NO_DATABASE = (OperationalError, InterfaceError, psycopg.OperationalError)


class Conflict(exceptions.APIException):
    """The same identity was sent with other content; nothing was changed."""

    status_code = 409
    default_code = "conflict"
    default_detail = "This is already recorded with other content; nothing was changed."


class TooLarge(exceptions.APIException):
    """The body or a part of it is over its limit."""

    status_code = 413
    default_code = "too_large"
    default_detail = "The body is too large."


class OverQuota(exceptions.APIException):
    """Well-formed, but the study may not have that much evidence. Trying again later helps nothing."""

    status_code = 413
    default_code = "quota_exceeded"
    default_detail = "The study may not have that much evidence."


class NoSpace(exceptions.APIException):
    """There is no room for what was sent; nothing of it was kept."""

    status_code = 507
    default_code = "no_space"
    default_detail = NO_SPACE
    wait = 60
    """Seconds after which trying again may help; sent as ``Retry-After``."""


class Unmet(exceptions.APIException):
    """The request's own condition does not hold."""

    status_code = 412
    default_code = "precondition_failed"
    default_detail = "The condition of the request does not hold; nothing was changed."


class Unavailable(exceptions.APIException):
    """The database can't be reached or is closed. Nothing was changed by what did not end."""

    status_code = 503
    default_code = "unavailable"
    default_detail = "The database can't be reached at the moment. " + NOT_DONE.partition(". ")[2]


class FieldErrorSerializer(serializers.Serializer):
    field = serializers.CharField(help_text="Path of the field, for example attempts[3].exit_code")
    message = serializers.CharField(help_text="What is wrong and what was expected")
    value = serializers.JSONField(required=False, help_text="What was sent, shortened")


class ErrorBodySerializer(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()
    fields = FieldErrorSerializer(many=True)  # type: ignore[assignment]


class ErrorSerializer(serializers.Serializer):
    """The body of every 4xx and 5xx answer."""

    error = ErrorBodySerializer()


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's handler, with our shape. What nobody expected is logged, and answered without its inside."""
    # The views import the parsers, which the settings name and which raise these errors.
    from rest_framework.views import exception_handler

    exception = _as_api_exception(exception)
    response = exception_handler(exception, context)
    if response is None:
        if settings.DEBUG:
            return None
        return _fault(exception, context)
    sent = _sent(context)
    fields: list[dict[str, Any]] = []
    code = getattr(exception, "default_code", "error")
    detail = getattr(exception, "detail", None)
    if isinstance(detail, dict | list):
        code = "invalid" if isinstance(exception, exceptions.ValidationError) else code
        _flatten(detail, "", sent, fields)
        message = "; ".join(
            f"{f['field']}: {f['message']}" if f["field"] else f["message"] for f in fields[:3]
        )
    else:
        message = str(detail if detail is not None else exception) or response.reason_phrase
        code = getattr(detail, "code", code)
    response.data = body(str(code), message, fields)
    return response


def body(code: str, message: str, fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The documented shape."""
    return {"error": {"code": code, "message": message, "fields": fields or []}}


def _fault(exception: Exception, context: dict[str, Any]) -> Response:
    """What Django would do with an error that nobody handles, with a body that a machine can read."""
    request = context["request"]._request
    signals.got_request_exception.send(sender=None, request=request)
    _log.error("Internal Server Error: %s", request.path, exc_info=exception)
    connection = transaction.get_connection()
    if connection.in_atomic_block:
        connection.set_rollback(True)
    return Response(body("error", NOT_DONE), status=500)


def _as_api_exception(exception: Exception) -> Exception:
    """What Django itself refuses, as an error of the API."""
    if is_conflict(exception):
        return Conflict(str(exception))
    if is_full(exception):
        _log.error("a disk is full", exc_info=exception)
        return NoSpace()
    if isinstance(exception, StoreUnreachable):
        _log.error("the evidence store can't be used", exc_info=exception)
        return Unavailable(
            "The store of the evidence can't be reached at the moment. " + NOT_DONE.partition(". ")[2]
        )
    if isinstance(exception, _NO_DATABASE):
        _log.error("the database does not answer", exc_info=exception)
        return Unavailable()
    if isinstance(exception, DjangoValidationError):
        return exceptions.ValidationError(
            exception.message_dict if hasattr(exception, "error_dict") else exception.messages
        )
    if isinstance(exception, Http404):
        return exceptions.NotFound(str(exception) or None)
    if isinstance(exception, RequestDataTooBig):
        return TooLarge(str(exception))
    if isinstance(exception, SuspiciousOperation):
        return exceptions.ParseError(str(exception))
    return exception


def _sent(context: dict[str, Any]) -> Any:
    request = context.get("request")
    # Only what was parsed already: reading the body here would raise the same parse error again.
    return getattr(request, "_full_data", None) if request is not None else None


def _flatten(detail: Any, path: str, sent: Any, out: list[dict[str, Any]]) -> None:
    if isinstance(detail, dict):
        for key, item in detail.items():
            if key == api_settings.NON_FIELD_ERRORS_KEY:
                _flatten(item, path, sent, out)
            else:
                # Rows of a list come by their number.
                place = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
                _flatten(item, place, _child(sent, key), out)
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for index, item in enumerate(detail):
            if item:
                _flatten(item, f"{path}[{index}]", _child(sent, index), out)
    else:
        for message in detail if isinstance(detail, list) else [detail]:
            entry: dict[str, Any] = {"field": _text(path), "message": _text(message)}
            value = _short(sent)
            if path and value is not None:
                entry["value"] = value
            out.append(entry)


def _child(sent: Any, key: Any) -> Any:
    try:
        return sent[key]
    except (KeyError, IndexError, TypeError):
        return None


def _short(value: Any) -> Any:
    """What was sent, as JSON can say it."""
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e15):
        return value
    text = _text(value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")
