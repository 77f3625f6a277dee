"""What an exported issue and its timeline say, in GitHub's shape, whatever project they come from.

Everything that has a meaning here becomes a field; the object itself is kept as ``raw`` (without the body,
which is a field). Events of kinds that nobody here knows are kept like the others.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from admission import dates
from admission.thread.reading import ExportError, pages, storable, values
from admission.thread.signatures import signed_name

MAX_ITEMS = 200_000
KNOWN_EVENTS = frozenset(
    [
        "added_to_project",
        "assigned",
        "auto_merge_enabled",
        "base_ref_changed",
        "closed",
        "commented",
        "commit-commented",
        "committed",
        "connected",
        "convert_to_draft",
        "converted_note_to_issue",
        "converted_to_discussion",
        "cross-referenced",
        "demilestoned",
        "deployed",
        "disconnected",
        "head_ref_deleted",
        "head_ref_force_pushed",
        "issue_type_added",
        "labeled",
        "line-commented",
        "locked",
        "marked_as_duplicate",
        "mentioned",
        "merged",
        "milestoned",
        "moved_columns_in_project",
        "parent_issue_added",
        "pinned",
        "ready_for_review",
        "referenced",
        "removed_from_project",
        "renamed",
        "reopened",
        "review_requested",
        "reviewed",
        "sub_issue_added",
        "subscribed",
        "transferred",
        "unassigned",
        "unlabeled",
        "unlocked",
        "unmarked_as_duplicate",
        "unpinned",
        "unsubscribed",
        "user_blocked",
    ]
)
_OWN_URL = re.compile(
    r"^https?://(?P<host>[\w.-]+(?::\d{1,5})?)/(?:api/v\d/)?(?:repos/)?"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)/issues/(?P<number>\d+)(?:[/#?].*)?$"
)
_REPOSITORY_URL = re.compile(
    r"^https?://(?P<host>[\w.-]+(?::\d{1,5})?)/(?:.*/)?repos/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)/?$"
)
# What an export says about a moment rather than about the issue.
_PASSING = frozenset(
    ["updated_at", "comments", "reactions", "active_lock_reason", "performed_via_github_app"]
)


@dataclass(frozen=True)
class ExportedIssue:
    """The issue object. ``declared_comments`` is what the issue itself counts; ``body`` is None if not given.

    ``host`` is where people read it (never an API's own name), ``forge_id`` the forge's id or empty.
    """

    host: str
    owner: str
    name: str
    number: int
    url: str
    title: str
    body: str | None
    account: str
    created: dates.StatedTime
    updated: dates.StatedTime
    declared_comments: int
    state: str
    raw: dict[str, Any]

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}#{self.number}"

    @property
    def forge_id(self) -> str:
        """The forge's own id of the issue; empty when the export has none."""
        given = self.raw.get("id")
        return (
            str(given)
            if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 10**30
            else ""
        )

    @property
    def seen(self) -> dt.datetime:
        """The last moment at which its words are known to have stood; a day's end where only days are."""
        return self.updated.last


def lasting(raw: dict[str, Any]) -> dict[str, Any]:
    """An issue object without what changes by itself: a newer time alone is no news."""
    return {key: value for key, value in raw.items() if key not in _PASSING}


@dataclass(frozen=True)
class ExportedItem:
    """One comment or event of the timeline, at its place in the file."""

    position: int
    event: str
    identity: str
    stated: dates.StatedTime
    url: str
    account: str
    signed_name: str
    body: str
    raw: dict[str, Any]
    edited: dates.StatedTime | None = None
    """When the source says that these words were written, if it does."""

    @property
    def is_comment(self) -> bool:
        return self.event == "commented"

    @property
    def known(self) -> bool:
        return self.event in KNOWN_EVENTS


def read_issue(text: str, name: str) -> ExportedIssue:
    """The issue object in ``text``. Raises ``ExportError`` naming the field and what was expected."""
    found = list(pages(values(text, name)))
    if len(found) != 1 or not isinstance(found[0], dict):
        events = [item for item in found if isinstance(item, dict) and {"event", "issue_url"} & set(item)]
        if found and len(events) == len(found):
            raise ExportError(
                f"{name} is a timeline, not an issue. Give the issue's own object "
                "(gh api repos/OWNER/NAME/issues/N) as FILE and this one with --timeline"
            )
        raise ExportError(f"{name} holds {len(found)} values; expected one issue object")
    issue = storable(found[0], name)
    if "event" in issue and "title" not in issue:
        raise ExportError(f"{name} is one timeline event, not an issue; give it with --timeline")
    if "message" in issue and "title" not in issue:
        raise ExportError(
            f"{name} is an answer of the API that says {_text(issue, 'message')!r}, not an issue"
        )
    host, owner, repository, number = _identity(issue, name)
    days_only = _days_only([issue])
    created = _time(issue, "created_at", name, days_only)
    updated = _time(issue, "updated_at", name, days_only) if issue.get("updated_at") else created
    declared = issue.get("comments", 0)
    if isinstance(declared, bool) or not isinstance(declared, int) or not 0 <= declared <= 10**9:
        raise ExportError(f"{name}: comments is {declared!r:.60}; expected the number of comments")
    title = issue.get("title")
    if not isinstance(title, str) or not title.strip():
        raise ExportError(f"{name}: title is {title!r:.60}; expected the issue's title")
    body = issue.get("body")
    if body is not None and not isinstance(body, str):
        raise ExportError(f"{name}: body is {type(body).__name__}; expected text or null")
    return ExportedIssue(
        host, owner, repository, number, _url(issue.get("html_url")), title, body, _account(issue), created,
        updated, declared, _text(issue, "state"),
        {key: value for key, value in issue.items() if key not in ("title", "body")},
    )  # fmt: skip


def _identity(issue: dict[str, Any], name: str) -> tuple[str, str, str, int]:
    number = issue.get("number")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 2**31 - 1:
        raise ExportError(f"{name}: number is {number!r:.60}; expected the issue's number")
    said: dict[tuple[str, str], str] = {}
    hosts: dict[str, str] = {}
    for key in ("html_url", "url"):
        value = issue.get(key)
        if not isinstance(value, str):
            continue
        match = _OWN_URL.match(value.replace("/pull/", "/issues/"))
        if match:
            if int(match["number"]) != number:
                raise ExportError(f"{name}: number is {number}, but {key} is {value[:200]!r}")
            said[(match["owner"], match["name"])] = key
            hosts.setdefault(people_s_host(match["host"]), key)
    value = issue.get("repository_url")
    named = _REPOSITORY_URL.match(value) if isinstance(value, str) else None
    if named:
        said[(named["owner"], named["name"])] = "repository_url"
        hosts.setdefault(people_s_host(named["host"]), "repository_url")
    if not said:
        raise ExportError(f"{name}: neither html_url, url nor repository_url names a repository")
    if len({(owner.lower(), repository.lower()) for owner, repository in said}) > 1:
        places = ", ".join(f"{key} says {owner}/{repository}" for (owner, repository), key in said.items())
        raise ExportError(f"{name} names different repositories: {places}")
    if len(hosts) > 1:
        places = ", ".join(f"{key} says {host}" for host, key in hosts.items())
        raise ExportError(f"{name} names different hosts: {places}")
    owner, repository = next(iter(said))
    if max(len(owner), len(repository)) > 100:
        raise ExportError(f"{name}: the repository's name is longer than 100 characters")
    return next(iter(hosts)), owner, repository, number


def people_s_host(host: str) -> str:
    """The host where people read what ``host`` answers programs: github.com for api.github.com."""
    return re.sub(r"^(?:api|www)\.(?=.*\.)", "", host.lower())


def read_timeline(text: str, name: str, issue: ExportedIssue) -> list[ExportedItem]:
    """Every distinct event of ``text`` in file order; pages that overlap are joined.

    Raises ``ExportError`` when something is not an event, or belongs to another issue than ``issue``.
    """
    raw_items = list(pages(values(text, name)))
    if len(raw_items) == 1 and isinstance(raw_items[0], dict) and "title" in raw_items[0]:
        raise ExportError(f"{name} is an issue object; --timeline expects its timeline")
    if len(raw_items) > MAX_ITEMS:
        raise ExportError(f"{name} has {len(raw_items):,} events; at most {MAX_ITEMS:,} are read")
    items: list[dict[str, Any]] = []
    for position, raw in enumerate(raw_items, 1):
        where = f"{name}, event {position}"
        if not isinstance(raw, dict):
            raise ExportError(f"{where}: found {type(raw).__name__}; expected an object")
        item = storable(raw, where)
        if "event" not in item and "issue_url" in item:
            item = {"event": "commented", **item}  # …/issues/N/comments prints comments without that word
        if not isinstance(item.get("event"), str):
            raise ExportError(f"{where}: event is {item.get('event')!r:.60}; expected the event's name")
        _check_owner(item, where, issue)
        items.append(item)
    return _items(items, name, issue)


def _items(raw_items: list[dict[str, Any]], name: str, issue: ExportedIssue) -> list[ExportedItem]:
    days_only = _days_only([issue.raw, *raw_items])
    near = issue.created
    seen: set[str] = set()
    items = []
    for position, raw in enumerate(raw_items, 1):
        where = f"{name}, event {position}"
        identity = item_identity(raw)
        if identity in seen:
            continue
        seen.add(identity)
        key = next((key for key in ("created_at", "submitted_at") if raw.get(key)), "")
        author = raw.get("author")
        if key:
            near = stated = _time(raw, key, where, days_only)
        elif isinstance(author, dict) and author.get("date"):
            near = stated = _time(author, "date", where, days_only)
        else:
            stated = dates.unknown(near)
        body = raw.get("body")
        if body is not None and not isinstance(body, str):
            raise ExportError(f"{where}: body is {type(body).__name__}; expected text or null")
        items.append(
            ExportedItem(
                position, raw["event"], identity, stated, _url(raw.get("html_url")), _account(raw),
                signed_name(body or "") if raw["event"] == "commented" else "", body or "",
                {key: value for key, value in raw.items() if key != "body"},
                _time(raw, "updated_at", where, days_only) if raw.get("updated_at") else None,
            )
        )  # fmt: skip
    return items


def item_identity(raw: dict[str, Any]) -> str:
    """A name for a comment or event that stays the same in every export.

    Without an id it is what it is that names it: kind, moment, who, and what it is about, not the state in
    which an export happens to show the thing.
    """
    number = raw.get("id")
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 10**30:
        return str(number)
    node = raw.get("node_id") or raw.get("sha")
    if isinstance(node, str) and node:
        return hashlib.sha256(node.encode()).hexdigest()[:16]
    essence = {key: _essence(value) for key, value in raw.items() if key not in _PASSING}
    essence.pop("author_association", None)
    return hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).hexdigest()[:16]


