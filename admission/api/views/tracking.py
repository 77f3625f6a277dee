"""What is followed on the forge: list it, follow more, stop."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from admission.models.sync import Followed
from admission.sync import following
from admission.sync.jobs import track
from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import Table
from studies.api.fields import StrictSerializer
from studies.jobs.errors import JobRefused


class FollowedSerializer(serializers.ModelSerializer):
    """One followed issue, or with the number 0 a whole repository. ``problem``: why it failed last."""

    issue = serializers.CharField(default=None, help_text="The tracked issue, once it was read")
    found_in = serializers.CharField(source="parent", default=None, help_text="Repository that listed it")

    class Meta:
        model = Followed
        fields = ["id", "host", "owner", "name", "number", "label", "issue", "found_in", "created_by",
                  "created_at", "paused", "due_at", "synced_at", "sentence", "problem",
                  "failures"]  # fmt: skip


class FollowedWithJobSerializer(FollowedSerializer):
    """What is followed now, and the job that reads it."""

    job = serializers.IntegerField(help_text="Its progress is at /api/v1/jobs/JOB/")

    class Meta(FollowedSerializer.Meta):
        fields = [*FollowedSerializer.Meta.fields, "job"]


class FollowSerializer(StrictSerializer):
    """An address to follow: https://HOST/OWNER/NAME/issues/12, OWNER/NAME#12 or OWNER/NAME."""

    address = serializers.CharField(max_length=400)
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=100, required=False, default="", help_text="Of a repository: only issues with this label"
    )


class FollowedView(GenericAPIView):
    """What views of followed issues share."""

    serializer_class = FollowedSerializer

    def required_scope(self, request: Request) -> Scope:
        return Scope.JOBS


class FollowedList(Table, FollowedView):
    """What is followed. Adding an address reads it at once, by a job."""

    csv_name = "followed"

    queryset = Followed.objects.select_related("issue", "parent")

    @extend_schema(request=FollowSerializer, responses={201: FollowedWithJobSerializer}, filters=False)
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = FollowSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            followed, job = track(sent.validated_data["address"], sent.validated_data["label"])
        except JobRefused as error:
            raise ValidationError({error.field.rpartition(".")[2]: [error.message]}) from error
        followed.job = job.pk  # type: ignore[attr-defined]
        return Response(FollowedWithJobSerializer(followed).data, status=201)


class FollowedDetail(FollowedView):
    """One of them. Deleting follows it no more; what was recorded stays."""

    def _find(self) -> Followed:
        found = Followed.objects.select_related("issue", "parent").filter(pk=self.kwargs["pk"]).first()
        if found is None:
            raise NotFound(f"Nothing is followed under {self.kwargs['pk']}.")
        return found

    def get(self, request: Request, *args, **kwargs) -> Response:
        return Response(self.get_serializer(self._find()).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, *args, **kwargs) -> Response:
        following.unfollow(self._find())
        return Response(status=204)
