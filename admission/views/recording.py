"""Recording a witness from a log and a verdict from its address: read, preview, record."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from admission.forms_record import AddressForm, PasteForm, VerdictForm, WitnessForm
from admission.models import TrackedIssue
from admission.models.base import IssueRecord
from admission.services.identity import find_issue
from admission.services.recording import checked_row, doubts, record_row
from admission.thread.loglines import read_log
from admission.views.common import Preview, answer, as_of, page_context, short_facts, staff_only


@staff_only
@require_http_methods(["GET", "HEAD", "POST"])
def witness(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """A witness from a pasted log line or admission message."""
    issue = find_issue(owner, name, number, host)
    first = PasteForm(request.POST if "read" in request.POST else None)
    form: WitnessForm | None = None
    said = ""
    if "read" in request.POST and first.is_valid():
        found = read_log(first.cleaned_data["log"])
        form = WitnessForm.from_log(found)
        said = "" if found else "No decision, outcome or size was recognised in it. Fill in what it says."
    elif request.method == "POST" and "read" not in request.POST:
        form = WitnessForm(request.POST)
    return _steps(request, issue, "witness", first, form, said)


@staff_only
@require_http_methods(["GET", "HEAD", "POST"])
def verdict(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """A verdict from the address of a review."""
    issue = find_issue(owner, name, number, host)
    first = AddressForm(request.POST if "read" in request.POST else None)
    form: VerdictForm | None = None
    said = ""
    if "read" in request.POST and first.is_valid():
        form, item = VerdictForm.from_address(issue, first.cleaned_data["address"])
        said = "" if item else "What stands there was not imported. Fill in what it says."
    elif request.method == "POST" and "read" not in request.POST:
        form = VerdictForm(request.POST, issue=issue)
    return _steps(request, issue, "verdict", first, form, said)


def _steps(
    request: HttpRequest, issue: TrackedIssue, what: str, first: forms.Form, form: Any, said: str
) -> HttpResponse:
    """One page for the three steps; whatever is wrong is said at its field, and nothing is recorded then."""
    preview = None
    status = 400 if first.errors else 200
    if form is not None and form.is_bound:
        status = 400
        if form.is_valid():
            try:
                row: IssueRecord = form.row()
                if "record" in request.POST:
                    record_row(issue, row, stem=_stem(what), stated=form.cleaned_data["stated"])
                    messages.success(request, f"Recorded as {row.key}.")
                    return redirect(row.get_absolute_url())
                checked_row(issue, row, _stem(what), form.cleaned_data["stated"])
            except ValidationError as error:
                for field, texts in error.message_dict.items():
                    form.add_error(field if field in form.fields else None, texts)
            else:
                preview, status = Preview(row, short_facts(row), doubts(row)), 200
    return answer(
        request,
        "admission/record.html",
        {
            **page_context(issue, f"admission-record-{what}", as_of(request)),
            "what": what,
            "first": first,
            "form": form,
            "said": said,
            "preview": preview,
        },
        status,
    )


def _stem(what: str) -> str:
    return "witness" if what == "witness" else "review"
