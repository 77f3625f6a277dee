"""Import an issue thread as 'gh api' prints it."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from admission.services.importing import ImportReport, import_thread
from admission.thread.export import read_issue, read_timeline
from admission.thread.reading import ExportError, decode
from rlvram_site.bounded_files import read_whole


class Command(BaseCommand):
    help = (
        "Import an issue: FILE is what 'gh api repos/OWNER/NAME/issues/N' prints, --timeline what "
        "'gh api --paginate repos/OWNER/NAME/issues/N/timeline' prints. Only what is new is recorded."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--timeline", metavar="FILE", type=Path)
        parser.add_argument(
            "--put-back",
            action="store_true",
            help="accept a body that equals an earlier version's, because the issue was really put back",
        )

    def handle(self, *args, **options) -> None:
        try:
            issue = read_issue(read_file(options["file"]), options["file"].name)
            items = None
            if options["timeline"]:
                items = read_timeline(read_file(options["timeline"]), options["timeline"].name, issue)
            report = import_thread(issue, items, put_back=options["put_back"])
        except ExportError as error:
            raise CommandError(str(error)) from None
        for line in lines(report):
            self.stdout.write(line)


def read_file(path: Path) -> str:
    """The file's text. Raises ``ExportError`` that names the file."""
    try:
        return decode(read_whole(path), path.name)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from None


def lines(report: ImportReport) -> list[str]:
    """What the command prints: one greppable line per kind."""
    result = [f"{report.issue}: {'recorded' if report.changed else 'nothing new'}"]
    result += [f"added {kind}: {number}" for kind, number in sorted(report.added.items())]
    result += [f"recognised {kind}: {number}" for kind, number in sorted(report.recognised.items())]
    if report.count:
        result.append(
            f"comments: {report.count.present_comments} of {report.count.declared_comments}, "
            f"{report.count.missing_comments} not in this export"
        )
    return result
