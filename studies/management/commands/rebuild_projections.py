"""Make the projections of studies anew from the ledger."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from studies.models import Study
from studies.services.projections.rebuilding import difference, rebuild


class Command(BaseCommand):
    help = "Makes what pages read of a study anew from the ledger, and says what differed."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study", nargs="?", default="", help="only the study of this slug")

    def handle(self, *args, study: str, **options) -> None:
        studies = Study.objects.filter(slug=study) if study else Study.objects.order_by("slug")
        if study and not studies:
            raise CommandError(f"no study is called {study!r}")
        for item in studies:
            problem = difference(item)
            rebuild(item)
            self.stdout.write(f"{item.slug}: {problem or 'was as the ledger gives it'}; made anew")
