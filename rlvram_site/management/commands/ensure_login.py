"""One login for a fresh site, with a password that nobody else has."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Creates a superuser with a random password, prints it once and keeps it, readable by its owner "
        "only, under DATA_DIR. A user that exists is left as it is."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("--username", default="admin")

    def handle(self, *args, username: str, **options) -> None:
        try:
            UnicodeUsernameValidator()(username)
        except ValidationError as error:
            raise CommandError(f"--username {username!r}: {' '.join(error.messages)}") from error
        users = get_user_model().objects
        kept = settings.DATA_DIR / f"{username}-password"
        if users.filter(username=username).exists():
            where = f", its first password is kept in {kept}" if kept.exists() else ""
            self.stdout.write(f"login {username} exists{where}")
            return
        password = secrets.token_urlsafe(18)
        # The file first: a password that exists only in the database could never be told to anybody.
        _write_private(kept, password)
        users.create_superuser(username=username, password=password)
        self.stdout.write(f"login {username}, password {password} (kept in {kept})")


def _write_private(path: Path, text: str) -> None:
    """A new file with mode 0600; an old one (of a site whose database is gone) is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text + "\n")
