"""Attempts by the commit that ran, for whoever follows a repository; and a badge for its README."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from rlvram_site.tables.paging import page_of
from studies.services.outcomes.commits import attempts_of, commits_of, status_of
from studies.services.outcomes.slots import attempt_states
from studies.services.outcomes.verdict import state_of
from studies.text.verdicts import commit_address, pull_request_address
from studies.text.words import counted, label_words
from studies.views.common import get_study, study_page

ROWS_PER_PAGE = 50


def commits(request: HttpRequest, slug: str) -> HttpResponse:
    """Every commit of which an attempt is recorded."""
    study = get_study(slug)
    page = page_of(request, commits_of(study), ROWS_PER_PAGE)
    rows = [
        {**row, "address": commit_address(row["repository"] or "", row["execution_commit"])} for row in page
    ]
    said = f"{counted(page.paginator.count, 'commit')} with recorded attempts." if rows else ""
    return study_page(request, study, "commits", page_of_rows=page, rows=rows, sentence=said)


def commit(request: HttpRequest, slug: str, commit: str) -> HttpResponse:
    """The attempts of one commit."""
    study = get_study(slug)
    page = page_of(request, attempts_of(study, commit), ROWS_PER_PAGE)
    attempts = list(page)
    if not attempts:
        raise Http404(f"No attempt of {commit} is recorded in this study.")
    states = attempt_states(attempts)
    rows = [
        {
            "attempt": row, "state": state_of(row), "role": states[row.pk].role,
            "pull_request": row.facts.get("pull_request"),
            "pull_request_address": pull_request_address(
                row.facts.get("repository", ""), row.facts.get("pull_request")
            ),
        }
        for row in attempts
    ]  # fmt: skip
    repository = next((row.facts["repository"] for row in attempts if row.facts.get("repository")), "")
    return study_page(
        request, study, "commit", commit=commit, rows=rows, page_of_rows=page,
        address=commit_address(repository, commit),
    )  # fmt: skip


def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """How the newest commit stands, or the one that is asked for, as a small picture."""
    study = get_study(slug)
    status = status_of(study, request.GET.get("commit", "")[:64])
    state = status.state if status else "none"
    said = f"{label_words(state)} · {status.commit[:8]}" if status else "no attempt yet"
    answer = render(
        request, "studies/badge.svg",
        {"said": said, "state": state, "left": 92, "width": 92 + 20 + round(len(said) * 6.6)},
        content_type="image/svg+xml",
    )  # fmt: skip
    answer["Cache-Control"] = "no-cache"
    return answer
