"""Records an exported thread: all of it or nothing, and only what is new.

What was recorded stays: a newer body adds a version, the statements it preserves are recognised, a statement
or comment in other words becomes a revision of the recorded one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
from collections import Counter
from dataclasses import dataclass, field

from django.db import transaction

from admission import dates
from admission.models import IssueVersion, StatusUpdate, ThreadCount, ThreadItem, TrackedIssue
from admission.models.base import IssueRecord, Origin
from admission.services.identity import lock, locked_issue, note_address, other_id
from admission.services.importing_events import record_events
from admission.services.linked_changes import record_linked_changes
from admission.services.proposals import proposals_from
from admission.thread.export import ExportedIssue, ExportedItem, item_identity, lasting
from admission.thread.reading import ExportError
from admission.thread.statuses import StatusBlock, status_blocks, status_claim, text_sha256
from rlvram_site.ledger.chain import record, record_all

DELETED = "deleted"
"""The event of a comment's last row, when its thread no longer has it."""


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
    exported: ExportedIssue,
    items: list[ExportedItem] | None = None,
    *,
    put_back: bool = False,
    known_as: TrackedIssue | None = None,
) -> ImportReport:
    """Record what ``exported`` and its timeline add.

    ``put_back`` accepts a body that equals an earlier version's. ``known_as`` is the tracked issue that a
    forge
    now answers for under another address. Raises ``ExportError`` when the export is older than what is
    recorded
    or contradicts it; nothing is recorded then.
    """
    issue = known_as or locked_issue(
        exported.owner, exported.name, exported.number, exported.url,
        host=exported.host, forge_id=exported.forge_id,
    )  # fmt: skip
    lock(issue)
    if known_as is None and (other := other_id(issue, exported.host, exported.forge_id)):
        raise ExportError(
            f"{issue}: the export has the forge's id {exported.forge_id}, the tracked issue of that "
            f"address has id "
            f"{other}; it is another issue that took over the name"
        )
    report = ImportReport(issue)
    if note_address(
        issue, host=exported.host, owner=exported.owner, name=exported.name, number=exported.number,
        url=exported.url, forge_id=exported.forge_id, stated=exported.updated, seen_at=exported.seen,
    ):  # fmt: skip
        report.added["addresses"] += 1
    version = _record_version(issue, exported, report, put_back)
    fresh: list[IssueRecord] = []
    fresh += _record_statuses(issue, exported, report)
    if items is not None:
        fresh += _record_items(issue, exported, items, report)
        linked = record_linked_changes(issue, items)
        report.added.update({kind: number for kind, number in linked.items() if number})
    if added := record_events(issue, exported, items or []):
        report.added["issue events"] += added
    report.count = _record_count(issue, exported, version, report)
    proposed = proposals_from(issue, fresh)
    record_all(proposed)
    if proposed:
        report.added["proposals"] += len(proposed)
    return report


def _record_version(
    issue: TrackedIssue, exported: ExportedIssue, report: ImportReport, put_back: bool
) -> IssueVersion:
    versions = list(issue.issueversion_rows.all().order_by("number").defer("body", "raw"))
    latest = issue.issueversion_rows.all().order_by("-number").first()
    # An export that gives no body says nothing about it.
    body = exported.body if exported.body is not None else latest.body if latest else ""
    digest = hashlib.sha256(body.encode()).hexdigest()
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
        if same_text and lasting(latest.raw) == lasting(exported.raw):
            report.recognised["versions"] += 1
            return latest
    version = IssueVersion(
        issue=issue,
        key=f"version-{len(versions) + 1}",
        origin=Origin.THREAD,
        number=len(versions) + 1,
        title=exported.title,
        body=body,
        body_sha256=digest,
        raw=exported.raw,
        seen_at=exported.seen,
    )
    version.set_stated(exported.updated)
    record(version)
    report.added["versions"] += 1
    return version


