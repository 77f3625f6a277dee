"""What was planned, as it is read."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from studies.models import Amendment, Configuration, Pool, Protocol, SeedSlot, Study
from studies.services.life import Stage
from studies.services.predictions.seals import CONTRADICTED, SealState
from studies.services.whose_word import CHECKED, STATED, protocol_word


class StudySerializer(serializers.ModelSerializer):
    pool: serializers.SlugRelatedField = serializers.SlugRelatedField(
        slug_field="slug", read_only=True, allow_null=True
    )
    parent: serializers.SlugRelatedField = serializers.SlugRelatedField(  # type: ignore[assignment]
        slug_field="slug", read_only=True, allow_null=True
    )

    class Meta:
        model = Study
        fields = ["slug", "title", "question", "pool", "parent", "source_name", "source_authors",
                  "source_licence", "recorded_at"]  # fmt: skip


class HeadSerializer(serializers.Serializer):
    """The end of a stream. Keep it: a later history must still contain it."""

    stream = serializers.CharField()
    sequence = serializers.IntegerField(help_text="Number of links; 0 for an empty stream")
    sha256 = serializers.CharField(allow_blank=True, help_text="Digest of the last link")


class SealStateSerializer(serializers.Serializer):
    """Whether the predictions were sealed in time. Derived from the ledger, whatever times are stated."""

    word = serializers.CharField()
    prospective = serializers.SerializerMethodField(
        help_text="true, false, or the word contradicted: the ledger has the seal first, an attempt's own "
        "clock says otherwise"
    )
    contradiction = serializers.CharField(allow_blank=True, help_text="What contradicts the order, in words")
    number = serializers.IntegerField(allow_null=True, help_text="Place of the seal in the study's ledger")
    first_launch = serializers.IntegerField(allow_null=True)
    first_outcome = serializers.IntegerField(allow_null=True)

    @extend_schema_field({"oneOf": [{"type": "boolean"}, {"type": "string", "enum": [CONTRADICTED]}]})
    def get_prospective(self, state: SealState) -> bool | str:
        return state.verdict


class LifeSerializer(serializers.Serializer):
    """How far the study has come. Derived from its records."""

    stage = serializers.ChoiceField(choices=list(Stage))
    unsealed = serializers.BooleanField(help_text="Launched without a seal")
    sentence = serializers.CharField()


class StudyDetailSerializer(StudySerializer):
    life = LifeSerializer(allow_null=True, help_text="Null where the protocol's rules can't be read")
    seal_state = SealStateSerializer()
    head = HeadSerializer()

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "life", "seal_state", "head"]


class PoolSerializer(serializers.ModelSerializer):
    class Meta:
        model = Pool
        fields = ["slug", "title", "source_name", "source_authors", "source_licence", "recorded_at"]


class ProtocolSerializer(serializers.ModelSerializer):
    """The frozen base and what holds after the amendments."""

    base = serializers.JSONField(source="document")
    effective = serializers.SerializerMethodField()
    effective_sha256 = serializers.SerializerMethodField()
    whose_word = serializers.SerializerMethodField(
        help_text="Whether hash and time of the freeze were checked here or are stated by the source"
    )
    amendments = serializers.SerializerMethodField(help_text="Numbers of the amendments in it, in order")

    class Meta:
        model = Protocol
        fields = ["version", "sha256", "source_path", "frozen_at", "recorded_at", "base", "effective",
                  "effective_sha256", "amendments", "whose_word"]  # fmt: skip

    @extend_schema_field(serializers.ChoiceField(choices=[CHECKED, STATED]))
    def get_whose_word(self, row: Protocol) -> str:
        return protocol_word(row).word

    @extend_schema_field({"type": "object", "additionalProperties": {}})
    def get_effective(self, row: Protocol) -> dict[str, Any]:
        return self.context["effective"]

    def get_effective_sha256(self, row: Protocol) -> str:
        return self.context["effective_sha256"]

    def get_amendments(self, row: Protocol) -> list[int]:
        return self.context["amendments"]


class KeyChangeSerializer(serializers.Serializer):
    key = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class AmendmentSerializer(serializers.ModelSerializer):
    """An amendment with the word that the ledger's order gives it."""

    word = serializers.SerializerMethodField(
        help_text="amendment, amendment after launch, or deviation: derived, never typed"
    )
    changes = serializers.SerializerMethodField()

    class Meta:
        model = Amendment
        fields = ["number", "word", "amended_at", "recorded_at", "reason", "base_sha256", "sha256",
                  "source_path", "changes"]  # fmt: skip

    def get_word(self, row: Amendment) -> str:
        return self.context["changes"][row.pk].word.value

    @extend_schema_field(KeyChangeSerializer(many=True))
    def get_changes(self, row: Amendment) -> list[dict[str, Any]]:
        return [
            {"key": item.key, "before": item.before, "after": item.after}
            for item in self.context["changes"][row.pk].keys
        ]


SETTINGS = [
    field.name
    for field in Configuration._meta.concrete_fields
    if field.name not in ("id", "pool", "study", "recorded_at", "configuration_id")
]


class ConfigurationSerializer(serializers.ModelSerializer):
    """One fixed setting. Capacities are MiB, lengths tokens, batch sizes samples."""

    class Meta:
        model = Configuration
        fields = ["configuration_id", *SETTINGS, "recorded_at"]


class ConfigurationsSerializer(serializers.Serializer):
    configurations = ConfigurationSerializer(many=True)


class SlotSerializer(serializers.ModelSerializer):
    """A planned process and what its attempts establish."""

    configuration = serializers.CharField(source="configuration.configuration_id")
    state = serializers.SerializerMethodField(help_text="completed, memory_failure or unresolved")
    eligible_attempt = serializers.SerializerMethodField(help_text="Invocation id of the attempt that counts")
    reason = serializers.SerializerMethodField(help_text="Why it is unresolved; empty when it is not")
    tries_used = serializers.SerializerMethodField(help_text="How many of its tries are spent")
    tries_permitted = serializers.SerializerMethodField(help_text="What the protocol permits; null: no limit")
    one_more_may_count = serializers.SerializerMethodField(
        help_text="Whether one more attempt could become its outcome"
    )

    class Meta:
        model = SeedSlot
        fields = ["experiment_id", "configuration", "seed", "position", "pair_id", "period",
                  "device_ordinals", "timeout_seconds", "state", "eligible_attempt", "reason",
                  "tries_used", "tries_permitted", "one_more_may_count", "recorded_at"]  # fmt: skip

    def _state(self, row: SeedSlot) -> Any:
        return self.context["slots"][row.pk]

    def get_state(self, row: SeedSlot) -> str:
        return self._state(row).outcome.kind or "unresolved"

    def get_eligible_attempt(self, row: SeedSlot) -> str | None:
        eligible = self._state(row).eligible
        return eligible.invocation_id if eligible else None

    def get_reason(self, row: SeedSlot) -> str:
        return self._state(row).reason

    def get_tries_used(self, row: SeedSlot) -> int:
        return self._state(row).tries_used

    def get_tries_permitted(self, row: SeedSlot) -> int | None:
        return self._state(row).tries.permitted

    def get_one_more_may_count(self, row: SeedSlot) -> bool:
        return self._state(row).one_more_may_count


class SlotsSerializer(serializers.Serializer):
    slots = SlotSerializer(many=True)
