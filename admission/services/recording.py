"""What staff may add to an issue's records. Everything is a new row; superseding is the only way to change.

Callable from forms, the admin and the API alike: plain values in, recorded rows out, ``ValidationError`` by
field when something is missing or contradicts.
"""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from admission import dates, estimator
from admission.models import (
    Change,
    ChangeHead,
    Correction,
    LaterFact,
    Measurement,
    Proposal,
    ProposalDecision,
    Receipt,
    RecordedReplay,
    Review,
    StatusUpdate,
    TrackedIssue,
    Witness,
)
from admission.models.base import IssueRecord, Origin
from admission.services.facts import check_fact
from admission.services.identity import lock
from admission.services.timeline import find_statement
from admission.thread.reading import ExportError, storable
from rlvram_site.ledger.chain import record


def stated_time(text: str, field: str = "stated") -> dates.StatedTime:
    """A time as somebody types it; empty means now."""
    if not text.strip():
        return dates.at_instant(dt.datetime.now(dt.UTC).replace(microsecond=0))
    try:
        return dates.parse(text, dt.datetime.now(dt.UTC).date())
    except ValueError as error:
        raise ValidationError({field: str(error)}) from None


def new_key(issue: TrackedIssue, stem: str) -> str:
    """``stem-1``, or the next number that no record of the issue has."""
    return next(key for n in itertools.count(1) if find_statement(issue, key := f"{stem}-{n}") is None)


@transaction.atomic
def record_row(
    issue: TrackedIssue, row: IssueRecord, stem: str, stated: str = "", origin: Origin = Origin.STAFF
) -> IssueRecord:
    """Record ``row`` with a new key made from ``stem``. Raises ``ValidationError`` by field."""
    lock(issue)
    record(checked_row(issue, row, stem, stated, origin))
    return row


def checked_row(
    issue: TrackedIssue,
    row: IssueRecord,
    stem: str,
    stated: str | Proposal = "",
    origin: Origin = Origin.STAFF,
) -> IssueRecord:
    """``row`` as it would be recorded, with every check that recording makes; nothing is recorded.

    ``stated`` is a time in words (empty: now), or the proposal whose statement gives the time. A preview, a
    form, the admin and the API all come through here. Raises ``ValidationError`` by field.
    """
    row.issue, row.origin = issue, origin
    if isinstance(stated, Proposal):
        # The record bears the time of the statement that it comes from, not of the click.
        row.stated_words, row.stated_precision = stated.stated_words, stated.stated_precision
        row.stated_day, row.sort_at = stated.stated_day, stated.sort_at
    else:
        row.set_stated(stated_time(stated))
    row.key = row.key or new_key(issue, stem)
    for json_column in (f for f in row._meta.concrete_fields if isinstance(f, models.JSONField)):
        setattr(row, json_column.attname, _storable(json_column.name, getattr(row, json_column.attname)))
    row.clean_fields()
    for column in row._meta.concrete_fields:
        target = getattr(row, column.name, None) if isinstance(column, models.ForeignKey) else None
        if isinstance(target, IssueRecord) and target.issue_id != issue.pk:
            raise ValidationError({column.name: f"{target.key} belongs to another issue"})
    if find_statement(issue, row.key) is not None:
        raise ValidationError({"key": f"{row.key} is already recorded"})
    _check(row)
    return row


def _storable(field: str, value: Any) -> Any:
    try:
        return storable(value, field)
    except ExportError as error:
        raise ValidationError({field: str(error)}) from None


def _check(row: IssueRecord) -> None:
    if isinstance(row, Correction) and find_statement(row.issue, row.target) is None:
        raise ValidationError({"target": f"nothing is recorded under {row.target!r}"})
    if isinstance(row, LaterFact):
        target = find_statement(row.issue, row.target)
        check_fact(row, target.row if target else None)
    if isinstance(row, Receipt) and row.independent and row.is_own_verifier:
        raise ValidationError({"independent": f"{row.verified_by} made it; somebody else has to verify it"})
    if isinstance(row, Review):
        _check_review(row)
    if isinstance(row, Witness) and row.outcome != Witness.Outcome.DEVICE_OOM:
        given = [name for name in ("failed_request_bytes", "free_bytes") if getattr(row, name) is not None]
        if given:
            raise ValidationError({given[0]: "only an outcome out of device memory has one"})


def _check_review(row: Review) -> None:
    if not isinstance(row.findings, list) or any(
        not isinstance(f, dict)
        or set(f) != {"severity", "text"}
        or f["severity"] not in Review.SEVERITIES
        or not isinstance(f["text"], str)
        for f in row.findings
    ):
        raise ValidationError(
            {"findings": f'expected [{{"severity": one of {", ".join(Review.SEVERITIES)}, "text": …}}, …]'}
        )
    if (row.verdict == Review.Verdict.WITHDRAWN) != (row.withdraws_id is not None):
        raise ValidationError(
            {"withdraws": "a withdrawal names the review it withdraws, and nothing else does"}
        )
    if row.carried_from_id and not row.carry_reason.strip():
        raise ValidationError(
            {"carry_reason": "say why the verdict carries over, for example: same source tree"}
        )


def record_status(
    issue: TrackedIssue, *, claim: str, body: str, stated: str = "", signed_name: str = "", account: str = "",
    origin: Origin = Origin.STAFF,
) -> StatusUpdate:  # fmt: skip
    """A new status update; it supersedes what held before by being later."""
    status = StatusUpdate(claim=claim, body=body, signed_name=signed_name, account=account)
    status.heading = claim
    day = stated_time(stated).day
    record_row(issue, status, f"status-{day:%Y%m%d}", stated, origin)
    return status


