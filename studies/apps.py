from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from rlvram_site.api.conflicts import tell_as_conflict
        from studies.services.errors import UNREADABLE

        tell_as_conflict(*UNREADABLE)
