"""``rebuild_search``: makes the rows of the search anew from the ledger."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from search.indexing import rebuild


class Command(BaseCommand):
    help = "Forget what the search found records by, and read the ledger from its beginning."

    def handle(self, *args: Any, **options: Any) -> None:
        links = rebuild()
        self.stdout.write(f"The search knows {links:,} records again.")
