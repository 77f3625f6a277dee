"""Run a method in development on a study and print what it would have been worth."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.estimation.errors import EstimationError
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.scores.development import development_document

_COUNTS = (
    ("targets", "scored"), ("correct_three_state", "right"), ("approved_within_margin", "useful"),
    ("approved_memory_failure", "approved, failed"), ("approved_above_margin", "approved, above margin"),
    ("rejected_within_margin", "usable, rejected"), ("undecided_within_margin", "usable, undecided"),
    ("undecided_other", "not usable, undecided"), ("unscored_approved", "approved, unscored"),
)  # fmt: skip


class Command(BaseCommand):
    help = (
        "Fits a method that was added when the labels were public already, for each held-out family and for "
        "the panel, records its predictions as development (never in a sealed set) and prints their counts: "
        '{"folds": {"FAMILY": …}, "panel": …, "elsewhere": …}. elsewhere are the measured configurations of '
        "the same families outside the fit, each predicted by the fit without its family."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="slug of a study that fits its own methods")
        parser.add_argument("--method", required=True, help="a method that its protocol does not name")
        parser.add_argument(
            "--undecided-as-rejected",
            action="store_true",
            help="count usable undecided targets as rejected, to compare with methods that can't say so",
        )
        parser.add_argument("--format", choices=("json", "table"), default="table")

    def handle(self, *args, **options) -> None:
        study = Study.objects.select_related("pool", "parent").filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"study {options['slug']!r} is not recorded")
        try:
            document = development_document(
                study, options["method"], undecided_as_rejected=options["undecided_as_rejected"]
            )
        except (EstimationError, ServiceError) as error:
            raise CommandError(str(error)) from None
        if options["format"] == "json":
            self.stdout.write(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_table(document)))


def _table(document: dict[str, Any]) -> list[str]:
    """A line for each scope; scopes are never added up."""
    rule = " (undecided counts as rejected)" if "undecided_counts_as" in document["panel"] else ""
    lines = [f"{document['method']}, {document['kind']}: not blind{rule}"]
    scopes = {f"held out {name}": counts for name, counts in document["folds"].items()}
    scopes |= {"panel": document["panel"], "outside the fit": document["elsewhere"]}
    for name, counts in scopes.items():
        lines.append(f"{name}: " + "; ".join(f"{counts[key]} {words}" for key, words in _COUNTS))
    lines += [
        f"  miss: {item['configuration_id']} ({item['family']}, {item['source_study']}): predicted "
        f"{item['predicted_state']}, observed {item['observed_state']}"
        for item in document["elsewhere"]["misses"]
    ]
    return lines
