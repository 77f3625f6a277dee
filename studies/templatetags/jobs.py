"""Job states on pages, and the buttons that start jobs."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from rlvram_site.access import is_staff
from rlvram_site.api.permissions import scopes_of_person
from studies.jobs.kinds import kind_of
from studies.jobs.starting import refusal
from studies.models import Job, Study

register = template.Library()
GLYPHS = {
    Job.State.QUEUED: "…",
    Job.State.RUNNING: "▸",
    Job.State.SUCCEEDED: "✓",
    Job.State.FAILED: "✕",
    Job.State.CANCELLED: "–",
}


@register.simple_tag
def job_state(job: Job) -> SafeString:
    """The state's mark and word; a lost worker is said."""
    word = "worker lost" if job.lapsed else job.get_state_display()
    name = "lost" if job.lapsed else job.state
    glyph = "!" if job.lapsed else GLYPHS[Job.State(job.state)]
    return format_html(
        '<span class="job-state job-{}"><span class="glyph" aria-hidden="true">{}</span> {}</span>',
        name, glyph, word,
    )  # fmt: skip


@register.inclusion_tag("jobs/_start.html", takes_context=True)
def start_buttons(context: dict[str, Any], study: Study, *names: str) -> dict[str, Any]:
    """A button for each kind that the person may start on ``study``; nothing for others."""
    user = context["request"].user
    scopes = scopes_of_person(user)
    offered = [
        kind
        for kind in map(kind_of, names)
        if not refusal(kind, scopes, by_staff=is_staff(user)) and kind.offered_on(study)
    ]
    return {"kinds": offered, "study": study, "csrf_token": context.get("csrf_token")}
