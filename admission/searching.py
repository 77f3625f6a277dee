"""What the records of tracked issues are found by."""

from __future__ import annotations

from typing import Any

from admission.models import (
    Change,
    ChangeHead,
    Correction,
    IssueEvent,
    IssueVersion,
    Measurement,
    OpenQuestion,
    QuestionMention,
    Receipt,
    RelatedIssue,
    Review,
    StatusUpdate,
    ThreadItem,
    TrackedIssue,
    Witness,
)
from admission.models.base import IssueRecord
from search.documents import Document, describes

_LABEL = 160


def _said(row: IssueRecord, label: str, *words: Any) -> Document:
    name = " ".join(label.split()) or row.key
    cut = name if len(name) <= _LABEL else f"{name[:_LABEL].rstrip()} …"
    more = (name if cut != name else "", row.key, *words, row.sentence, row.stated_words)
    return Document(cut, row.get_absolute_url(), str(row.issue), more)


@describes(TrackedIssue, "issue", "Tracked issues")
def issue(row: TrackedIssue) -> Document:
    return Document(row.label, row.get_absolute_url(), "memory admission", (row.url,))


@describes(IssueVersion, "issue", "Tracked issues", ("issue",))
def version(row: IssueVersion) -> Document:
    words = (row.body, row.body_sha256)
    return Document(row.title, row.issue.get_absolute_url(), str(row.issue), words)


@describes(Change, "change", "Changes", ("issue",))
def change(row: Change) -> Document:
    # People write the number with and without its sign.
    name = f"{row.label} {row.title}" if row.number is not None else row.title
    return _said(row, name, row.scope, row.repository)


@describes(ChangeHead, "head", "Heads of changes", ("issue", "change"))
def head(row: ChangeHead) -> Document:
    words = (row.get_state_display(), row.get_checks_display(), row.merged_sha, row.note)
    return _said(row, f"{row.change.label} at {row.sha or 'no stated head'}", *words)


@describes(Review, "review", "Reviews", ("issue", "change"))
def review(row: Review) -> Document:
    findings = " ".join(str(found.get("text", "")) for found in row.findings if isinstance(found, dict))
    words = (row.account, row.head_sha, row.base_sha, findings, row.note, row.carry_reason)
    return _said(row, f"{row.reviewer} on {row.change.label}: {row.get_verdict_display()}", *words)


@describes(Witness, "witness", "Witnesses", ("issue",))
def witness(row: Witness) -> Document:
    words = (
        row.model_name, row.hardware, row.policy_revision, row.get_decision_display(),
        row.get_outcome_display(), row.note, row.required_bytes, row.usable_bytes, row.failed_request_bytes,
    )  # fmt: skip
    return _said(row, row.title, *words)


@describes(Measurement, "measurement", "Measurements", ("issue",))
def measurement(row: Measurement) -> Document:
    return _said(row, row.label, row.size_bytes, row.size_words, row.measured_from, row.measured_to)


@describes(Receipt, "receipt", "Receipts", ("issue",))
def receipt(row: Receipt) -> Document:
    return _said(row, row.label, row.location, row.sha256, row.author, row.verified_by)


@describes(StatusUpdate, "statement", "Statements", ("issue",))
def update(row: StatusUpdate) -> Document:
    words = (row.heading, row.signed_name, row.account, row.supersedes_words, row.body, row.text_sha256)
    return _said(row, row.claim, *words)


@describes(Correction, "correction", "Corrections", ("issue",))
def correction(row: Correction) -> Document:
    return _said(row, row.text, row.get_kind_display(), row.target, row.signed_name)


@describes(OpenQuestion, "question", "Open questions", ("issue",))
def question(row: OpenQuestion) -> Document:
    return _said(row, row.text)


@describes(QuestionMention, "question", "Open questions", ("issue", "question"))
def mention(row: QuestionMention) -> Document | None:
    return _said(row, row.note, row.get_says_display()) if row.note else None


@describes(RelatedIssue, "related", "Related issues", ("issue",))
def related(row: RelatedIssue) -> Document:
    return _said(row, f"{row.repository}#{row.number} {row.title}", row.why_separate)


@describes(ThreadItem, "comment", "Comments and events of threads", ("issue",))
def item(row: ThreadItem) -> Document:
    return _said(row, row.body or row.event, row.account, row.signed_name, row.external_id, row.url)


@describes(IssueEvent, "comment", "Comments and events of threads", ("issue",))
def happened(row: IssueEvent) -> Document:
    words = (row.account, row.cause, row.before, row.after)
    return _said(row, f"{row.get_kind_display()} by {row.account}" if row.account else row.kind, *words)
