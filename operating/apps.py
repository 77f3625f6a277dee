from django.apps import AppConfig


class OperatingConfig(AppConfig):
    name = "operating"
    verbose_name = "Operating"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from operating import tracing, worklist
        from rlvram_site.waiting import add_source

        add_source(worklist.waiting)
        tracing.connect()
