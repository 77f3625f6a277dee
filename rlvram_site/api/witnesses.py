"""Time stamps, signed heads and public keys, for programs that check this site from outside."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from rlvram_site.api.errors import ErrorSerializer
from rlvram_site.witness.models import HeadSignature, SigningKey, TimeStamp
from rlvram_site.witness.views import PER_PAGE


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
