"""What somebody tried to change in a study after the fact, for programs."""

from __future__ import annotations

from collections.abc import Iterable

from rlvram_site.api.filters import RecordFilterSet
from studies.api.serializers.refusals import RefusalSerializer
from studies.api.views.base import StudyTable
from studies.models import Refusal
from studies.models.refusals import STREAM


class RefusalFilter(RecordFilterSet):
    class Meta:
        model = Refusal
        fields = ["what"]


class RefusalList(StudyTable):
    """Refused changes: seals after an outcome, changed plans, replaced attempts. The site writes it."""

    serializer_class = RefusalSerializer
    filterset_class = RefusalFilter
    orderings = {"id": "pk"}
    csv_name = "refusals"

    queryset = Refusal.objects.all()

    def etag_streams(self) -> Iterable[str]:
        return [STREAM]
