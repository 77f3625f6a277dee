"""Records an exported thread: all of it or nothing, and only what is new.

What was recorded stays: a newer body adds a version, the statements it preserves are recognised, a statement
or comment in other words becomes a revision of the recorded one.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from dataclasses import dataclass, field

from django.db import transaction

from admission import dates
from admission.models import IssueEvent, IssueVersion, StatusUpdate, ThreadCount, ThreadItem, TrackedIssue
from admission.models.base import IssueRecord, Origin
from admission.services.proposals import proposals_from
from admission.thread.export import ExportedIssue, ExportedItem
from admission.thread.reading import ExportError
from admission.thread.statuses import StatusBlock, status_blocks
from rlvram_site.ledger.chain import record, record_all
from rlvram_site.ledger.models import LedgerStream


@dataclass
class ImportReport:
    """What an import added, and what the issue holds now."""

    issue: TrackedIssue
    added: Counter[str] = field(default_factory=Counter)
    recognised: Counter[str] = field(default_factory=Counter)
    count: ThreadCount | None = None

    @property
    def changed(self) -> bool:
        return bool(self.added)


@transaction.atomic
def import_thread(
    exported: ExportedIssue, items: list[ExportedItem] | None = None, *, put_back: bool = False
) -> ImportReport:
    """Record what ``exported`` and its timeline add.

    ``put_back`` accepts a body that equals an earlier version's. Raises ``ExportError`` when the export is
    older than what is recorded or contradicts it; nothing is recorded then.
    """
    issue = locked_issue(exported.owner, exported.name, exported.number, exported.url)
    report = ImportReport(issue)
    version = _record_version(issue, exported, report, put_back)
    fresh: list[IssueRecord] = []
    fresh += _record_statuses(issue, exported, report)
    if items is not None:
        fresh += _record_items(issue, items, report)
    _record_events(issue, exported, items or [], report)
    report.count = _record_count(issue, exported, version, report)
    proposed = proposals_from(issue, fresh)
    record_all(proposed)
    if proposed:
        report.added["proposals"] += len(proposed)
    return report


def locked_issue(owner: str, name: str, number: int, url: str = "") -> TrackedIssue:
    """The issue's row, made if need be; its stream stays locked until the transaction ends."""
    # GitHub's names do not distinguish case.
    found = TrackedIssue.objects.filter(owner__iexact=owner, name__iexact=name, number=number)
    known = found.first()
    lock, _ = LedgerStream.objects.get_or_create(
        name=known.stream if known else f"issue/{owner}/{name}/{number}"
    )
    LedgerStream.objects.select_for_update().get(pk=lock.pk)
    issue = known or found.first()
    if issue is None:
        issue = TrackedIssue(owner=owner, name=name, number=number, url=url)
        record(issue)
    return issue


def _record_version(
    issue: TrackedIssue, exported: ExportedIssue, report: ImportReport, put_back: bool
) -> IssueVersion:
    digest = hashlib.sha256(exported.body.encode()).hexdigest()
    versions = list(issue.issueversion_rows.all().order_by("number").defer("body", "raw"))
    latest = issue.issueversion_rows.all().order_by("-number").first()
    if latest is not None:
        same_text = (latest.title, latest.body_sha256) == (exported.title, digest)
        if exported.updated.sort_at < latest.sort_at:
            raise ExportError(
                f"{issue}: this export is of {exported.updated.words}, older than the one already imported "
                f"({latest.stated_words}); import exports oldest first"
            )
        if not same_text and exported.updated.sort_at == latest.sort_at:
            raise ExportError(
                f"{issue}: this export and the one already imported both say updated_at "
                f"{latest.stated_words}, but their texts differ; one of the files was edited"
            )
        older = next((v for v in versions[:-1] if v.body_sha256 == digest != latest.body_sha256), None)
        if older is not None and not put_back:
            raise ExportError(
                f"{issue}: the body is that of version {older.number} ({older.stated_words}), which version "
                f"{latest.number} replaced; if the issue was really put back, import with --put-back"
            )
        if same_text and latest.raw == exported.raw:
            report.recognised["versions"] += 1
            return latest
    version = IssueVersion(
        issue=issue,
        key=f"version-{len(versions) + 1}",
        origin=Origin.THREAD,
        number=len(versions) + 1,
        title=exported.title,
        body=exported.body,
        body_sha256=digest,
        raw=exported.raw,
    )
    version.set_stated(exported.updated)
    record(version)
    report.added["versions"] += 1
    return version


