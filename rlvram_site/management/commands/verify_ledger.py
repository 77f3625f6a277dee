"""Walk the ledger's chains and say, in one line per stream, whether each still holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from rlvram_site.ledger import triggers
from rlvram_site.ledger.heads import HeadsFileError, heads_document, read_heads
from rlvram_site.ledger.verify import derived_problems, extends, unchained, verify_streams
from rlvram_site.witness.models import STREAM as WITNESSES
from rlvram_site.witness.stamping import broken_signatures, broken_stamps


class Command(BaseCommand):
    help = "Walks every stream's chain. Exits 1 and names the first broken link of each broken stream."

    def add_arguments(self, parser) -> None:
        parser.add_argument(
            "stream",
            nargs="?",
            default="",
            help="only streams whose name, or whose part behind the slash, starts with this",
        )
        parser.add_argument("--heads", type=Path, help="heads kept earlier: check that history extends them")
        parser.add_argument(
            "--since",
            type=Path,
            help="heads kept earlier of a whole ledger: walk only what came after",
        )
        parser.add_argument("--export-heads", type=Path, help="write the current heads to this new file")

        parser.add_argument(
            "--evidence", action="store_true", help="read stored evidence, too, and compare its hashes"
        )
        parser.add_argument("--older-than", metavar="DAYS", help="evidence not checked for so many days")
        parser.add_argument("--limit", metavar="N", help="so many files of evidence at most")

    def handle(self, *args, stream: str, heads: Path | None, export_heads: Path | None, **options) -> None:
        if not options["evidence"] and (options["older_than"] or options["limit"]):
            raise CommandError("--older-than and --limit choose evidence: expected --evidence with them")
        try:
            kept = read_heads(heads) if heads else []
            after = read_heads(options["since"]) if options["since"] else []
        except HeadsFileError as error:
            raise CommandError(str(error)) from error
        if export_heads and export_heads.exists():
            raise CommandError(f"--export-heads: {export_heads} exists already and is not overwritten")

        problems: list[str] = []
        found, reports = [], []
        for report in verify_streams(stream, after):
            found.append(report.head)
            reports.append(report)
            if report.ok:
                part = f", {report.walked} of them walked" if after else ""
                end = f"{report.head.sequence} links{part}, head {report.head.sha256}"
                self.stdout.write(f"ok      {report.head.stream}  {end}")
            else:
                self._broken(problems, f"{report.head.stream}  {report.problem}")
        for problem in triggers.missing():
            self._broken(problems, f"guard  {problem}; manage.py migrate installs it")
        for row in unchained(stream):
            self._broken(
                problems, f"{row.stream}  {row.record} was inserted outside the ledger: no link names it"
            )
        for problem in derived_problems(reports):
            self._broken(problems, problem)
        if any(report.ok and report.head.stream == WITNESSES for report in reports):
            for problem in (*broken_stamps(), *broken_signatures()):
                self._broken(problems, f"{WITNESSES}  {problem}")
        walked = {head.stream for head in found}
        for head in [*kept, *(head for head in after if not stream and head.stream not in walked)]:
            if problem := extends(head):
                self._broken(problems, f"{head.stream}  {problem}")
        if not found and not problems:
            if stream:
                raise CommandError(f"no stream starts with {stream!r}")
            self.stdout.write("nothing is recorded yet")
        if options["evidence"]:
            self._verify_evidence(problems, options)
        if problems:
            raise CommandError(f"{len(problems)} broken; the first: {problems[0]}")
        if export_heads:
            self._export(export_heads, json.dumps(heads_document(found), indent=1) + "\n")

    def _verify_evidence(self, problems: list[str], options: dict[str, Any]) -> None:
        chosen = [
            f"--{name.replace('_', '-')}={options[name]}" for name in ("older_than", "limit") if options[name]
        ]
        try:
            call_command("verify_evidence", *chosen, stdout=self.stdout, stderr=self.stderr)
        except CommandError as error:
            problems.append(str(error))
            self.stdout.write(f"BROKEN  {error}")

    def _broken(self, problems: list[str], line: str) -> None:
        problems.append(line)
        self.stdout.write(f"BROKEN  {line}")

    def _export(self, path: Path, text: str) -> None:
        try:
            with path.open("x", encoding="utf-8") as handle:
                handle.write(text)
        except FileExistsError as error:
            raise CommandError(f"--export-heads: {path} exists already and is not overwritten") from error
        except OSError as error:
            raise CommandError(f"--export-heads: {path} cannot be written: {error.strerror}") from error
        self.stdout.write(f"wrote   {path}")
