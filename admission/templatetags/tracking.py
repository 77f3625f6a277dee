"""“Track this issue” on other pages."""

from __future__ import annotations

from typing import Any

from django import template

from admission.sync.forge import forge_host
from admission.views.tracking import may_track

register = template.Library()


@register.inclusion_tag("admission/_track_section.html", takes_context=True)
def track_section(context: dict[str, Any]) -> dict[str, Any]:
    """The form for those who may follow issues, and where the followed ones stand."""
    return {
        "allowed": may_track(context["request"]),
        "host": forge_host(),
        "csrf_token": context.get("csrf_token"),
    }