def _record_statuses(
    issue: TrackedIssue, exported: ExportedIssue, report: ImportReport
) -> list[StatusUpdate]:
    known = list(issue.statusupdate_rows.all().order_by("id"))
    by_digest = {status.text_sha256: status for status in known if status.text_sha256}
    keys = {status.key: status for status in known}
    new: list[StatusUpdate] = []
    ordinals: Counter[str] = Counter()
    blocks = status_blocks(exported.body or "", exported.updated.day)
    # A statement that was put into the body after its day shows that the body has been edited since.
    edited = any(block.stated and block.stated.day > exported.created.day for block in blocks)
    for block in blocks:
        stated = block.stated or exported.created
        stem = "report" if block.is_report else f"status-{stated.day:%Y%m%d}"
        ordinals[stem] += 1
        key = stem if block.is_report else f"{stem}-{ordinals[stem]}"
        if before := by_digest.get(block.text_sha256):
            if not (before.dated_ahead and stated.earliest <= exported.seen):
                report.recognised["status updates"] += 1
                continue
            # It was dated ahead when it was seen first; its day has come, and it still stands there.
            key = _chain_start(before, known).key
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
        first_seen = exported.created.last if block.is_report and not edited else exported.seen
        status.seen_at = exported.seen if original else first_seen
        record(status)
        keys[key] = status
        by_digest[block.text_sha256] = status
        new.append(status)
        report.added["revised status updates" if _rewords(original) else "status updates"] += 1
    return new


def _rewords(original: StatusUpdate | None) -> bool:
    """Whether a new wording of ``original`` is an edit; a record's summary is no earlier wording."""
    return original is not None and original.origin != Origin.RECORD


def _chain_start(status: StatusUpdate, known: list[StatusUpdate]) -> StatusUpdate:
    by_pk = {row.pk: row for row in known}
    while status.revises_id in by_pk:
        status = by_pk[status.revises_id]
    return status


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


def _record_items(
    issue: TrackedIssue, exported: ExportedIssue, items: list[ExportedItem], report: ImportReport
) -> list[IssueRecord]:
    recorded: dict[str, ThreadItem] = {}
    for there in issue.threaditem_rows.all().order_by("id").defer("raw"):
        recorded[_root_key(there.key)] = there  # the latest revision
    names = _names_of_unnumbered(issue)
    new: list[ThreadItem] = []
    present: set[str] = set()
    for item in items:
        kind = ThreadItem.Kind.COMMENT if item.is_comment else ThreadItem.Kind.EVENT
        key = names.get(item.identity, f"{kind}-{item.identity}")
        if key in present:
            continue
        present.add(key)
        before = recorded.get(key)
        if before is not None and before.body == item.body and before.event != DELETED:
            report.recognised[f"{kind}s"] += 1
            continue
        row = _item_row(issue, item, kind, key if before is None else _next_revision(before.key))
        row.revises = before
        row.seen_at = _words_seen_at(item, before, exported)
        new.append(row)
        first = before is None or before.origin == Origin.RECORD  # a record's summary is no earlier wording
        report.added[f"{kind}s" if first else f"edited {kind}s"] += 1
    new += _deleted(exported, items, recorded, present, report)
    record_all(new)
    comments = [row for row in new if row.kind == ThreadItem.Kind.COMMENT and row.event != DELETED]
    _record_stated_in_comments(issue, comments, report)
    return list(comments)


def _item_row(issue: TrackedIssue, item: ExportedItem, kind: ThreadItem.Kind, key: str) -> ThreadItem:
    row = ThreadItem(
        issue=issue,
        key=key,
        origin=Origin.THREAD,
        kind=kind,
        event=item.event,
        known=item.known,
        external_id=str(item.raw.get("id") or "")[:200],
        url=item.url,
        account=item.account,
        signed_name=item.signed_name,
        body=item.body,
        raw=item.raw,
    )
    row.set_stated(item.stated)
    return row


