"""The tracked issues on the home page."""

from __future__ import annotations

from typing import Any

from django import template

from admission.services.summaries import CARDS, summaries

register = template.Library()


@register.inclusion_tag("admission/_cards.html")
def tracked_issue_cards() -> dict[str, Any]:
    """The issues last spoken about: title, what holds and since when, open questions."""
    return {"cards": summaries()[:CARDS]}
