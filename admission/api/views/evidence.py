"""Changes with their heads and reviews, receipts, witnesses with what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from admission.api import filters
from admission.api.serializers import records, uploads
from admission.api.serializers.derived import (
    ChangeHeadSerializer,
    ChangeSerializer,
    ReviewSerializer,
    WitnessSerializer,
)
from admission.api.views.base import Contextual, IssueTable, takes
from admission.api.views.estimates import refuse_estimate
from admission.estimator import InputError, PolicyError
from admission.models import (
    Change,
    ChangeHead,
    LaterFact,
    Measurement,
    Receipt,
    RecordedReplay,
    Review,
    Witness,
)
from admission.services.changes import change_rows
from admission.services.facts import later_facts, with_facts
from admission.services.uploads import record_once, record_witness, replay_row
from admission.services.witnesses import scored_witnesses
from rlvram_site.api.keys import Scope


class _OfChanges(Contextual, IssueTable):
    """Rows that say what stands for a change's heads."""

    def derive(self, rows: Sequence[Any]) -> dict[str, Any]:
        found = change_rows(self.issue, self.day)
        with_facts([row for row in rows if isinstance(row, Change)], later_facts(self.issue, self.day))
        return {
            "changes": {row.change.pk: row for row in found},
            "verdicts": {
                given.review.pk: given for row in found for head in row.heads for given in head.verdicts
            },
        }


@takes(uploads.ChangeUpload, Scope.STATUS, "change")
class ChangeList(_OfChanges):
    """Pull requests and local candidates, each with its heads and the verdict that stands."""

    serializer_class = ChangeSerializer
    filterset_class = filters.ChangeFilter
    csv_name = "changes"

    queryset = Change.objects.all()


@takes(uploads.HeadUpload, Scope.STATUS, "head")
class HeadList(_OfChanges):
    """Every statement about a head."""

    serializer_class = ChangeHeadSerializer
    filterset_class = filters.HeadFilter
    csv_name = "heads"

    queryset = ChangeHead.objects.select_related("change")


@takes(uploads.ReviewUpload, Scope.STATUS, "review")
class ReviewList(_OfChanges):
    """Every verdict, and whether it stands. A withdrawal is a review that names the one it withdraws."""

    serializer_class = ReviewSerializer
    filterset_class = filters.ReviewFilter
    csv_name = "reviews"

    queryset = Review.objects.select_related("change", "carried_from", "withdraws")


@takes(uploads.ReceiptUpload, Scope.STATUS, "receipt")
class ReceiptList(IssueTable):
    """Retained evidence: where it is, its digest, who checked it."""

    serializer_class = records.EvidenceReceiptSerializer
    filterset_class = filters.ReceiptFilter
    csv_name = "receipts"

    queryset = Receipt.objects.all()


@takes(uploads.WitnessUpload, Scope.WITNESSES)
class WitnessList(Contextual, IssueTable):
    """Admission decisions with what happened and what follows. Sizes are bytes."""

    serializer_class = WitnessSerializer
    filterset_class = filters.WitnessFilter
    csv_name = "witnesses"

    queryset = Witness.objects.select_related("same_shape_as", "contradicted_by")

    def derive(self, rows: Sequence[Witness]) -> dict[str, Any]:
        with_facts(rows, later_facts(self.issue, self.day))
        return {"witnesses": {s.witness.pk: s for s in scored_witnesses(self.issue, self.day)}}

    def recorded(self, values: dict[str, Any], stated: str) -> tuple[Any, bool]:
        sent = [(item.pop("stated", ""), item) for item in map(dict, values.pop("measurements", []))]
        measured = [(Measurement(issue=self.issue, **item), said) for said, item in sent]
        return record_witness(self.issue, Witness(issue=self.issue, **values), measured, stated)


@takes(uploads.FactUpload, Scope.STATUS, "fact")
class FactList(IssueTable):
    """What was first stated later about a recorded row; the row is read with it from then on."""

    serializer_class = records.FactSerializer
    filterset_class = filters.FactFilter
    csv_name = "later-facts"

    queryset = LaterFact.objects.all()


@takes(uploads.MeasurementUpload, Scope.WITNESSES)
class MeasurementList(IssueTable):
    """Measured sizes in bytes, each with from where to where it was measured."""

    serializer_class = records.MeasurementSerializer
    filterset_class = filters.MeasurementFilter
    csv_name = "measurements"

    queryset = Measurement.objects.select_related("witness")


@takes(uploads.ReplayUpload, Scope.WITNESSES)
class ReplayList(IssueTable):
    """Replays that are kept beside a witness. What is sent is priced here; results are never taken."""

    serializer_class = records.ReplaySerializer
    filterset_class = filters.ReplayFilter
    csv_name = "replays"

    queryset = RecordedReplay.objects.select_related("witness")

    def get_queryset(self) -> QuerySet:
        return super().get_queryset().defer("document")

    def recorded(self, values: dict[str, Any], stated: str) -> tuple[Any, bool]:
        try:
            row = replay_row(**values)
        except (InputError, PolicyError) as error:
            raise refuse_estimate(error, "document") from error
        return record_once(self.issue, row, "replay", stated=stated)
