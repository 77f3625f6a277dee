"""Write streams of the ledger as JSON lines, for rlvram-verify."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from rlvram_site.ledger.export import export_lines
from rlvram_site.ledger.models import LedgerStream


class Command(BaseCommand):
    help = (
        "Writes every link of the named streams with its row, one JSON object a line "
        "(docs/ledger-format.md). rlvram-verify checks the file without this site. Name a study's pool and "
        "parent as well: its seal binds them."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("stream", nargs="+", help="a stream's whole name, as verify_ledger prints it")
        parser.add_argument("--output", type=Path, required=True, help="a file that is not there yet")

    def handle(self, *args, stream: list[str], output: Path, **options) -> None:
        known = {row.name: row for row in LedgerStream.objects.filter(name__in=stream)}
        for name in stream:
            if name not in known:
                names = ", ".join(LedgerStream.objects.order_by("name").values_list("name", flat=True)[:20])
                raise CommandError(f"no stream is called {name!r}, expected one of: {names or 'none yet'}")
        part = output.with_name(f"{output.name}.part")
        if output.exists():
            raise CommandError(f"{output}: exists already, expected a file that is not there yet")
        try:
            with part.open("x", encoding="utf-8") as file:
                count = sum(
                    file.write(f"{line}\n") > 0
                    for line in export_lines(known[name] for name in dict.fromkeys(stream))
                )
            part.rename(output)
        except OSError as error:
            raise CommandError(f"{output}: cannot be written ({error.strerror})") from None
        except ValueError as error:
            part.unlink(missing_ok=True)
            raise CommandError(f"{error}; verify_ledger says more") from None
        self.stdout.write(f"{output}: {count - 1} links")
