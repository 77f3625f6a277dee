"""Beginning a study from its folder, and adding models and what happened around the invocations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import Scope
from rlvram_site.api.parsers import BoundedJSONParser, BoundedMultiPartParser
from rlvram_site.api.tables import JsonErrors, RecordTable
from studies.api.serializers.beginnings import (
    AllocationSerializer,
    AllocationsSerializer,
    AllocationsUploadSerializer,
    ArchitectureSerializer,
    ArchitectureUploadSerializer,
    CheckedFolderSerializer,
    FolderSerializer,
    NonLaunchesSerializer,
    NonLaunchesUploadSerializer,
    NonLaunchSerializer,
)
from studies.api.views.base import StudyTable, refuse
from studies.directory.files import check_paths, read_archive
from studies.directory.problems import Problem, Problems
from studies.directory.summary import summary
from studies.estimation.errors import EstimationError
from studies.models import Allocation, ModelArchitecture, NonLaunch, Pool
from studies.services.errors import UploadConflict, UploadRefused
from studies.services.outcomes.surroundings import add_allocations, add_non_launches
from studies.services.plan import creating
from studies.services.plan.models_of_pools import add_architecture

FOLDER_PARSERS = [BoundedJSONParser, BoundedMultiPartParser]


def sent_files(request: Request) -> dict[str, bytes]:
    """The files of a request's folder. Raises ``ValidationError`` with every path or member that is wrong."""
    sent = FolderSerializer(data=request.data)
    sent.is_valid(raise_exception=True)
    values = sent.validated_data
    if ("files" in values) == ("archive" in values):
        raise ValidationError({"files": ["expected either files or a form with an archive"]})
    problems = Problems()
    if "archive" in values:
        files = read_archive(values["archive"], problems)
    else:
        check_paths(values["files"], problems)
        files = {path: text.encode("utf-8", "replace") for path, text in values["files"].items()}
    if problems:
        raise refused_folder(problems.all)
    return files


def refused_folder(problems: Sequence[Problem]) -> ValidationError:
    """Problems of a folder as an error of the API: each field is ``file:line field``."""
    found: dict[str, list[str]] = {}
    for problem in problems:
        place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
        found.setdefault(f"{place} {problem.field}", []).append(
            f"is {problem.value}, expected {problem.expected}"
        )
    return ValidationError(found)


class StudyCheck(JsonErrors):
    """Says everything that is wrong with a study's folder, or what would be recorded. Changes nothing."""

    serializer_class = CheckedFolderSerializer
    parser_classes = FOLDER_PARSERS

    def required_scope(self, request: Request) -> Scope:
        return Scope.STUDIES

    @extend_schema(request=FolderSerializer, responses=CheckedFolderSerializer)
    def post(self, request: Request) -> Response:
        with creating.as_folder(sent_files(request)) as folder:
            directory, problems = creating.check(folder)
        result = {
            "accepted": directory is not None,
            "problems": problems,
            "summary": summary(directory) if directory is not None else [],
        }
        return Response(CheckedFolderSerializer(result).data)


class ArchitectureList(RecordTable):
    """The models of a pool. Writing adds one, by its `config.json`."""

    serializer_class = ArchitectureSerializer
    orderings = {"model_id": "model_id", "id": "pk"}
    csv_name = "architectures"

    queryset = ModelArchitecture.objects.all()

    def required_scope(self, request: Request) -> Scope:
        return Scope.STUDIES

    @property
    def pool(self) -> Pool:
        """The pool of the address, or 404."""
        found = Pool.objects.filter(slug=self.kwargs["pool"]).first()
        if found is None:
            raise NotFound(f"There is no pool {self.kwargs['pool']!r} here.")
        return found

    def get_queryset(self) -> QuerySet[ModelArchitecture]:
        return super().get_queryset().filter(pool=self.pool)

    def etag_streams(self) -> Iterable[str]:
        return [self.pool.stream]

    @extend_schema(
        request=ArchitectureUploadSerializer,
        responses={201: ArchitectureSerializer, 200: ArchitectureSerializer},
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        pool = self.pool
        sent = ArchitectureUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = sent.validated_data
        content = json.dumps(values.pop("config"), sort_keys=True).encode()
        try:
            row, new = add_architecture(pool, content, **values)
        except EstimationError as error:
            raise ValidationError({f"config.{error.field}": [str(error)]}) from error
        except UploadConflict as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(row).data, status=201 if new else 200)


Added = list[tuple[Any, bool]]


def added(
    view: StudyTable, request: Request, name: str, serializer: type, add: Callable[..., Added]
) -> Response:
    """Add the rows of a request's list ``name``: 201 if any is new, 200 if all were there already."""
    sent = serializer(data=request.data)
    sent.is_valid(raise_exception=True)
    rows = sent.validated_data[name]
    try:
        result = add(view.study, rows)
    except UploadRefused as error:
        raise refuse(error, name, len(rows)) from error
    recorded = [row for row, _ in result]
    status = 201 if any(new for _, new in result) else 200
    return Response({name: view.get_serializer(recorded, many=True).data}, status=status)


class AllocationList(StudyTable):
    """Scheduler allocations: what the scheduler says of their time, in GPU-seconds."""

    serializer_class = AllocationSerializer
    csv_name = "allocations"
    write_scope = Scope.ATTEMPTS

    queryset = Allocation.objects.all()

    @extend_schema(
        request=AllocationsUploadSerializer,
        responses={201: AllocationsSerializer, 200: AllocationsSerializer}, filters=False,
    )  # fmt: skip
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return added(self, request, "allocations", AllocationsUploadSerializer, add_allocations)


class NonLaunchList(StudyTable):
    """Slots that were claimed or planned and never became an invocation."""

    serializer_class = NonLaunchSerializer
    csv_name = "non-launches"
    write_scope = Scope.ATTEMPTS

    queryset = NonLaunch.objects.select_related("slot")

    @extend_schema(
        request=NonLaunchesUploadSerializer,
        responses={201: NonLaunchesSerializer, 200: NonLaunchesSerializer}, filters=False,
    )  # fmt: skip
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return added(self, request, "non_launches", NonLaunchesUploadSerializer, add_non_launches)
