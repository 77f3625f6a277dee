"""Find what changed and send what is due."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from notices.evidence import watch_evidence
from notices.sending import deliver_due
from notices.watching import watch


class Command(BaseCommand):
    help = (
        "Looks at every issue and study that grew, writes what people are to be told, and sends what is due. "
        "Workers do the same every half minute; this is for a server without them."
    )

    def handle(self, *args, **options) -> None:
        written = watch() + watch_evidence()
        delivered, failed = deliver_due()
        self.stdout.write(f"{written} noticed, {delivered} delivered, {failed} not delivered")
