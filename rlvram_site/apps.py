from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SiteConfig(AppConfig):
    name = "rlvram_site"
    label = "ledger"
    verbose_name = "Ledger"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from rlvram_site import checks  # noqa: F401 - registers itself
        from rlvram_site.ledger.triggers import install

        # After every migrate, not in one migration: SQLite rebuilds a table to alter it, and its triggers go.
        post_migrate.connect(install, sender=self, dispatch_uid="ledger-triggers")
