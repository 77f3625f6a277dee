"""Write everything recorded about an issue to a file."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from admission.models import TrackedIssue
from admission.services.exchange import as_document, as_text
from admission.services.identity import known_issue


class Command(BaseCommand):
    help = "Write everything recorded about OWNER/NAME#N to a new file, which import_record reads."

    def add_arguments(self, parser) -> None:
        parser.add_argument("issue", metavar="[HOST/]OWNER/NAME#N")
        parser.add_argument("--output", metavar="FILE", type=Path, required=True)

    def handle(self, *args, **options) -> None:
        match = re.fullmatch(r"(?:([\w.-]+(?::\d+)?)/)?([\w.-]+)/([\w.-]+)#(\d{1,9})", options["issue"])
        if match is None:
            raise CommandError(f"{options['issue']!r} is not an issue; expected for example octo/cat#7")
        issue = known_issue(match[2], match[3], int(match[4]), match[1] or "")
        if issue is None:
            known = ", ".join(str(issue) for issue in TrackedIssue.objects.all()[:20]) or "none"
            raise CommandError(f"{options['issue']} is not tracked here; tracked: {known}")
        document = as_document(issue)
        try:
            with options["output"].open("x", encoding="utf-8") as file:
                file.write(as_text(document))
        except FileExistsError:
            raise CommandError(f"{options['output']} exists already and is left as it is") from None
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror or error}") from None
        self.stdout.write(f"{issue}: written to {options['output']}, sha256 {document['sha256']}")
