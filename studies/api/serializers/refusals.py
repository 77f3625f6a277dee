"""Refused changes as rows of the API. Who tried stays with the staff, in the ledger."""

from __future__ import annotations

from rest_framework import serializers

from studies.models import Refusal


class RefusalSerializer(serializers.ModelSerializer):
    class Meta:
        model = Refusal
        fields = ["id", "what", "reason", "recorded_at"]
