"""The role that the site runs as on PostgreSQL: it reads and appends, and owns nothing."""

from __future__ import annotations

import os
import re

from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError, connection

from rlvram_site.ledger.roles import grant_site_role

PASSWORD = "SITE_DATABASE_PASSWORD"  # noqa: S105 - the variable's name
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)


class Command(BaseCommand):
    help = (
        "Makes the role, or brings it down to what the site needs. Run as the owner of the tables, after "
        f"each migrate. The role's password is read from the variable {PASSWORD}."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("role", help="name of the role that DATABASE_URL of the site names")

    def handle(self, *args, role: str, **options) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("only PostgreSQL has roles; the embedded site's database is a file")
        if not _NAME.fullmatch(role):
            raise CommandError(f"role {role!r}: expected small letters, digits and _, such as rlvram_site")
        try:
            grant_site_role(role, os.environ.get(PASSWORD, ""))
        except (ValueError, ProgrammingError) as error:
            raise CommandError(f"role {role}: {str(error).strip()}") from error
        self.stdout.write(f"role {role} reads, appends, and owns nothing")
