"""Studies, their protocols and amendments, configurations and slots, pools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.api.tables import RecordTable
from rlvram_site.ledger.chain import head
from studies.api.filters import ConfigurationFilter, SlotFilter
from studies.api.serializers.beginnings import FolderSerializer
from studies.api.serializers.plan import (
    AmendmentSerializer,
    ConfigurationSerializer,
    ConfigurationsSerializer,
    HeadSerializer,
    PoolSerializer,
    ProtocolSerializer,
    SlotSerializer,
    SlotsSerializer,
    StudyDetailSerializer,
    StudySerializer,
)
from studies.api.serializers.plan_uploads import ConfigurationsUploadSerializer, SlotsUploadSerializer
from studies.api.views.base import StudyDetail, StudyTable, StudyView, refuse
from studies.api.views.beginnings import FOLDER_PARSERS, refused_folder, sent_files
from studies.models import Amendment, Configuration, Pool, SeedSlot, Study
from studies.services.errors import UNREADABLE, ServiceError, UploadRefused
from studies.services.life import life
from studies.services.outcomes.slots import slot_states
from studies.services.plan import amendments, creating, protocols
from studies.services.plan.drafts import NotADraft, add_configurations, add_slots
from studies.services.predictions.seals import seal_state


class StudyList(RecordTable):
    """Every study that the key or person may read."""

    serializer_class = StudySerializer
    orderings = {"slug": "slug", "id": "pk"}
    csv_name = "studies"

    queryset = Study.objects.select_related("pool", "parent")

    def get_queryset(self) -> QuerySet[Study]:
        studies = super().get_queryset()
        bound = self.request.auth.study if isinstance(self.request.auth, ApiKey) else None
        return studies.filter(pk=bound.pk) if bound else studies

    def etag_streams(self) -> Iterable[str]:
        return [study.stream for study in self.get_queryset()]

    parser_classes = FOLDER_PARSERS

    def required_scope(self, request: Request) -> Scope:
        return Scope.STUDIES

    @extend_schema(
        request=FolderSerializer, responses={201: StudySerializer, 200: StudySerializer}, filters=False
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        """Record the study of a folder and freeze its protocol. The same files again find the same study."""
        with creating.as_folder(sent_files(request)) as folder:
            try:
                study, new = creating.create_once(folder)
            except creating.FolderRefused as refusal:
                raise refused_folder(refusal.problems) from refusal
        return Response(self.get_serializer(study).data, status=201 if new else 200)


class StudyDetailView(StudyDetail):
    """One study, whether it is prospective, and the head of its ledger."""

    serializer_class = StudyDetailSerializer

    def find(self) -> Study:
        study: Any = self.study
        study.seal_state, study.head = seal_state(study), head(study.stream)
        try:
            study.life = life(study)
        except UNREADABLE:
            study.life = None
        return study


class StudyHead(StudyDetail):
    """The head of the study's ledger: keep it, and check later that history still contains it."""

    serializer_class = HeadSerializer

    def find(self) -> Any:
        return head(self.study.stream)


class ProtocolView(StudyDetail):
    """The base protocol as it was frozen, and the effective one."""

    serializer_class = ProtocolSerializer

    def find(self) -> Any:
        try:
            base = protocols.base_protocol(self.study)
            self.effective = protocols.effective_protocol(self.study)
        except ServiceError as error:
            raise NotFound(str(error)) from error
        return base

    def get_serializer_context(self) -> dict[str, Any]:
        context = {**super().get_serializer_context()}
        if hasattr(self, "effective"):
            context["effective"] = self.effective
            context["effective_sha256"] = protocols.effective_sha256(self.study)
            context["amendments"] = list(
                self.study.amendments.order_by("number").values_list("number", flat=True)
            )
        return context


class AmendmentList(StudyTable):
    """Amendments in order, each with the word that the ledger gives it."""

    serializer_class = AmendmentSerializer
    orderings = {"number": "number"}
    csv_name = "amendments"

    queryset = Amendment.objects.all()

    def prepare(self, rows: Sequence[Any]) -> None:
        self.changes = {item.amendment.pk: item for item in amendments.effects(self.study)} if rows else {}

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "changes": getattr(self, "changes", {})}


