"""Documents without their authors' sentences, so that what is derived does not depend on having them.

Prose, as ``studies.estimation.wording.is_prose`` knows it, becomes its sha256; everything else stays. The
rule texts of a protocol become words of ``studies.estimation.wording``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studies.archive.errors import ArchiveError
from studies.estimation.errors import EstimationError
from studies.estimation.wording import hashed, in_own_words, is_prose
from studies.evidence.completion import PATTERN_KEY


def facts_form(value: Any) -> Any:
    """``value`` with each prose text, at any depth, as its hash. Applying it twice changes nothing."""
    if is_prose(value):
        return hashed(value)
    if isinstance(value, Mapping):
        # A pattern may have blanks as prose has, and without it no log of the study could be read.
        return {key: item if key == PATTERN_KEY else facts_form(item) for key, item in value.items()}
    if isinstance(value, list):
        return [facts_form(item) for item in value]
    return value


def rules_form(document: Mapping[str, Any], place: str = "protocol") -> dict[str, Any]:
    """A protocol, or an amendment's updates, in our words; parsing it gives the same rules.

    Raises ``ArchiveError`` for a rule text that no implemented rule is known for.
    """
    try:
        return facts_form(in_own_words(document))
    except EstimationError as error:
        raise ArchiveError(
            f"{place}: {error.field} is not a rule that is implemented; {error.expected}"
        ) from None


def facts_record(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """One record's fields without prose that somebody else wrote. Applying it twice changes nothing.

    Other records hold no such prose: their sentences are our own, and what they keep of the source is
    stored in facts form from the start.
    """
    own = dict(fields)
    if kind == "protocol":
        own["document"] = rules_form(own["document"], "protocol")
    elif kind == "amendment":
        own["updates"] = rules_form(own["updates"], f"amendment {own['number']}")
        own["document"] = facts_form(own["document"])
        if own["reason"]:
            own["document"]["reason"] = facts_form(own["reason"])
            own["reason"] = ""
    return own
