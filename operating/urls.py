"""Addresses of the operator's page, of health and of the measurements."""

from django.conf import settings
from django.urls import path

from operating import views

urlpatterns = [
    path("health/", views.health, name="health"),
    path("operating/", views.operating, name="operating"),
]
if settings.METRICS:
    from operating.metrics import metrics

    urlpatterns.append(path("metrics", metrics, name="metrics"))
