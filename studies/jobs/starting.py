"""Starting jobs: whether somebody may, and with which parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rlvram_site.api.keys import Scope
from studies.jobs import claims, kinds
from studies.jobs.errors import JobRefused
from studies.jobs.kinds.base import Kind
from studies.models import Job, Study


def refusal(kind: Kind, scopes: Collection[str], *, by_staff: bool) -> str:
    """Why somebody with these scopes may not start, retry or cancel this kind; empty if they may."""
    if Scope.JOBS not in scopes:
        return f"This needs the scope {Scope.JOBS!s}, which the key or role does not have."
    if kind.staff_only and not by_staff:
        return f"Only staff may start, retry or cancel the kind {kind.name!r}."
    return ""


def start(
    kind_name: str, study: Study | None, parameters: Mapping[str, Any], *, afresh: bool = False,
    operator: bool = False, hand_over: bool = True,
) -> Job:  # fmt: skip
    """Queue a new job.

    ``operator``: it comes from the server's own command line. ``hand_over`` False: the caller runs it itself.
    Raises ``JobRefused`` naming the field that is wrong.
    """
    kind = kinds.kind_of(kind_name)
    values = kind.clean(study, parameters, operator=operator)
    return claims.queue(kind.name, kind.queue_for(values), study, values, afresh=afresh, hand_over=hand_over)


def rerun(job: Job, *, afresh: bool = False) -> Job:
    """Queue a new job with the parameters of one that has ended.

    Raises ``JobRefused`` while it has not.
    """
    if not job.ended:
        raise JobRefused("", f"Job {job.pk} has not ended yet.")
    return claims.queue(job.kind, job.queue, job.study, job.parameters, afresh=afresh, rerun_of=job)
