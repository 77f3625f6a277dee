from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "notices"
    verbose_name = "Notifications"
    default_auto_field = "django.db.models.BigAutoField"
