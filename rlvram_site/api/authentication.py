"""Who is asking: an API key in the ``Authorization`` header, or a person's session."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from rlvram_site.api.keys import find_key, note_use
from rlvram_site.ledger.chain import act_as

KEYWORD = "Api-Key"


class ApiKeyAuthentication(BaseAuthentication):
    """``Authorization: Api-Key PREFIX.SECRET``. ``request.auth`` is the key, ``request.user`` its owner."""

    def authenticate(self, request):
        keyword, _, secret = request.headers.get("Authorization", "").partition(" ")
        if keyword.lower() != KEYWORD.lower():
            return None
        key = find_key(secret.strip())
        if key is None:
            raise AuthenticationFailed(
                "The API key is not known. Expected: Authorization: Api-Key PREFIX.SECRET"
            )
        if problem := key.problem():
            raise AuthenticationFailed(problem)
        note_use(key)
        # Whatever answers says so, an error as well; see api.transport.
        request._request.api_key_used = key
        act_as(key.actor)
        return key.owner, key

    def authenticate_header(self, request) -> str:
        return KEYWORD


class ApiKeyScheme(OpenApiAuthenticationExtension):
    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema):
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "The word Api-Key, a blank, and the key as it was shown when it was issued.",
        }
