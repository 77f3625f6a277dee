"""Hosts register here, and hold their jobs through here, so that none of them needs the database."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import RecordTable
from studies.api.serializers.hosts import (
    BeatAnswerSerializer,
    BeatSerializer,
    ClaimSerializer,
    EndSerializer,
    HostSerializer,
    HostUploadSerializer,
)
from studies.api.serializers.jobs import JobSerializer, NothingSerializer
from studies.jobs import claims
from studies.jobs.errors import LostClaim
from studies.jobs.kinds.run_slots import outcome_of
from studies.jobs.values import Claim, Progress
from studies.models import Host, Job
from studies.models.hosts import host_name, queue_of
from studies.services import hosts


class HostView(GenericAPIView):
    """What every view of hosts has."""

    def required_scope(self, request: Request) -> Scope:
        return Scope.HOSTS


class HostList(RecordTable, HostView):
    """The hosts and what they do now."""

    serializer_class = HostSerializer
    csv_name = "hosts"
    orderings = {"name": "name", "id": "pk"}

    queryset = Host.objects.all()

    def conditional(self, request: Request) -> None:
        self.tag = ""


class HostDetail(HostView):
    """One host. Putting registers it with its devices."""

    serializer_class = HostSerializer

    def get(self, request: Request, *args, **kwargs) -> Response:
        host = Host.objects.filter(name=self.kwargs["host"]).first()
        if host is None:
            raise NotFound(f"There is no host {self.kwargs['host']!r}.")
        return Response(self.get_serializer(host).data)

    @extend_schema(request=HostUploadSerializer, responses={200: HostSerializer})
    def put(self, request: Request, *args, **kwargs) -> Response:
        try:
            host_name(self.kwargs["host"])
        except DjangoValidationError as error:
            raise ValidationError({"host": error.messages}) from error
        sent = HostUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return Response(self.get_serializer(hosts.register(self.kwargs["host"], sent.validated_data)).data)


class HostJobView(HostView):
    """One job in the queue of one host."""

    def job(self) -> Job:
        job = (
            Job.objects.select_related("study")
            .filter(pk=self.kwargs["job"], queue=queue_of(self.kwargs["host"]))
            .first()
        )
        if job is None:
            raise NotFound(f"The host {self.kwargs['host']!r} has no job {self.kwargs['job']}.")
        return job

    def read(
        self, serializer: type[BeatSerializer], request: Request
    ) -> tuple[dict[str, Any], Claim, Progress]:
        """What was sent, the claim that it names, and how far the job is."""
        sent = serializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = sent.validated_data
        hosts.hear_of(self.kwargs["host"], values["slot"], values["memory_mib"])
        progress = Progress(values["done"], values["total"], values["sentence"], values["log"])
        return values, Claim(self.job().pk, values["fence"]), progress


class HostJobClaim(HostJobView):
    """Take a job. 409: somebody holds it, or it has ended."""

    @extend_schema(request=NothingSerializer, responses={200: ClaimSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        claim = claims.claim(self.job().pk, f"GPU host {self.kwargs['host']}")
        if claim is None:
            raise Conflict("The job is not waiting.")
        return Response({"fence": claim.fence, "lease_seconds": settings.JOB_LEASE_SECONDS})


class HostJobBeat(HostJobView):
    """Say how far it is. 409: the job is not this claim's any more."""

    @extend_schema(request=BeatSerializer, responses={200: BeatAnswerSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        _, claim, progress = self.read(BeatSerializer, request)
        try:
            return Response({"cancel": claims.beat(claim, progress)})
        except LostClaim as error:
            raise Conflict(str(error)) from error


class HostJobEnd(HostJobView):
    """Say what was done. Said again it changes nothing."""

    @extend_schema(request=EndSerializer, responses={200: JobSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        values, claim, progress = self.read(EndSerializer, request)
        job = self.job()
        environment = {"host": self.kwargs["host"]}
        results = values["results"]
        failed = [item for item in results if item.get("problem")]
        try:
            if values["cancelled"]:
                claims.stop(claim, progress, environment)
            elif failed and len(failed) == len(results):
                claims.fail(
                    claim, f"No slot was launched; the first: {failed[0]['problem']}", progress, environment
                )
            else:
                claims.succeed(
                    claim, lambda: outcome_of(job, results), progress=progress, input_sha256="",
                    environment=environment,
                )  # fmt: skip
        except LostClaim as error:
            raise Conflict(str(error)) from error
        job.refresh_from_db()
        return Response(JobSerializer(job).data)
