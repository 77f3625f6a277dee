"""What one piece of a log says by itself. What it comes to depends on what stands around it: `logs`."""

from __future__ import annotations

from dataclasses import dataclass

from studies.evidence.context import (
    EXHAUSTED_GATE,
    FRAME_GATE,
    NO_ISSUE_GATE,
    NOTHING_FITS_GATE,
    SMALLER_GATE,
    Place,
    is_advice,
    place_of,
    says_exhausted,
    says_handled,
    says_no_issue,
    says_nothing_fits,
)
from studies.evidence.lines import Message, message_of, plain
from studies.evidence.patterns import linear
from studies.evidence.quotations import OWN_GATE, SAMPLE_GATE, Mark, is_fence, is_quotation, mark_of
from studies.evidence.rule import Rule
from studies.evidence.rules import RULE_GATE, rule_for

_STRUCTURE_GATE = (
    r"traceback \(most recent call last\)|exception ignored in|error in atexit|during handling of the above"
    r"|the above exception was|total training steps"
)
_GATES = (
    RULE_GATE, _STRUCTURE_GATE, FRAME_GATE, EXHAUSTED_GATE, SMALLER_GATE, NO_ISSUE_GATE, NOTHING_FITS_GATE,
    SAMPLE_GATE, "training/global_step:",
)  # fmt: skip

GATE = linear("|".join(_GATES), ignore_case=True)
"""A piece in which this is not found says nothing. It begins inside the piece that it is found in."""

GATE_IN_SAMPLE = linear("|".join((*_GATES, OWN_GATE)), ignore_case=True)
"""The same while somebody prints a sample: then a line can also end it."""

_CHAINED = (b"During handling of the above exception", b"The above exception was the direct cause")
_IGNORED = (b"Exception ignored in", b"Error in atexit")
_PLANNED_STEPS = linear(r"^Total training steps: (\d{1,9})\s*$")


@dataclass(slots=True)
class Reading:
    """What one piece says.

    Attributes:
        message: who wrote it, and its body.
        rule: the first row of the table that matches, or None.
        position: where in the body.
        quoted: what matches is quoted, or advice.
        mark: what it does to a sample of its writer.
        fence: it opens or closes quoted code.
        traceback: a traceback begins.
        place: the place that a line of a traceback names, if it matters.
        chained: the next exception followed from the last one.
        ignored: the next exception was raised while objects were cleaned up.
        planned_steps: the horizon that the trainer announces.
        exhausted: it speaks of memory that ran out.
        handled: it reports that an exhaustion was dealt with.
        no_issue: it says itself that it may be no failure.
        nothing_fits: a search for a size that fits found none.
    """

    message: Message
    rule: Rule | None = None
    position: int = 0
    quoted: bool = False
    mark: Mark | None = None
    fence: bool = False
    traceback: bool = False
    place: Place | None = None
    chained: bool = False
    ignored: bool = False
    planned_steps: int | None = None
    exhausted: bool = False
    handled: bool = False
    no_issue: bool = False
    nothing_fits: bool = False


def read_piece(data: bytes) -> Reading:
    """What the bytes of one piece say. Every pattern is applied at most once."""
    message = message_of(plain(data))
    body = message.body
    lowered = body.lower().decode("latin-1")
    matched = rule_for(body, lowered)
    rule, position = matched or (None, 0)
    quoted = rule is not None and (
        rule.diagnosis is None or is_quotation(body, position) or is_advice(body[:position])
    )
    planned = _PLANNED_STEPS.search(body) if "training steps" in lowered else None
    exhausted = ("memory" in lowered or "oom" in lowered) and says_exhausted(body)
    return Reading(
        message,
        rule,
        position,
        quoted,
        mark=mark_of(body),
        fence=is_fence(body),
        traceback="traceback (most recent call last)" in lowered,
        place=place_of(body) if 'file "' in lowered or "pin_memory" in lowered else None,
        chained="above exception" in lowered and body.lstrip().startswith(_CHAINED),
        ignored=body.startswith(_IGNORED),
        planned_steps=int(planned.group(1) or 0) if planned else None,
        exhausted=exhausted,
        handled=says_handled(body, lowered),
        no_issue=(exhausted or rule is not None or " not " in lowered) and says_no_issue(body),
        nothing_fits=says_nothing_fits(body, lowered),
    )