class ConfigurationList(StudyTable):
    """Planned configurations. Writing adds to a draft study: one that is neither sealed nor launched."""

    serializer_class = ConfigurationSerializer
    filterset_class = ConfigurationFilter
    orderings = {"configuration_id": "configuration_id", "id": "pk"}
    csv_name = "configurations"
    write_scope = Scope.PLAN

    queryset = Configuration.objects.all()

    @extend_schema(
        request=ConfigurationsUploadSerializer,
        responses={201: ConfigurationsSerializer, 200: ConfigurationsSerializer},
        filters=False,
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = ConfigurationsUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return _added(self, "configurations", sent.validated_data["configurations"], add_configurations)


class ConfigurationDetail(StudyDetail):
    """One planned configuration."""

    serializer_class = ConfigurationSerializer

    def find(self) -> Configuration:
        return _one(
            Configuration.objects.filter(study=self.study), "configuration_id", self.kwargs["configuration"]
        )


class SlotList(StudyTable):
    """Planned processes with what is known of each. Writing adds to a draft study."""

    serializer_class = SlotSerializer
    filterset_class = SlotFilter
    orderings = {"position": "position", "experiment_id": "experiment_id", "id": "pk"}
    csv_name = "slots"
    write_scope = Scope.PLAN

    queryset = SeedSlot.objects.select_related("configuration")

    def prepare(self, rows: Sequence[Any]) -> None:
        self.slots = slot_states(rows)

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "slots": getattr(self, "slots", {})}

    @extend_schema(
        request=SlotsUploadSerializer,
        responses={201: SlotsSerializer, 200: SlotsSerializer},
        filters=False,
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = SlotsUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return _added(self, "slots", sent.validated_data["slots"], add_slots)


class SlotDetail(StudyDetail):
    """One planned process."""

    serializer_class = SlotSerializer

    def find(self) -> SeedSlot:
        rows = SeedSlot.objects.filter(study=self.study).select_related("configuration")
        slot = _one(rows, "experiment_id", self.kwargs["slot"])
        self.slots = slot_states([slot])
        return slot

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "slots": getattr(self, "slots", {})}


class PoolList(RecordTable):
    """Pools of configurations that were measured earlier."""

    serializer_class = PoolSerializer
    orderings = {"slug": "slug", "id": "pk"}
    csv_name = "pools"

    queryset = Pool.objects.all()

    def etag_streams(self) -> Iterable[str]:
        return [pool.stream for pool in Pool.objects.all()]


class PoolConfigurationList(RecordTable):
    """The configurations of one pool."""

    serializer_class = ConfigurationSerializer
    filterset_class = ConfigurationFilter
    orderings = {"configuration_id": "configuration_id", "id": "pk"}
    csv_name = "pool-configurations"

    queryset = Configuration.objects.all()

    def get_queryset(self) -> QuerySet[Configuration]:
        return super().get_queryset().filter(pool=self._pool())

    def etag_streams(self) -> Iterable[str]:
        return [self._pool().stream]

    def _pool(self) -> Pool:
        return _one(Pool.objects.all(), "slug", self.kwargs["pool"])


def _one(rows: QuerySet, field: str, value: str) -> Any:
    row = rows.filter(**{field: value}).first()
    if row is None:
        raise NotFound(f"There is no {rows.model._meta.verbose_name} {value!r} here.")
    return row


def _added(view: StudyView, name: str, rows: list[Any], add: Any) -> Response:
    """201 if anything is new, 200 if everything was there already."""
    try:
        result = add(view.study, rows)
    except UploadRefused as error:
        raise refuse(error, name, len(rows)) from error
    except NotADraft as error:
        raise Conflict(str(error)) from error
    recorded = [row for row, _ in result]
    if name == "slots":
        view.prepare(recorded)  # type: ignore[attr-defined]
    status = 201 if any(new for _, new in result) else 200
    return Response({name: view.get_serializer(recorded, many=True).data}, status=status)
