"""Attributes everything recorded during a request to the person or key behind it."""

from __future__ import annotations

from rlvram_site.ledger.chain import acting


class ActorMiddleware:
    def __init__(self, get_response) -> None:
        self.get_response = get_response

    def __call__(self, request):
        user = request.user
        with acting(user.get_username() if user.is_authenticated else "anonymous"):
            return self.get_response(request)
