"""A message in words: as mail, as JSON, for Slack. Nothing from outside becomes markup or a header."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse

from notices.keys import unsubscribe_token
from notices.models import Notice, Subscription

MAX_SUBJECT = 140
MAX_SLACK = 2_800
"""Slack cuts a text of more than 3,000 characters somewhere; this cuts it between notices."""


def address(path: str) -> str:
    """A path of this site as a whole address, for those who read elsewhere."""
    return settings.SITE_URL + path


def subject_line(notices: Sequence[Notice], *, digest: bool) -> str:
    """One line for the subject of a mail."""
    if digest:
        names = list(dict.fromkeys(notice.subject for notice in notices))
        text = f"{len(notices)} change{'s' if len(notices) > 1 else ''}: {', '.join(names)}"
    else:
        first = notices[0]
        more = f" and {len(notices) - 1} more" if len(notices) > 1 else ""
        text = f"{first.subject}: {first.get_kind_display()}{more}"
    line = " ".join(f"[{settings.SITE_NAME}] {text}".split())
    return line if len(line) <= MAX_SUBJECT else f"{line[: MAX_SUBJECT - 1]}…"


def unsubscribe_address(subscription: Subscription) -> str:
    return address(reverse("notices-unsubscribe", args=[unsubscribe_token(subscription)]))


def mail_text(subscription: Subscription, notices: Sequence[Notice], *, digest: bool) -> str:
    """The whole mail as plain text."""
    parts, last = [], ""
    for notice in notices:
        if notice.subject != last:
            last = notice.subject
            parts.append(f"{notice.subject}: {notice.title}\n{'=' * 60}\n")
        parts.append(
            f"{notice.get_kind_display().capitalize()} (noticed {_utc(notice.created_at)})\n"
            f"  Before: {notice.before}\n"
            f"  Now:    {notice.now}\n"
            f"  {address(notice.path)}\n"
        )
    timing = "once a day" if digest else "at once"
    parts.append(
        f"-- \nYou asked to be told of {subscription.subject} by mail, {timing}.\n"
        f"Change or pause: {address(reverse('notices'))}\n"
        f"Unsubscribe: {unsubscribe_address(subscription)}\n"
    )
    return "\n".join(parts)


def document(identity: str, subscription: Subscription, notices: Sequence[Notice]) -> dict[str, Any]:
    """The body of a webhook."""
    return {
        "delivery": identity,
        "about": subscription.subject,
        "notices": [
            {
                "id": notice.pk,
                "kind": notice.kind,
                "subject": notice.subject,
                "title": notice.title,
                "before": notice.before,
                "now": notice.now,
                "url": address(notice.path),
                "noticed_at": f"{notice.created_at:%Y-%m-%dT%H:%M:%SZ}",
            }
            for notice in notices
        ],
    }


def slack(notices: Sequence[Notice]) -> dict[str, str]:
    """The body of Slack's incoming webhooks."""
    lines: list[str] = []
    for number, notice in enumerate(notices):
        text = (
            f"*{_escaped(notice.subject)}*: {_escaped(notice.get_kind_display())}\n"
            f">Before: {_escaped(_line(notice.before))}\n>Now: {_escaped(_line(notice.now))}\n"
            f"<{_escaped(address(notice.path))}|Read it here>"
        )
        if sum(map(len, lines)) + len(text) > MAX_SLACK and lines:
            lines.append(
                f"and {len(notices) - number} more: <{_escaped(address(reverse('notices')))}|all of them>"
            )
            break
        lines.append(text)
    return {"text": "\n\n".join(lines)}


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 600 else f"{line[:599]}…"


def _escaped(text: str) -> str:
    """Slack's own three characters, and those that would format."""
    for character, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, escape)
    return text.replace("*", "∗").replace("`", "ˋ").replace("~", "∼")


def _utc(moment: dt.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
