from django.apps import AppConfig


class AdmissionConfig(AppConfig):
    name = "admission"
    verbose_name = "Memory admission"
    default_auto_field = "django.db.models.BigAutoField"
