"""Jobs: list, start, look at, cancel, retry, run anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.access import is_staff
from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.api.permissions import scopes_of
from rlvram_site.api.tables import Table
from studies.api.filters import JobFilter
from studies.api.serializers.jobs import (
    JobDetailSerializer,
    JobRequestSerializer,
    JobResultSerializer,
    JobSerializer,
    NothingSerializer,
    RerunSerializer,
)
from studies.jobs import claims, kinds
from studies.jobs.errors import JobRefused
from studies.jobs.starting import refusal, rerun, start
from studies.models import Job, Study


def check_allowed(request: Request, kind_name: str) -> None:
    """Raises ``PermissionDenied`` if the caller may not start, retry or cancel that kind."""
    try:
        kind = kinds.kind_of(kind_name)
    except JobRefused as error:
        raise as_validation_error(error) from error
    problem = refusal(kind, scopes_of(request), by_staff=is_staff(request.user))
    if problem:
        raise PermissionDenied(problem)


def as_validation_error(error: JobRefused) -> ValidationError:
    """The refusal in the API's shape; ``parameters.x`` becomes a nested field."""
    detail: Any = [error.message]
    for name in reversed(error.field.split(".")):
        detail = {name: detail}
    return ValidationError(detail)


class JobView(GenericAPIView):
    """What every view of jobs has. A key that is bound to a study sees and does nothing for others."""

    def required_scope(self, request: Request) -> Scope:
        return Scope.JOBS

    def bound_study(self) -> Study | None:
        """The only study that the caller's key is for."""
        return self.request.auth.study if isinstance(self.request.auth, ApiKey) else None

    def find(self) -> Job:
        """The job of the address, or 404."""
        rows = Job.objects.select_related("study", "earlier")
        job = rows.filter(pk=self.kwargs["job"]).first()
        if job is None:
            raise NotFound(f"There is no job {self.kwargs['job']}.")
        bound = self.bound_study()
        if bound is not None and job.study_id != bound.pk:
            raise PermissionDenied(f"This key is bound to the study {bound.slug!r}.")
        return job


class JobList(Table, JobView):
    """Jobs, newest last. Writing starts one."""

    serializer_class = JobSerializer
    filterset_class = JobFilter
    csv_name = "jobs"

    queryset = Job.objects.select_related("study")

    def get_queryset(self):
        bound = self.bound_study()
        return super().get_queryset() if bound is None else super().get_queryset().filter(study=bound)

    @extend_schema(request=JobRequestSerializer, responses={201: JobSerializer}, filters=False)
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = JobRequestSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = sent.validated_data
        check_allowed(request, values["kind"])
        study = None
        if "study" in values:
            study = Study.objects.filter(slug=values["study"]).first()
            if study is None:
                raise ValidationError({"study": ["is no study that is recorded here"]})
        try:
            job = start(values["kind"], study, values.get("parameters", {}), afresh=values["afresh"])
        except JobRefused as error:
            raise as_validation_error(error) from error
        return Response(self.get_serializer(job).data, status=201)


class JobDetail(JobView):
    """One job with its history."""

    serializer_class = JobDetailSerializer

    def get(self, request: Request, *args, **kwargs) -> Response:
        return Response(self.get_serializer(self.find()).data)


class JobResultView(JobView):
    """What the job produced."""

    serializer_class = JobResultSerializer

    def get(self, request: Request, *args, **kwargs) -> Response:
        job = self.find()
        result = job.result
        if result is None:
            raise NotFound(f"Job {job.pk} has no result; it is {job.get_state_display()}.")
        return Response(self.get_serializer(result.as_json()).data)


class JobAction(JobView, ABC):
    """Something that is done to a job."""

    serializer_class = JobSerializer

    @abstractmethod
    def act(self, job: Job, request: Request) -> tuple[Job, int]:
        """Do it; returns the job to answer with, and the status."""

    def _answer(self, request: Request) -> Response:
        job = self.find()
        check_allowed(request, job.kind)
        try:
            job, status = self.act(job, request)
        except JobRefused as error:
            raise Conflict(error.message) from error
        job.refresh_from_db()
        return Response(self.get_serializer(job).data, status=status)


class JobCancel(JobAction):
    """Cancel: at once while it waits, at its next step while it runs."""

    def act(self, job: Job, request: Request) -> tuple[Job, int]:
        claims.cancel(job.pk)
        return job, 200

    @extend_schema(request=NothingSerializer, responses={200: JobSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        return self._answer(request)


class JobRetry(JobAction):
    """Queue a failed or cancelled job again."""

    def act(self, job: Job, request: Request) -> tuple[Job, int]:
        claims.retry(job.pk)
        return job, 200

    @extend_schema(request=NothingSerializer, responses={200: JobSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        return self._answer(request)


class JobRerun(JobAction):
    """A new job with the same parameters."""

    def act(self, job: Job, request: Request) -> tuple[Job, int]:
        sent = RerunSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return rerun(job, afresh=sent.validated_data["afresh"]), 201

    @extend_schema(request=RerunSerializer, responses={201: JobSerializer})
    def post(self, request: Request, *args, **kwargs) -> Response:
        return self._answer(request)
