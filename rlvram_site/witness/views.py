"""The witnesses' page, and each file that somebody needs to check one without this site."""

from __future__ import annotations

import base64
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from rlvram_site.api.errors import ErrorSerializer
from rlvram_site.witness.authority import address
from rlvram_site.witness.models import HeadSignature, SigningKey, StampProblem, TimeStamp
from rlvram_site.witness.stamping import content_of

PER_PAGE = 50


def witnesses(request: HttpRequest) -> HttpResponse:
    """Stamps, keys, the last signed heads, and what the authority did not answer."""
    context = {
        "page_of_rows": Paginator(TimeStamp.objects.order_by("-pk"), PER_PAGE).get_page(
            request.GET.get("page")
        ),
        "keys": SigningKey.objects.order_by("-pk"),
        "signed": HeadSignature.objects.order_by("-pk").first(),
        "problems": StampProblem.objects.order_by("pk")[:PER_PAGE],
        "authority": address() if settings.TIMESTAMP_URL else "",
    }
    return render(request, "witnesses.html", context)


def witness_file(request: HttpRequest, kind: str, number: int, ending: str) -> HttpResponse:
    """What was stamped or signed (json), the answer (tsr), the signature (sig), or a key (pem)."""
    if (kind, ending) == ("keys", "pem"):
        content = get_object_or_404(SigningKey, pk=number).public_key.encode()
    elif kind == "stamps" and ending in ("json", "tsr"):
        stamp = get_object_or_404(TimeStamp, pk=number)
        content = content_of(stamp.covers) if ending == "json" else base64.b64decode(stamp.response)
    elif kind == "heads" and ending in ("json", "sig"):
        signed = get_object_or_404(HeadSignature, pk=number)
        content = content_of(signed.covers) if ending == "json" else base64.b64decode(signed.signature)
    else:
        raise Http404(f"{kind} have no file that ends in .{ending}")
    answer = HttpResponse(content, content_type="application/octet-stream")
    answer.headers["Content-Disposition"] = f'attachment; filename="{kind}-{number}.{ending}"'
    return answer


class CoversSerializer(serializers.Serializer):
    """A link that a witness speaks of."""

    stream = serializers.CharField()
    sequence = serializers.IntegerField()
    sha256 = serializers.CharField()


class KeySerializer(serializers.ModelSerializer):
    """A public key, and since when this site signs with it."""

    class Meta:
        model = SigningKey
        fields = ["id", "public_key", "recorded_at"]


class SignedHeadsSerializer(serializers.ModelSerializer):
    """The ends of all streams. The signature is over the canonical JSON of ``covers``."""

    covers = CoversSerializer(many=True)

    class Meta:
        model = HeadSignature
        fields = ["id", "key", "covers", "signature", "recorded_at"]


class StampSerializer(serializers.ModelSerializer):
    """A time stamp; ``response`` is the authority's answer, DER in base64."""

    covers = CoversSerializer(many=True)

    class Meta:
        model = TimeStamp
        fields = ["id", "about", "record_id", "authority", "signer", "stamped_at", "covers", "response",
                  "recorded_at"]  # fmt: skip


class WitnessesSerializer(serializers.Serializer):
    """Keys, the last signed heads, and the newest stamps."""

    keys = KeySerializer(many=True)
    signed_heads = SignedHeadsSerializer(allow_null=True)
    stamps = StampSerializer(many=True)


class Witnesses(APIView):
    """The site's public keys, the heads it signed last, and its newest time stamps (at most 50)."""

    @extend_schema(responses={200: WitnessesSerializer, 400: ErrorSerializer})
    def get(self, request: Request) -> Response:
        found: dict[str, Any] = {
            "keys": SigningKey.objects.order_by("-pk"),
            "signed_heads": HeadSignature.objects.order_by("-pk").first(),
            "stamps": TimeStamp.objects.order_by("-pk")[:PER_PAGE],
        }
        return Response(WitnessesSerializer(found).data)
