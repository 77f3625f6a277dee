"""Print a study's scores, computed from the ledger."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.estimation.errors import EstimationError
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.scores.evaluation import evaluation_document, record_evaluations

_COUNTS = (
    ("queries", "scored"), ("correct_three_state", "correct"), ("approved_within_margin", "useful"),
    ("approved_memory_failure", "approved, failed"), ("approved_above_margin", "approved, above margin"),
    ("rejected_within_margin", "usable, rejected"),
)  # fmt: skip


class Command(BaseCommand):
    help = (
        "Computes the panel's evaluation and the scores of each held-out family from what is recorded, "
        "records them, and prints them under the archive's key names: "
        '{"evaluation": …, "folds": {"FAMILY": {"scores": …}}}.'
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="slug of a study")
        parser.add_argument("--format", choices=("json", "table"), default="table")

    def handle(self, *args, **options) -> None:
        study = Study.objects.select_related("pool", "parent").filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"study {options['slug']!r} is not recorded")
        try:
            record_evaluations(study)
            document = evaluation_document(study)
        except (EstimationError, ServiceError) as error:
            raise CommandError(str(error)) from None
        if options["format"] == "json":
            self.stdout.write(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_tables(document)))


def _tables(document: dict[str, Any]) -> list[str]:
    """One table for the panel and one for each family; they are never added up."""
    evaluation = document["evaluation"]
    lines = [
        f"panel: {evaluation['resolved_configurations']} of {evaluation['planned_configurations']} "
        "configurations resolved",
        *_rows(evaluation["resolved_subset_metrics"]),
    ]
    for method, approvals in evaluation["approvals"].items():
        lines.append(
            f"  {method}: {approvals['full_panel_approved_configurations']} approvals, "
            f"{approvals['unscored_approved_configurations']} of them unscored, "
            f"{len(approvals['unscored_approvals_with_known_failure'])} of those with a known failure"
        )
    for family, fold in document["folds"].items():
        lines += ["", f"held-out family {family}", *_rows(fold["scores"])]
    return lines


def _rows(scores: dict[str, Any]) -> list[str]:
    width = max(map(len, scores), default=0)
    return [
        f"  {method:<{width}}  " + "  ".join(f"{values[key]} {word}" for key, word in _COUNTS)
        for method, values in scores.items()
    ]
