"""What was first stated later about a row: the row is shown with it from then on, and without it before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError

from admission.models import LaterFact, TrackedIssue
from admission.models.base import IssueRecord
from admission.services.standing import AsOf, until

_Row = TypeVar("_Row", bound=IssueRecord)


def later_facts(issue: TrackedIssue, as_of: AsOf = None) -> dict[str, list[LaterFact]]:
    """The facts stated by ``as_of``, by the key of their row, in time."""
    return facts_by_target(until(issue.laterfact_rows.all(), as_of).order_by("sort_at", "id"))


def facts_by_target(rows: Iterable[LaterFact]) -> dict[str, list[LaterFact]]:
    """Facts, which are in time, by the key of their row; without those that were dated ahead."""
    found: dict[str, list[LaterFact]] = defaultdict(list)
    for fact in rows:
        if not fact.dated_ahead:
            found[fact.target].append(fact)
    return dict(found)


def with_facts(rows: Iterable[_Row], facts: dict[str, list[LaterFact]]) -> list[_Row]:
    """``rows`` with each field as it was stated last. The rows are changed in memory only, never recorded."""
    shown = list(rows)
    for row in shown:
        for fact in facts.get(row.key, []):
            setattr(row, fact.field, fact.value)
    return shown


def check_fact(fact: LaterFact, target: Any) -> None:
    """Raises ``ValidationError`` by field unless ``target`` can hold what ``fact`` says."""
    allowed = LaterFact.FIELDS.get(target._meta.model_name, ()) if target is not None else ()
    if target is None:
        raise ValidationError({"target": f"nothing is recorded under {fact.target!r}"})
    if not allowed:
        raise ValidationError(
            {"target": f"{fact.target!r} is a {target._meta.verbose_name}; facts are added to none"}
        )
    if fact.field not in allowed:
        raise ValidationError({"field": f"found {fact.field!r}, expected one of {', '.join(allowed)}"})
    column = target._meta.get_field(fact.field)
    kind = str if column.get_internal_type() in ("TextField", "CharField") else int
    if type(fact.value) is not kind:
        raise ValidationError(
            {"value": f"found {fact.value!r:.60}, expected {'text' if kind is str else 'a whole number'}"}
        )
    try:
        column.clean(fact.value, target)
    except ValidationError as error:
        raise ValidationError({"value": error.messages}) from None
