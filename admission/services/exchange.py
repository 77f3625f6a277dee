"""An issue's records as one file, and back.

The file is JSON: format, version, the issue, one list per kind of record, and the sha256 of all of that in
canonical JSON. Rows refer to each other by key. Fields at their default are left out. Reading a file records
what is new, accepts what is there with the same content, and refuses all of it when one row contradicts.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from admission import models as tables
from admission.models import TrackedIssue
from admission.models.base import IssueRecord, Origin
from admission.services.facts import check_fact
from admission.services.identity import locked_issue
from admission.thread.reading import ExportError, storable, values
from rlvram_site.exchange import ExchangeError, check_digest, check_form, type_problem
from rlvram_site.ledger.canonical import canonical, digest
from rlvram_site.ledger.chain import record_all

FORMAT = "rlvram-admission-record"
VERSION = 1

# In this order a row only refers to rows of earlier kinds, or to earlier rows of its own.
SECTIONS: dict[str, type[IssueRecord]] = {
    "addresses": tables.IssueAddress,
    "versions": tables.IssueVersion,
    "thread_items": tables.ThreadItem,
    "thread_counts": tables.ThreadCount,
    "events": tables.IssueEvent,
    "status_updates": tables.StatusUpdate,
    "corrections": tables.Correction,
    "open_questions": tables.OpenQuestion,
    "question_mentions": tables.QuestionMention,
    "related_issues": tables.RelatedIssue,
    "changes": tables.Change,
    "heads": tables.ChangeHead,
    "reviews": tables.Review,
    "receipts": tables.Receipt,
    "witnesses": tables.Witness,
    "measurements": tables.Measurement,
    "replays": tables.RecordedReplay,
    "later_facts": tables.LaterFact,
    "proposals": tables.Proposal,
    "proposal_decisions": tables.ProposalDecision,
}
# Kinds that an imported thread also makes, under the same names: its own words go before a record's.
_ALSO_FROM_THREAD = ("addresses", "thread_items", "thread_counts", "events", "status_updates", "changes")
_NOT_EXCHANGED = {"id", "issue", "recorded_at"}


class RecordError(ValueError):
    """A file that is no record, or one that contradicts what is recorded; the text names place and reason."""


@dataclass
class RecordReport:
    """What reading a file added, by section."""

    issue: TrackedIssue
    added: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)


def fields_of(model: type[models.Model]) -> list[Any]:
    """The fields of a kind of record that a file carries, in the model's order."""
    return [f for f in model._meta.concrete_fields if f.name not in _NOT_EXCHANGED]


def as_document(issue: TrackedIssue) -> dict[str, Any]:
    """Everything recorded about ``issue`` as the file's plain values, with their digest."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "issue": {
            **({"host": issue.host} if issue.host else {}),
            "owner": issue.owner,
            "name": issue.name,
            "number": issue.number,
            "url": issue.url,
        },
    }
    for section, model in SECTIONS.items():
        rows = list(issue.rows(model).order_by("id"))
        keys = _keys_of_targets(issue, model)
        if rows:
            document[section] = [as_plain(row, keys) for row in rows]
    return {**document, "sha256": document_sha256(document)}


def _keys_of_targets(issue: TrackedIssue, model: type[IssueRecord]) -> dict[tuple[str, int], str]:
    targets: set[Any] = {f.related_model for f in fields_of(model) if isinstance(f, models.ForeignKey)}
    return {
        (target._meta.label, pk): key
        for target in targets
        for pk, key in issue.rows(target).values_list("pk", "key")
    }


def as_plain(row: IssueRecord, keys: dict[tuple[str, int], str]) -> dict[str, Any]:
    """One row as plain values. Rows that it refers to are named by ``keys``, unless they are at hand."""
    plain: dict[str, Any] = {}
    for column in fields_of(type(row)):
        value = getattr(row, column.attname)
        if isinstance(column, models.ForeignKey):
            if (at_hand := row._state.fields_cache.get(column.name)) is not None:
                value = at_hand.key
            elif value is not None:
                value = keys[column.related_model._meta.label, value]
        if value != _default(column):
            plain[column.name] = _plain(value)
    return plain


def _default(column: Any) -> Any:
    if column.has_default():
        return column.get_default()
    return "" if isinstance(column, models.CharField | models.TextField) and not column.null else None


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        text = value.astimezone(dt.UTC).isoformat()
        return text.replace("+00:00", "Z")
    value = canonical(value)
    return _sorted(value)


def _sorted(value: Any) -> Any:
    """Objects with sorted keys: one database engine keeps their order, the other does not."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def document_sha256(document: dict[str, Any]) -> str:
    """Digest of everything but the digest itself."""
    return digest(_digested(document))


