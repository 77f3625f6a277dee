"""Health checks for a process manager: alive (the process answers) and ready (its database answers too)."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache


@never_cache
def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "alive"})


@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return JsonResponse({"status": "not ready", "database": str(error)}, status=503)
    return JsonResponse({"status": "ready"})
