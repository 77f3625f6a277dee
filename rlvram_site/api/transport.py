"""What a write to the API must come in: over https where the site asks for it, and with its length."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse

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
        response = self.get_response(request)
        key = getattr(request, "api_key_used", None)
        if key is not None and key.ending():
            response[KEY_EXPIRES] = f"{key.expires_at:%Y-%m-%dT%H:%M:%SZ}"
        return response


def _refusal(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"error": {"code": code, "message": message, "fields": []}}, status=status)
