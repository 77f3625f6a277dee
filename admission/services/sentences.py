"""What holds about an issue in one or two sentences: is it fixed, by what, and is that still true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from admission.models import ChangeHead, IssueEvent, StatusUpdate
from admission.services.changes import ChangeRow
from admission.services.standing import NOT_OPENED, Lifecycle, StandingStatus

_WAITING = frozenset(
    [ChangeHead.State.LOCAL, ChangeHead.State.DRAFT, ChangeHead.State.OPEN, ChangeHead.State.HELD]
)


def issue_sentence(
    life: Lifecycle,
    current: StandingStatus | None,
    replaced: StandingStatus | None,
    changes: Sequence[ChangeRow],
) -> str:
    """What holds, since when, and what it replaced. Without a stated status, what the thread's events say."""
    if life.state == NOT_OPENED and life.opened is not None:
        return f"Not opened yet: the issue was opened on {day_words(life.opened.stated_day, year=True)}."
    if current is not None and current.update.kind != StatusUpdate.Kind.REPORT:
        return f"{_stated(life, current, replaced)}{_more(life)}"
    told = _told(life, changes)
    if told:
        return f"{told}{_more(life)}"
    if current is None:
        return f"{_state(life)}; no status is stated.{_more(life)}"
    return f"{_stated(life, current, replaced)}{_more(life)}"


def day_words(day: dt.date, *, year: bool = False) -> str:
    """``September 17``, with its year if asked for."""
    return f"{day:%B} {day.day}" + (f", {day.year}" if year else "")


def _state(life: Lifecycle) -> str:
    if life.last is not None and life.state == "reopened":
        return f"Open, reopened {day_words(life.last.stated_day)}"
    return life.state.capitalize()


def _stated(life: Lifecycle, current: StandingStatus, replaced: StandingStatus | None) -> str:
    since = day_words(current.update.stated_day, year=True)
    text = f"{_state(life)}: {current.claim.rstrip('.')}, since {since}"
    if replaced is not None:
        day = day_words(replaced.update.stated_day)
        text += f"; it replaced “{replaced.claim.rstrip('.')}” of {day}"
    return f"{text}."


def _more(life: Lifecycle) -> str:
    return f" {life.contradiction}" if life.contradiction else ""


def _told(life: Lifecycle, changes: Sequence[ChangeRow]) -> str:
    """What closings, reopenings and merges tell by themselves; empty where there are none."""
    merged = _merges(changes)
    waiting = [row for row in changes if row.state is not None and row.state.state in _WAITING]
    if life.last is None and life.is_open and not merged and not waiting:
        return ""
    parts: list[str] = []
    if life.is_open:
        parts.append(_open_words(life))
        since = life.last.sort_at if life.last is not None else None
        later = [(row, head) for row, head in merged if since is None or head.sort_at > since]
        if later:
            verb = "was" if len(later) == 1 else "were"
            parts.append(f"{_names(later)} {verb} merged{' since' if since else ''}")
        elif life.last is not None:
            parts.append("nothing has been merged since")
        if waiting:
            parts.append(f"{_labels(waiting)} {'is' if len(waiting) == 1 else 'are'} not merged yet")
    else:
        parts.append(_closed_words(life, merged))
    return f"{'; '.join(parts)}."


def _merges(changes: Sequence[ChangeRow]) -> list[tuple[ChangeRow, ChangeHead]]:
    found = [(row, head) for row in changes for head in row.stated if head.state == ChangeHead.State.MERGED]
    return sorted(found, key=lambda pair: (pair[1].sort_at, pair[1].pk))


def _open_words(life: Lifecycle) -> str:
    if life.last is None or life.last.kind != IssueEvent.Kind.REOPENED:
        since = f" since {day_words(life.opened.stated_day, year=True)}" if life.opened else ""
        return f"Open: original report{since and ','}{since}"
    closed = life.closings[-1] if life.closings else None
    by = f" by {_cause(closed)}" if closed is not None and closed.cause else ""
    if closed is None:
        return f"Open again since {day_words(life.last.stated_day, year=True)}"
    times = f", the {_ordinal(len(life.closings))} time" if len(life.closings) > 1 else ""
    return (
        f"Open again since {day_words(life.last.stated_day, year=True)}: it had been closed on "
        f"{day_words(closed.stated_day)}{by}{times}, which did not last"
    )


def _closed_words(life: Lifecycle, merged: list[tuple[ChangeRow, ChangeHead]]) -> str:
    if life.last is None:
        return life.state.capitalize()
    text = f"Closed since {day_words(life.last.stated_day, year=True)}"
    if life.last.cause:
        text += f" by {_cause(life.last)}" if _is_change(life.last.cause) else f" ({life.last.cause})"
    if not _is_change(life.last.cause):
        before = [(row, head) for row, head in merged if head.sort_at <= life.last.sort_at]
        if before:
            row, head = before[-1]
            text += f"; {row.change.label} was merged before, on {day_words(head.stated_day)}"
        else:
            text += "; no change that refers to it was merged before"
    reopened = [event for event in life.events if event.kind == IssueEvent.Kind.REOPENED]
    if reopened:
        first = life.closings[0]
        by = f" by {_cause(first)}" if first.cause else ""
        text += (
            f". An earlier closing{by} on {day_words(first.stated_day)} did not last: "
            f"it was reopened on {day_words(reopened[-1].stated_day)}"
        )
    later = [(row, head) for row, head in merged if head.sort_at > life.last.sort_at]
    if later:
        text += f"; {_names(later)} {'was' if len(later) == 1 else 'were'} merged after that"
    return text


def _is_change(cause: str) -> bool:
    return cause.startswith(("merge of", "commit"))


def _cause(event: IssueEvent) -> str:
    return f"the {event.cause}" if event.cause.startswith("merge of") else event.cause


def _names(pairs: Sequence[tuple[ChangeRow, ChangeHead]]) -> str:
    return _joined(list(dict.fromkeys(row.change.label for row, _ in pairs)))


def _labels(rows: Sequence[ChangeRow]) -> str:
    return _joined([row.change.label for row in rows])


def _joined(names: list[str]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ordinal(number: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    return words[number - 1] if number <= len(words) else f"{number}th"