def _names_of_unnumbered(issue: TrackedIssue) -> dict[str, str]:
    """Keys of recorded events without an id, by what names such an event now."""
    rows = issue.threaditem_rows.filter(external_id="", revises=None, origin=Origin.THREAD)
    return {item_identity(raw): key for key, raw in rows.values_list("key", "raw")}


def _words_seen_at(
    item: ExportedItem, before: ThreadItem | None, exported: ExportedIssue
) -> dt.datetime | None:
    """When ``item``'s words are first known to have stood; None leaves it to the moment of recording."""
    if item.edited is not None and item.edited.sort_at > item.stated.sort_at:
        return item.edited.last
    if before is None or before.origin == Origin.RECORD:
        return item.stated.last
    # An edit without its own time: the export shows it, unless it is no newer than what was imported already.
    return exported.seen if exported.seen > before.known_at else None


def _deleted(
    exported: ExportedIssue,
    items: list[ExportedItem],
    recorded: dict[str, ThreadItem],
    present: set[str],
    report: ImportReport,
) -> list[ThreadItem]:
    """A row for each comment that a whole thread no longer has. One with gaps tells nothing of the kind."""
    if sum(1 for item in items if item.is_comment) < exported.declared_comments:
        return []
    rows = []
    for key, before in recorded.items():
        gone = before.kind == ThreadItem.Kind.COMMENT and key not in present and before.event != DELETED
        if not gone or before.origin != Origin.THREAD:
            continue
        row = ThreadItem(
            issue=before.issue, key=_next_revision(before.key), origin=Origin.THREAD, kind=before.kind,
            event=DELETED, known=True, external_id=before.external_id, url=before.url, account=before.account,
            signed_name=before.signed_name, raw={}, revises=before, seen_at=exported.seen,
            stated_words=before.stated_words, stated_precision=before.stated_precision,
            stated_day=before.stated_day, sort_at=before.sort_at,
        )  # fmt: skip
        rows.append(row)
        report.added["deleted comments"] += 1
    return rows


def _record_stated_in_comments(issue: TrackedIssue, comments: list[ThreadItem], report: ImportReport) -> None:
    """A comment whose first sentences say where the issue stands is a status update as well."""
    known = {
        status.key: status for status in issue.statusupdate_rows.filter(key__startswith="status-comment-")
    }
    for comment in comments:
        claim = status_claim(comment.body)
        if not claim:
            continue
        root = f"status-{_root_key(comment.key)}"
        original = known.get(root)
        revision = next(n for n in itertools.count(2) if f"{root}-r{n}" not in known)
        status = StatusUpdate(
            issue=issue, key=f"{root}-r{revision}" if original else root, origin=Origin.THREAD,
            kind=StatusUpdate.Kind.UPDATE, heading=claim, claim=claim, body=comment.body,
            account=comment.account, signed_name=comment.signed_name, stated_in=_root_key(comment.key),
            sentence=claim, text_sha256=text_sha256(comment.body), revises=original, seen_at=comment.seen_at,
            stated_words=comment.stated_words, stated_precision=comment.stated_precision,
            stated_day=comment.stated_day, sort_at=comment.sort_at,
        )  # fmt: skip
        record(status)
        known[status.key] = status
        report.added["revised status updates" if _rewords(original) else "status updates"] += 1


def _root_key(key: str) -> str:
    """``comment-12`` of ``comment-12-r3``; identities hold digits and a-f, so there is no other ``-r``."""
    return key.partition("-r")[0]


def _next_revision(key: str) -> str:
    root, _, number = key.partition("-r")
    return f"{root}-r{int(number or 1) + 1}"


def _record_count(
    issue: TrackedIssue, exported: ExportedIssue, version: IssueVersion, report: ImportReport
) -> ThreadCount:
    comments = issue.threaditem_rows.filter(kind=ThreadItem.Kind.COMMENT).order_by("id")
    latest = {_root_key(key): event for key, event in comments.values_list("key", "event")}
    present = sum(1 for event in latest.values() if event != DELETED)
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