def _essence(value: Any) -> Any:
    """What a value is about: people, issues, labels and the like by their names alone."""
    if isinstance(value, list):
        return [_essence(item) for item in value]
    if not isinstance(value, dict):
        return value
    for key in ("login", "html_url", "id", "sha", "name", "title"):
        if isinstance(value.get(key), str | int):
            return value[key]
    return {key: _essence(item) for key, item in value.items() if key not in _PASSING}


def _check_owner(item: dict[str, Any], where: str, issue: ExportedIssue) -> None:
    for key in ("issue_url", "html_url"):
        value = item.get(key)
        match = _OWN_URL.match(value) if isinstance(value, str) else None
        if match is None:
            continue
        named = (match["owner"].lower(), match["name"].lower(), int(match["number"]))
        elsewhere = people_s_host(match["host"]) != issue.host
        if elsewhere or named != (issue.owner.lower(), issue.name.lower(), issue.number):
            theirs = f" at {people_s_host(match['host'])}" if elsewhere else ""
            ours = f" at {issue.host}" if elsewhere else ""
            raise ExportError(
                f"{where} belongs to {match['owner']}/{match['name']}#{match['number']}{theirs}, "
                f"the issue is {issue.full_name}{ours}"
            )


def _days_only(objects: Iterable[dict[str, Any]]) -> bool:
    """Whether every time is midnight: then the export only knows days, and none of them is an instant."""
    times = [
        value
        for item in objects
        for key in ("created_at", "updated_at", "submitted_at", "closed_at")
        if isinstance(value := item.get(key), str)
    ]
    return len(times) > 1 and all(re.search(r"T00:00:00(?:\.0+)?Z$", value) for value in times)


def _time(item: dict[str, Any], key: str, where: str, days_only: bool) -> dates.StatedTime:
    value = item.get(key)
    try:
        if not isinstance(value, str):
            raise ValueError(f"{value!r:.60} is not a time such as 2026-09-07T14:03:11Z")
        stated = dates.parse_instant(value)
    except ValueError as error:
        raise ExportError(f"{where}: {key}: {error}") from None
    return dates.on_day(stated.day) if days_only else stated


def _account(item: dict[str, Any]) -> str:
    for key in ("user", "actor", "author", "committer"):
        person = item.get(key)
        if isinstance(person, dict):
            login = person.get("login") or person.get("name")
            if isinstance(login, str):
                return login[:200]
    return ""


def _text(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return value[:200] if isinstance(value, str) else ""


def _url(value: Any) -> str:
    """An https address that may become a link, else nothing."""
    if isinstance(value, str) and len(value) <= 400 and re.match(r"https?://[\w.-]+(?:[:/]|$)", value):
        return value
    return ""
