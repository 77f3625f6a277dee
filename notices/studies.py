"""What holds about a study, as far as people are told of it, and what differs from before.

The only module here that reads studies. A state is plain JSON.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from notices.differences import Difference
from notices.kinds import Kind
from studies.estimation.labels import UNRESOLVED
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.plan import amendments
from studies.services.predictions.seals import SealState, own_clock, seal_state
from studies.services.scores.panel_lines import in_panel_order, panel_numbers

NAMED = 6
"""Configurations that one message names; more are counted."""


def state_of(study: Study) -> dict[str, Any]:
    """What holds now; None for what cannot be read at the moment."""
    seal = seal_state(study)
    return {
        "title": study.title,
        "seal": _seal(seal),
        "amendments": _late_amendments(study),
        **_resolved(study),
        "contradictions": _contradictions(seal),
        "path": study.get_absolute_url(),
        "history": reverse("history", args=[study.slug]),
    }


def _seal(state: SealState) -> str:
    if state.seal is None:
        return ""
    return f"{state.word}, at {_utc(state.seal.sealed_at)}, sha256 {state.seal.sha256[:8]}"


def _utc(moment: dt.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _late_amendments(study: Study) -> dict[str, str] | None:
    """Amendments that count as more than one before launch, in words by number; None if unreadable."""
    try:
        changes = amendments.effects(study)
    except UNREADABLE:
        return None
    return {
        str(change.amendment.number): f"{change.word}: changed {', '.join(key.key for key in change.keys)}"
        for change in changes
        if change.word != amendments.AmendmentWord.AMENDMENT
    }


def _resolved(study: Study) -> dict[str, Any]:
    try:
        panel = panel_numbers(study)
    except UNREADABLE:
        return {"planned": None, "labels": None}
    resolved = in_panel_order(study).exclude(state=UNRESOLVED).values_list("name", "state")
    return {"planned": panel.planned, "labels": {name: state.replace("_", " ") for name, state in resolved}}


def _contradictions(state: SealState) -> dict[str, str]:
    """Attempts that say they ran before the seal, while they were recorded after it; by invocation."""
    return {
        attempt.invocation_id: f"{attempt.invocation_id} says that it ran at {_utc(own_clock(attempt))}, "
        f"before the seal of {_utc(state.seal.sealed_at)}, and was recorded after it"
        for attempt in state.contradictions
        if state.seal is not None
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    """What people are told when ``before`` has become ``now``."""
    if before["seal"] != now["seal"] and now["seal"]:
        yield Difference(Kind.SEALED, before["seal"] or "not sealed", now["seal"], now["path"])
    known, labels = before["amendments"] or {}, before["labels"] or {}
    for number, words in (now["amendments"] or {}).items():
        if number not in known:
            earlier = f"{len(known)} amended after launch"
            yield Difference(Kind.AMENDED_LATE, earlier, f"amendment {number}, {words}", now["history"])
    if now["labels"] is not None and labels != now["labels"]:
        changed = _changed(labels, now["labels"])
        earlier = _coverage(labels, before["planned"] or now["planned"])
        yield Difference(
            Kind.RESOLVED, earlier, f"{_coverage(now['labels'], now['planned'])} ({changed})", now["path"]
        )
    for name, words in now["contradictions"].items():
        if name not in before["contradictions"]:
            yield Difference(Kind.CONTRADICTED, "no contradiction known", words, now["history"])


def _coverage(labels: dict[str, str], planned: int) -> str:
    return f"{len(labels)} of {planned} configurations resolved"


def _changed(before: dict[str, str], now: dict[str, str]) -> str:
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    said = [f"{name}: {now.get(name, 'unresolved again')}" for name in names[:NAMED]]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(said) + more
