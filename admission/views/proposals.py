"""What the text suggests recording, and the reviewer's decision about each."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from admission.forms import ProposalForm
from admission.models import Proposal, ProposalDecision, TrackedIssue
from admission.services.identity import find_issue
from admission.services.recording import decide, doubts, proposed_row
from admission.views.common import Preview, answer, as_of, page_context, short_facts, staff_only
from rlvram_site.access import is_staff

PER_PAGE = 40


@require_http_methods(["GET", "HEAD", "POST"])
def proposals(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """Open proposals with a form each for staff; decided ones below with what came of them."""
    issue = find_issue(owner, name, number, host)
    if request.method == "POST":
        return _decided(request, issue)
    return _page(request, issue)


@staff_only
def _decided(request: HttpRequest, issue: TrackedIssue) -> HttpResponse:
    try:
        proposal = Proposal.objects.select_related("issue").get(
            issue=issue, key=request.POST.get("proposal", "")
        )
    except Proposal.DoesNotExist:
        raise Http404("No such proposal") from None
    form = ProposalForm(request.POST, proposal=proposal)
    rejected = request.POST.get("verdict") == ProposalDecision.Verdict.REJECTED
    if form.is_valid():
        try:
            if not rejected and "record" not in request.POST:
                row = proposed_row(proposal, form.decision()["values"])
                return _page(request, issue, form, preview=Preview(row, short_facts(row), doubts(row)))
            decision = decide(proposal, **form.decision())
        except ValidationError as error:
            form.add_error(
                None, [f"{name}: {text}" for name, texts in error.message_dict.items() for text in texts]
            )
        else:
            messages.success(request, f"{proposal.found}: {decision.get_verdict_display()}")
            return redirect(f"{request.get_full_path()}#open")
    return _page(request, issue, form, status=400)


def _page(
    request: HttpRequest,
    issue: TrackedIssue,
    sent: ProposalForm | None = None,
    status: int = 200,
    preview: Preview | None = None,
) -> HttpResponse:
    moment = as_of(request)
    kind = request.GET.get("kind", "")
    pending = issue.proposal_rows.filter(decision__isnull=True).order_by("sort_at", "id")
    if kind in Proposal.Kind.values:
        pending = pending.filter(kind=kind)
    page = Paginator(pending, PER_PAGE).get_page(request.GET.get("page"))
    forms: list[ProposalForm | None] = [None] * len(page)
    if is_staff(request.user):
        choices = ProposalForm.choices_for(issue)
        forms = [
            sent
            if sent and sent.proposal.pk == proposal.pk
            else ProposalForm(proposal=proposal, choices=choices)
            for proposal in page
        ]
    decided = issue.proposaldecision_rows.all().select_related("proposal").order_by("-id")
    return answer(
        request,
        "admission/proposals.html",
        {
            **page_context(issue, "admission-proposals", moment),
            "proposals": page,
            "rows": list(zip(page, forms, strict=True)),
            "decided": decided[:100],
            "decided_count": decided.count(),
            "kinds": Proposal.Kind.choices,
            "kind": kind,
            "preview": preview,
            "at": sent.proposal.key if sent else "",
        },
        status=status,
    )
