from django.apps import AppConfig


class AdmissionConfig(AppConfig):
    name = "admission"
    verbose_name = "Memory admission"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import admission.sync.jobs  # noqa: F401 - its kind of job becomes known
        from admission.services import worklist
        from rlvram_site.waiting import add_source

        add_source(worklist.waiting, worklist.contradicted)
