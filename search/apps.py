from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class SearchConfig(AppConfig):
    name = "search"
    verbose_name = "Search"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let each app say what its records are found by."""
        autodiscover_modules("searching")
