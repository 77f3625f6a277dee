"""The tracked issues on the home page."""

from __future__ import annotations

from typing import Any

from django import template

from admission.services.overview import issue_cards

register = template.Library()


@register.inclusion_tag("admission/_cards.html")
def tracked_issue_cards() -> dict[str, Any]:
    """One card per tracked issue: title, what holds and since when, open questions."""
    return {"cards": issue_cards()}
