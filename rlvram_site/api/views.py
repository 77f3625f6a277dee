"""The API's front page, its documentation, and its answer to unknown addresses."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework import serializers
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from host.version import product_version
from rlvram_site.api.errors import ErrorSerializer
from rlvram_site.api.permissions import scopes_of
from rlvram_site.api.reference import Group, reference


class IndexSerializer(serializers.Serializer):
    """Where to go on, and what the caller may do."""

    studies = serializers.CharField()
    pools = serializers.CharField()
    transfer = serializers.CharField()
    issues = serializers.CharField()
    schema = serializers.CharField()
    docs = serializers.CharField()
    version = serializers.CharField(help_text="Version of the product that answers")
    scopes = serializers.ListField(child=serializers.CharField(), help_text="What this key or person may do")


class Index(APIView):
    """The front page: main addresses, and the caller's scopes."""

    @extend_schema(responses={200: IndexSerializer, 400: ErrorSerializer})
    def get(self, request: Request) -> Response:
        return Response(
            {
                "studies": reverse("api-studies"),
                "pools": reverse("api-pools"),
                "transfer": reverse("api-transfer"),
                "issues": reverse("api-issues"),
                "schema": reverse("api-schema"),
                "docs": reverse("api-docs"),
                "version": product_version(),
                "scopes": sorted(scopes_of(request)),
            }
        )


@cache
def openapi_document() -> dict[str, Any]:
    """The OpenAPI document. It says what the code says, whoever asks, so one process makes it once."""
    return dict(SchemaGenerator().get_schema(request=None, public=True))


class KeptGenerator(SchemaGenerator):
    """Hands out the one document; no parameter of a request changes it."""

    def get_schema(self, request: Request | None = None, public: bool = False) -> dict[str, Any]:
        return openapi_document()


class Schema(SpectacularAPIView):
    """The OpenAPI document."""

    generator_class = KeptGenerator


@cache
def _reference() -> tuple[list[Group], list[tuple[str, str]]]:
    return reference(openapi_document())


class Docs(APIView):
    """The document as a page of this site: readable without a script, on a phone and by a screen reader."""

    renderer_classes = (TemplateHTMLRenderer,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        groups, common = _reference()
        count = sum(len(group.operations) for group in groups)
        context = {
            "groups": groups,
            "common": common,
            "count": count,
            "title": openapi_document()["info"]["title"],
        }
        return Response(context, template_name="api/docs.html")


@csrf_exempt
def unknown_address(request: HttpRequest, address: str) -> JsonResponse:
    """404 in the API's own error shape."""
    error = {"code": "not_found", "message": f"There is nothing at {request.path}.", "fields": []}
    return JsonResponse({"error": error}, status=404)
