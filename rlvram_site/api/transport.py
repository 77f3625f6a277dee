"""What a write must come in: over https where the site asks for it, with its length, while there is room."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string

from rlvram_site.api.errors import NO_SPACE, NoSpace
from rlvram_site.disk import shortage

_log = logging.getLogger(__name__)
_SMALL = ("/api/v1/jobs/", "/api/v1/hosts/")
"""What runs may report and end, also while the disk is short: it is little, and losing it costs most."""

KEY_EXPIRES = "Api-Key-Expires"
"""Header of answers to a key that expires soon: when, in UTC."""
_READS = ("GET", "HEAD", "OPTIONS")


class ApiTransportMiddleware:
    """Answers instead of redirecting: a client that follows a redirect sends its POST as a GET."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith("/api/") and request.method not in _READS:
            if settings.SECURE_SSL_REDIRECT and not request.is_secure():
                address = f"https://{request.get_host()}{request.path}"
                return _refusal(400, "https_required", f"Writes come over https. Expected {address}")
            chunked = "chunked" in request.headers.get("Transfer-Encoding", "").lower()
            if chunked and not request.headers.get("Content-Length"):
                return _refusal(411, "length_required", "The body comes in chunks. Expected Content-Length.")
            if not request.path.startswith(_SMALL) and (short := shortage()):
                return _full(short)
        elif (
            request.method == "POST"
            and request.content_type == "multipart/form-data"
            and (short := shortage())
        ):
            return _full_page(short)
        response = self.get_response(request)
        key = getattr(request, "api_key_used", None)
        if key is not None and key.ending():
            response[KEY_EXPIRES] = f"{key.expires_at:%Y-%m-%dT%H:%M:%SZ}"
        return response


def _full(short: str) -> HttpResponse:
    _log.error("an upload was refused: %s", short)
    answer = _refusal(NoSpace.status_code, NoSpace.default_code, NO_SPACE)
    answer.headers["Retry-After"] = str(NoSpace.wait)
    return answer


def _full_page(short: str) -> HttpResponse:
    _log.error("a form with a file was refused: %s", short)
    return HttpResponse(render_to_string("507.html"), status=NoSpace.status_code)


def _refusal(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"error": {"code": code, "message": message, "fields": []}}, status=status)
