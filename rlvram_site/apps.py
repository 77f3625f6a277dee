import contextlib
from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class SiteConfig(AppConfig):
    name = "rlvram_site"
    label = "ledger"
    verbose_name = "Ledger"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from rlvram_site import checks  # noqa: F401 - registers itself
        from rlvram_site.ledger.checks import check_also
        from rlvram_site.ledger.triggers import install
        from rlvram_site.witness.stamping import broken_signatures, broken_stamps

        check_also(broken_stamps)
        check_also(broken_signatures)
        # Django's check asks for it; where it can't be made, that check says so.
        with contextlib.suppress(OSError):
            Path(settings.FILE_UPLOAD_TEMP_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)

        # After every migrate, not in one migration: SQLite rebuilds a table to alter it, and its triggers go.
        post_migrate.connect(install, sender=self, dispatch_uid="ledger-triggers")
