"""Health of every part for a machine, and the operator's page for staff."""

from __future__ import annotations

import platform
import sys
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from host.version import product_version
from operating import state, worklist
from operating.models import Backup, Heartbeat
from rlvram_site.access import is_staff


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """Every part apart. Open to all, so it names neither machines nor people."""
    parts = state.parts()
    bad = [part.name for part in parts if not part.ok]
    answer: dict[str, Any] = {"status": f"not well: {', '.join(bad)}" if bad else "well"}
    answer |= {part.name: {"ok": part.ok, "state": part.sentence} for part in parts}
    return JsonResponse(answer, status=503 if bad else 200)


@require_safe
@never_cache
def operating(request: HttpRequest) -> HttpResponse:
    """What whoever runs the site looks at first."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not is_staff(request.user):
        raise PermissionDenied("The operator's page is for staff.")
    parts = [*state.parts(), state.ledger(), state.evidence(), state.backup()]
    here, known = state.hosts()
    return render(
        request,
        "operating/operating.html",
        {
            "parts": parts,
            "bad": [part for part in parts if not part.ok],
            "tasks": worklist.tasks(),
            "queues": state.queues(),
            "hosts_here": here,
            "hosts_known": known,
            "backups": Backup.objects.all()[:5],
            "alive": Heartbeat.objects.order_by("-heard_at")[:50],
            "versions": _versions(),
        },
    )


def _versions() -> list[tuple[str, str]]:
    number = ".".join(str(part) for part in connection.get_database_version())
    engine = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[connection.vendor]
    return [
        ("Site", product_version()),
        ("Mode", settings.MODE),
        ("Django", django.get_version()),
        ("Python", platform.python_version()),
        (engine, number),
        ("Broker", urlsplit(settings.BROKER_URL).scheme),
        ("Platform", f"{sys.platform} {platform.machine()}"),
    ]