def record_correction(
    issue: TrackedIssue, *, target: str, kind: str, text: str, stated: str = "", signed_name: str = "",
    origin: Origin = Origin.STAFF,
) -> Correction:  # fmt: skip
    """Say something about a recorded statement: it is corrected, withdrawn or superseded."""
    correction = Correction(target=target, kind=kind, text=text, signed_name=signed_name)
    record_row(issue, correction, "correction", stated, origin)
    return correction


def record_replay(
    witness: Witness,
    *,
    title: str,
    document: dict[str, Any],
    policies: list[str],
    origin: Origin = Origin.STAFF,
) -> RecordedReplay:
    """Run a replay and keep document, policies and results beside ``witness``.

    Raises the estimator's ``InputError`` and ``PolicyError``.
    """
    results = estimator.replay(document, policies)
    row = RecordedReplay(witness=witness, title=title, document=document, policies=policies, results=results)
    record_row(witness.issue, row, "replay", origin=origin)
    return row


@transaction.atomic
def decide(
    proposal: Proposal, *, verdict: str, values: dict[str, Any] | None = None, note: str = ""
) -> ProposalDecision:
    """Accept, edit or reject a proposal; an accepted one makes its record.

    ``values`` holds what the record needs beside the proposal: for a commit ``change`` and ``state``, for a
    size ``label`` and perhaps ``witness``, for a pull request ``title``, for a receipt ``label``, for a
    verdict
    ``change``, for a failure ``title`` and ``decision``; for an edited one also what differs.
    Raises ``ValidationError`` by field, also for a proposal that is already decided.
    """
    issue = proposal.issue
    lock(issue)
    made: IssueRecord | None = None
    if verdict != ProposalDecision.Verdict.REJECTED:
        made = proposed_row(proposal, values)
        record(made)
    else:
        _check_undecided(proposal)
    decision = ProposalDecision(
        proposal=proposal, verdict=verdict, made=made.key if made else "", note=note,
        key=proposal.key.replace("proposal-", "decision-", 1),
    )  # fmt: skip
    record_row(issue, decision, "decision")
    return decision


def proposed_row(proposal: Proposal, values: dict[str, Any] | None = None) -> IssueRecord:
    """The record that accepting ``proposal`` with ``values`` would make, checked and not recorded.

    Raises ``ValidationError`` by field.
    """
    _check_undecided(proposal)
    made = _made_from(proposal, {**proposal.value, **(values or {})})
    made.stated_in, made.sentence = proposal.stated_in, proposal.sentence
    return checked_row(proposal.issue, made, proposal.kind, proposal)


def _check_undecided(proposal: Proposal) -> None:
    if ProposalDecision.objects.filter(proposal=proposal).exists():
        raise ValidationError({"verdict": "this proposal is already decided"})


def doubts(row: IssueRecord) -> list[str]:
    """What a reviewer should know before recording ``row``: a hash that nothing else names."""
    sha = getattr(row, "sha", "") or getattr(row, "head_sha", "")
    if not sha or _is_named(row.issue, sha):
        return []
    return [f"{sha} stands in no text of this issue and in no recorded head. Is it the right one?"]


def _is_named(issue: TrackedIssue, sha: str) -> bool:
    short = sha[:7]
    texts = (issue.threaditem_rows, issue.statusupdate_rows, issue.issueversion_rows)
    named = any(rows.filter(body__contains=short).exists() for rows in texts)
    return named or issue.changehead_rows.filter(sha__startswith=short).exists()


def _made_from(proposal: Proposal, values: dict[str, Any]) -> IssueRecord:
    kind = proposal.kind
    if kind == Proposal.Kind.CHANGE:
        own = values["repository"].lower() == proposal.issue.repository.lower()
        return Change(
            repository="" if own else values["repository"],
            number=values["number"],
            title=values.get("title", ""),
        )
    if kind == Proposal.Kind.COMMIT:
        change = _change_of(values, "choose the change that this commit is a head of")
        return ChangeHead(change=change, sha=values["sha"], state=values.get("state", ""))
    if kind == Proposal.Kind.VERDICT:
        change = _change_of(values, "choose the change that this verdict is about")
        return Review(
            change=change, head_sha=values.get("head_sha", ""), reviewer=values.get("reviewer", ""),
            verdict=values["verdict_given"] if "verdict_given" in values else values["verdict"],
            withdraws=values.get("withdraws"),
        )  # fmt: skip
    if kind == Proposal.Kind.FAILURE:
        request: Any = values.get("failed_request_bytes")
        return Witness(
            title=values.get("title", ""), decision=values.get("decision") or Witness.Decision.ADMITTED,
            outcome=values["outcome"], failed_request_bytes=request,
            failed_request_words=values.get("failed_request_words", ""),
        )  # fmt: skip
    if kind == Proposal.Kind.RECEIPT:
        return Receipt(label=values.get("label", ""), location=values["location"], sha256=values["sha256"])
    return Measurement(
        label=values.get("label", ""), size_bytes=values["size_bytes"], witness=values.get("witness"),
        size_words=values.get("size_words", ""), basis=values.get("basis") or Measurement.Basis.OTHER,
    )  # fmt: skip


def _change_of(values: dict[str, Any], missing: str) -> Change:
    change = values.get("change")
    if not isinstance(change, Change):
        raise ValidationError({"change": missing})
    return change
