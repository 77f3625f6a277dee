"""Record what methods in development say of the studies that are here."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.predictions.development import record_all_developments


class Command(BaseCommand):
    help = (
        "Fits each method that was added when the labels were public, and that no protocol names, on a study "
        "or on all of them, and records its predictions as development. Safe to run again."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", nargs="?", help="slug of one study; without it all that fit their own")

    def handle(self, *args, **options) -> None:
        studies = Study.objects.select_related("pool", "parent").order_by("pk")
        if options["slug"]:
            studies = studies.filter(slug=options["slug"])
            if not studies:
                raise CommandError(f"study {options['slug']!r} is not recorded")
        for study in studies:
            try:
                recorded = record_all_developments(study)
            except UNREADABLE as error:
                if options["slug"]:
                    raise CommandError(str(error)) from None
                self.stderr.write(f"study {study.slug}: no method in development: {error}")
                continue
            for name, number in recorded.items():
                self.stdout.write(f"study {study.slug}: {name} in development, {number} prediction sets")