def _record_statuses(
    issue: TrackedIssue, exported: ExportedIssue, report: ImportReport
) -> list[StatusUpdate]:
    known = list(issue.statusupdate_rows.all().order_by("id"))
    by_digest = {status.text_sha256 for status in known if status.text_sha256}
    keys = {status.key: status for status in known}
    new: list[StatusUpdate] = []
    ordinals: Counter[str] = Counter()
    for block in status_blocks(exported.body, exported.updated.day):
        stated = block.stated or dates.StatedTime(
            exported.created.words, exported.created.precision, exported.created.day,
            exported.created.earliest, exported.created.latest,
        )  # fmt: skip
        stem = "report" if block.is_report else f"status-{stated.day:%Y%m%d}"
        ordinals[stem] += 1
        key = stem if block.is_report else f"{stem}-{ordinals[stem]}"
        if block.text_sha256 in by_digest:
            report.recognised["status updates"] += 1
            continue
        original = keys.get(key)
        if original and original.origin == Origin.THREAD and not _same_heading(original, block):
            # Another statement of that day, which this body does not preserve, holds the name.
            number = next(n for n in itertools.count(ordinals[stem]) if f"{stem}-{n}" not in keys)
            key, original = f"{stem}-{number}", None
        if original is not None:
            revision = next(n for n in itertools.count(2) if f"{original.key}-r{n}" not in keys)
            key = f"{original.key}-r{revision}"
        status = _status(issue, exported, block, stated, key)
        status.revises = original
        record(status)
        keys[key] = status
        by_digest.add(block.text_sha256)
        new.append(status)
        report.added["revised status updates" if original else "status updates"] += 1
    return new


def _same_heading(original: StatusUpdate, block: StatusBlock) -> bool:
    return " ".join(original.heading.split()) == " ".join(block.heading.split())


def _status(
    issue: TrackedIssue, exported: ExportedIssue, block: StatusBlock, stated: dates.StatedTime, key: str
) -> StatusUpdate:
    status = StatusUpdate(
        issue=issue,
        key=key,
        origin=Origin.THREAD,
        kind=StatusUpdate.Kind.REPORT if block.is_report else StatusUpdate.Kind.UPDATE,
        heading=block.heading,
        claim=block.claim,
        body=block.body,
        account=exported.account,
        signed_name=block.signed_name,
        supersedes_words=block.supersedes_words,
        text_sha256=block.text_sha256,
    )
    status.set_stated(stated)
    return status


def _record_items(issue: TrackedIssue, items: list[ExportedItem], report: ImportReport) -> list[IssueRecord]:
    recorded: dict[str, ThreadItem] = {}
    for item in issue.threaditem_rows.all().order_by("id").defer("raw"):
        recorded[_root_key(item.key)] = item  # the latest revision
    new: list[ThreadItem] = []
    for exported in items:
        kind = ThreadItem.Kind.COMMENT if exported.is_comment else ThreadItem.Kind.EVENT
        key = f"{kind}-{exported.identity}"
        before = recorded.get(key)
        if before is not None and before.body == exported.body:
            report.recognised[f"{kind}s"] += 1
            continue
        row = ThreadItem(
            issue=issue,
            key=key if before is None else _next_revision(before.key),
            origin=Origin.THREAD,
            kind=kind,
            event=exported.event,
            known=exported.known,
            external_id=str(exported.raw.get("id", ""))[:200],
            url=exported.url,
            account=exported.account,
            signed_name=exported.signed_name,
            body=exported.body,
            raw=exported.raw,
            revises=before,
        )
        row.set_stated(exported.stated)
        new.append(row)
        report.added[f"{kind}s" if before is None else f"edited {kind}s"] += 1
    record_all(new)
    return [item for item in new if item.kind == ThreadItem.Kind.COMMENT]


