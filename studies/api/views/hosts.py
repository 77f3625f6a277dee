"""Hosts register here, and hold their jobs through here, so that none of them needs the database."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.api.tables import Table
from studies.api.serializers.hosts import (
    BeatAnswerSerializer,
    BeatSerializer,
    ClaimSerializer,
    EndSerializer,
    HostSerializer,
    HostUploadSerializer,
    OrdersSerializer,
)
from studies.api.serializers.jobs import JobSerializer, NothingSerializer
from studies.api.views.base import StudyView
from studies.jobs import claims
from studies.jobs.errors import JobRefused, LostClaim
from studies.jobs.kinds.run_slots import INTERVAL_MS, facts_sentence, orders_of, outcome_of
from studies.jobs.values import Claim, Progress
from studies.models import Host, Job
from studies.models.hosts import host_name
from studies.services import hosts
from studies.services.errors import ServiceError

MOST_ORDERS = 5_000


class HostView(GenericAPIView):
    """What every view of hosts has."""

    def required_scope(self, request: Request) -> Scope:
        return Scope.HOSTS


class HostList(Table, HostView):
    """The hosts and what they do now."""

    serializer_class = HostSerializer
    csv_name = "hosts"
    orderings = {"name": "name", "id": "pk"}

    queryset = Host.objects.all()


class HostDetail(HostView):
    """One host. Putting registers it with its devices; it then belongs to the key that did."""

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
        try:
            row = hosts.register(self.kwargs["host"], sent.validated_data, holder_of(request))
        except hosts.NotItsHolder as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(row).data)


class StudyOrders(StudyView):
    """A study's open slots as orders, in the planned order, for who runs them without a registered host."""

    serializer_class = OrdersSerializer

    @extend_schema(parameters=[OpenApiParameter("program", str, description="If the protocol names none")])
    def get(self, request: Request, *args, **kwargs) -> Response:
        program = request.query_params.get("program", "")[:100] or hosts.launch_program(self.study)
        if not program:
            raise ValidationError({"program": ["is not given, expected one: the protocol names none"]})
        states = hosts.open_slots(self.study)
        rows = [state.slot for state in states[:MOST_ORDERS]]
        tries = {state.slot.experiment_id: state.tries_used + 1 for state in states}
        try:
            orders = hosts.orders_for(None, self.study, rows, program, INTERVAL_MS, tries)
        except ServiceError as error:
            raise ValidationError({"program": [str(error)]}) from error
        return Response({"orders": orders, "more": len(states) > MOST_ORDERS})


def holder_of(request: Request) -> str:
    """Whose the hosts are that this caller registers: its key's, or a person's own."""
    return f"key {request.auth.prefix}" if isinstance(request.auth, ApiKey) else f"user {request.user.pk}"


class HostJobView(HostView):
    """Jobs of one host, for the key that registered it."""

    def host(self, request: Request) -> Host:
        """The host of the address; 404 if there is none, 403 if it is another key's."""
        try:
            host = hosts.held_by(self.kwargs["host"], holder_of(request))
        except hosts.NotItsHolder as error:
            raise PermissionDenied(str(error)) from error
        if host is None:
            raise NotFound(f"There is no host {self.kwargs['host']!r}.")
        return host

    def job(self, host: Host) -> Job:
        """The job of the address, from this host's queue."""
        jobs = Job.objects.select_related("study").filter(pk=self.kwargs["job"], queue=host.queue)
        job = jobs.first()
        if job is None:
            raise NotFound(f"The host {host.name!r} has no job {self.kwargs['job']}.")
        return job

    def read(
        self, serializer: type[BeatSerializer], request: Request
    ) -> tuple[dict[str, Any], Job, Claim, Progress]:
        """What was sent, its job, the claim that it names, and how far the job is."""
        host = self.host(request)
        job = self.job(host)
        sent = serializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = sent.validated_data
        hosts.hear_of(host.name, values["slot"], values["memory_mib"])
        progress = Progress(values["done"], values["total"], values["sentence"], values["log"])
        return values, job, Claim(job.pk, values["fence"]), progress


class HostNextJob(HostJobView):
    """Take the next job that waits for this host, with its orders. 204: none waits."""

    @extend_schema(request=NothingSerializer, responses={200: ClaimSerializer, 204: None})
    def post(self, request: Request, *args, **kwargs) -> Response:
        host = self.host(request)
        hosts.hear_of(host.name, "", {})
        waiting = Job.objects.select_related("study").filter(queue=host.queue, state=Job.State.QUEUED)
        for job in waiting.order_by("pk"):
            claim = claims.claim(job.pk, f"GPU host {host.name}")
            if claim is None:
                continue  # cancelled, or taken by another process of the host meanwhile
            try:
                orders = orders_of(job)
            except (JobRefused, ServiceError) as error:
                claims.fail(claim, f"It can't be run: {error}", Progress(), {"host": host.name})
                continue
            return Response(
                {
                    "job": job.pk, "fence": claim.fence, "lease_seconds": settings.JOB_LEASE_SECONDS,
                    "orders": orders,
                }
            )  # fmt: skip
        return Response(status=204)


class HostJobBeat(HostJobView):
    """Say how far it is. 409: the job is not this claim's any more."""

    @extend_schema(request=BeatSerializer, responses={200: BeatAnswerSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        _, _, claim, progress = self.read(BeatSerializer, request)
        try:
            return Response({"cancel": claims.beat(claim, progress)})
        except LostClaim as error:
            raise Conflict(str(error)) from error


class HostJobEnd(HostJobView):
    """Say what was done. Said again it changes nothing."""

    @extend_schema(request=EndSerializer, responses={200: JobSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        values, job, claim, progress = self.read(EndSerializer, request)
        environment = {"host": self.kwargs["host"]}
        results = values["results"]
        ordered = set(job.parameters["slots"])
        for place, item in enumerate(results):
            if item["slot"] not in ordered:
                refused = {place: {"slot": ["is no slot of this job"]}}
                raise ValidationError({"results": refused})  # type: ignore[dict-item]
        try:
            if values["cancelled"]:
                claims.stop(claim, progress, environment)
            elif not any(item["launched"] for item in results):
                claims.fail(claim, facts_sentence(len(ordered), results), progress, environment)
            else:
                claims.succeed(
                    claim, lambda: outcome_of(job, results), progress=progress, input_sha256="",
                    environment=environment,
                )  # fmt: skip
        except LostClaim as error:
            raise Conflict(str(error)) from error
        job.refresh_from_db()
        return Response(JobSerializer(job).data)