def _digested(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "sha256"}


def as_text(document: dict[str, Any]) -> str:
    """The file's text. The same records give the same bytes."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_document(text: str, name: str) -> dict[str, Any]:
    """The document in ``text``, with format, version and digest checked. Raises ``RecordError``."""
    try:
        found = values(text, name)
        document = storable(found[0], name)
    except ExportError as error:
        raise RecordError(str(error)) from None
    if len(found) != 1:
        raise RecordError(f"{name}: expected one JSON object as export_record writes it")
    try:
        check_form(document, name, form=FORMAT, version=VERSION)
    except ExchangeError as error:
        raise RecordError(str(error)) from None
    unknown = sorted(set(document) - set(SECTIONS) - {"format", "version", "issue", "sha256"})
    if unknown:
        raise RecordError(f"{name}: unknown part {unknown[0]!r:.60}; expected {', '.join(SECTIONS)}")
    try:
        check_digest(_digested(document), document.get("sha256"), name)
    except ExchangeError as error:
        raise RecordError(str(error)) from None
    return document


@transaction.atomic
def import_document(document: dict[str, Any], name: str) -> RecordReport:
    """Record what ``document`` adds, all of it or nothing. Raises ``RecordError``."""
    issue = _issue(document.get("issue"), name)
    report = RecordReport(issue)
    seen: dict[str, str] = {}
    by_model: dict[str, dict[str, IssueRecord]] = {}
    for section, model in SECTIONS.items():
        known = {row.key: row for row in issue.rows(model)}
        by_model[model._meta.label] = known
        names = {(label, row.pk): key for label, rows in by_model.items() for key, row in rows.items()}
        pending: list[IssueRecord] = []
        entries = document.get(section, [])
        if not isinstance(entries, list):
            raise RecordError(f"{name}: {section} is {type(entries).__name__}; expected a list")
        for position, entry in enumerate(entries, 1):
            where = f"{name}, {section}, entry {position}"
            row = _row(issue, model, entry, by_model, where)
            if row.key in seen:
                raise RecordError(f"{where}: key {row.key!r} was already used by {seen[row.key]}")
            seen[row.key] = f"{section}, entry {position}"
            there = known.get(row.key)
            if there is not None and there.pk is not None:
                _check_same(section, there, row, names, where)
                report.present[section] += 1
                continue
            if any((target := getattr(row, f.name)) and target.pk is None for f in _self_references(model)):
                record_all(pending)
                pending = []
            pending.append(row)
            known[row.key] = row
            report.added[section] += 1
        record_all(pending)
    _check_targets(by_model, name)
    return report


def _issue(found: Any, name: str) -> TrackedIssue:
    if not isinstance(found, dict):
        raise RecordError(f"{name}: issue is missing; expected owner, name, number and url")
    for key, expected, words in (
        ("owner", str, "text"),
        ("name", str, "text"),
        ("number", int, "a whole number"),
        ("url", str, "text"),
    ):
        if type(found.get(key)) is not expected:
            raise RecordError(f"{name}: issue, {key}: found {found.get(key)!r:.60}; expected {words}")
    host = found.get("host")
    if host is not None and not isinstance(host, str):
        raise RecordError(f"{name}: issue, host: found {host!r:.60}; expected text")
    issue = TrackedIssue(
        host=host, owner=found["owner"], name=found["name"], number=found["number"], url=found["url"]
    )
    try:
        issue.clean_fields()
    except ValidationError as error:
        key, messages = next(iter(error.message_dict.items()))
        raise RecordError(f"{name}: issue, {key}: {messages[0]}") from None
    return locked_issue(issue.owner, issue.name, issue.number, issue.url, host=host or "")


def _row(
    issue: TrackedIssue, model: type[IssueRecord], entry: Any, by_model: dict[str, dict[str, Any]], where: str
) -> IssueRecord:
    if not isinstance(entry, dict):
        raise RecordError(f"{where}: found {type(entry).__name__}; expected an object")
    columns = {column.name: column for column in fields_of(model)}
    unknown = sorted(set(entry) - set(columns))
    if unknown:
        raise RecordError(f"{where}: unknown field {unknown[0]!r:.60}; expected {', '.join(columns)}")
    row = model(issue=issue)
    for column_name, value in entry.items():
        column = columns[column_name]
        if isinstance(column, models.ForeignKey):
            target = by_model[column.related_model._meta.label].get(value) if isinstance(value, str) else None
            if value is not None and target is None:
                raise RecordError(f"{where}: {column_name}: no {column.related_model.__name__} {value!r:.60}")
            setattr(row, column_name, target)
            continue
        if expected := type_problem(column, value):
            raise RecordError(f"{where}: {column_name}: found {value!r:.60}; expected {expected}")
        setattr(row, column_name, value)
    references = [f.name for f in row._meta.concrete_fields if isinstance(f, models.ForeignKey)]
    try:
        row.clean_fields(exclude=references)
    except ValidationError as error:
        column_name, messages = next(iter(error.message_dict.items()))
        raise RecordError(
            f"{where}: {column_name}: {messages[0]} (found {entry.get(column_name)!r:.60})"
        ) from None
    missing = [
        f.name for f in columns.values() if f.name in references and not f.null and f.name not in entry
    ]
    if missing:
        raise RecordError(f"{where}: {missing[0]} is missing")
    return row


def _self_references(model: type[IssueRecord]) -> list[Any]:
    return [f for f in fields_of(model) if isinstance(f, models.ForeignKey) and f.related_model is model]


def _check_same(
    section: str, there: IssueRecord, found: IssueRecord, names: dict[tuple[str, int], str], where: str
) -> None:
    mine, theirs = as_plain(there, names), as_plain(found, names)
    if mine == theirs or (section in _ALSO_FROM_THREAD and there.origin == Origin.THREAD):
        return
    first = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))[0]
    raise RecordError(
        f"{where}: {there.key!r} is already recorded with other content ({first} is {mine.get(first)!r:.60} "
        f"here and {theirs.get(first)!r:.60} in the file); recorded rows are never changed"
    )


def _check_targets(by_model: dict[str, dict[str, IssueRecord]], name: str) -> None:
    everything = {key for rows in by_model.values() for key in rows}
    for correction in by_model[tables.Correction._meta.label].values():
        target = getattr(correction, "target", "")
        if target not in everything:
            raise RecordError(
                f"{name}: correction {correction.key!r} is about {target!r}, which is not recorded"
            )
    rows = {key: row for found in by_model.values() for key, row in found.items()}
    for fact in by_model[tables.LaterFact._meta.label].values():
        try:
            check_fact(fact, rows.get(fact.target))  # type: ignore[arg-type, attr-defined]
        except ValidationError as error:
            column, messages = next(iter(error.message_dict.items()))
            raise RecordError(f"{name}: later fact {fact.key!r}: {column}: {messages[0]}") from None