def _root_key(key: str) -> str:
    """``comment-12`` of ``comment-12-r3``; identities hold digits and a-f, so there is no other ``-r``."""
    return key.partition("-r")[0]


def _next_revision(key: str) -> str:
    root, _, number = key.partition("-r")
    return f"{root}-r{int(number or 1) + 1}"


def _record_events(
    issue: TrackedIssue, exported: ExportedIssue, items: list[ExportedItem], report: ImportReport
) -> None:
    recorded = set(issue.issueevent_rows.all().values_list("key", flat=True))
    renames = [item for item in items if item.event == "renamed"]
    first_title = _rename(renames[0])[0] if renames else exported.title
    opened = _event(issue, IssueEvent.Kind.OPENED, "opened", exported.created, exported.account)
    opened.after = first_title or exported.title
    found = [opened]
    numbers: Counter[str] = Counter()
    for item in items:
        if item.event not in ("closed", "reopened", "renamed"):
            continue
        stem = f"{item.event}-{item.stated.day:%Y%m%d}"
        numbers[stem] += 1
        event = _event(
            issue, IssueEvent.Kind(item.event), f"{stem}-{numbers[stem]}", item.stated, item.account
        )
        event.stated_in = f"event-{item.identity}"
        event.before, event.after = _rename(item)
        event.cause = _cause(item)
        found.append(event)
    new = [event for event in found if event.key not in recorded]
    record_all(new)
    if new:
        report.added["issue events"] += len(new)


def _event(
    issue: TrackedIssue, kind: IssueEvent.Kind, key: str, stated: dates.StatedTime, account: str
) -> IssueEvent:
    event = IssueEvent(issue=issue, key=key, origin=Origin.THREAD, kind=kind, account=account)
    event.set_stated(stated)
    return event


def _rename(item: ExportedItem) -> tuple[str, str]:
    rename = item.raw.get("rename")
    if not isinstance(rename, dict):
        return "", ""
    before, after = rename.get("from"), rename.get("to")
    return (before if isinstance(before, str) else ""), (after if isinstance(after, str) else "")


def _cause(item: ExportedItem) -> str:
    commit = item.raw.get("commit_id")
    if isinstance(commit, str) and commit:
        return f"commit {commit[:64]}"
    reason = item.raw.get("state_reason")
    return reason.replace("_", " ")[:200] if isinstance(reason, str) else ""


def _record_count(
    issue: TrackedIssue, exported: ExportedIssue, version: IssueVersion, report: ImportReport
) -> ThreadCount:
    present = issue.threaditem_rows.filter(kind=ThreadItem.Kind.COMMENT, revises__isnull=True).count()
    earlier = list(issue.threadcount_rows.all().order_by("-id"))
    if earlier:
        last = earlier[0]
        if (last.declared_comments, last.present_comments) == (exported.declared_comments, present):
            return last
    missing = max(0, exported.declared_comments - present)
    place = next((count.place for count in earlier if count.missing_comments == missing and count.place), "")
    count = ThreadCount(
        issue=issue,
        key=f"count-{len(earlier) + 1}",
        origin=Origin.THREAD,
        declared_comments=exported.declared_comments,
        present_comments=present,
        place=place,
        stated_in=version.key,
    )
    count.set_stated(exported.updated)
    record(count)
    report.added["comment counts"] += 1
    return count
