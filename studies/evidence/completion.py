"""When an invocation is complete: the record of its last required step, and exit 0. Both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from studies.evidence.errors import EvidenceError
from studies.evidence.patterns import Pattern, untrusted

STUDY_STEP_PATTERN = (
    r"\bstep:(?P<step>\d+)\s+-\s.*\btraining/global_step:(?P<step_again>\d+)(?:\.0+)?(?:[^\d.]|$)"
)
"""How the study's trainer prints the record of a step. Releases differ in the decimals of the counter."""

STUDY_COUNTER = b"training/global_step:"
"""Stands in every such record."""

PATTERN_KEY = "completion_pattern"
"""The key of a protocol that holds the pattern of its trainer's records."""

_SOURCE = "completion rule"
_LONGEST_NUMBER = 18
_MOST_TRIES = 4


@dataclass(frozen=True)
class CompletionRule:
    """What the protocol requires of the log.

    Attributes:
        steps: number of the last required step, from 1. None if nobody says; then the horizon that the
            trainer itself announced counts.
        pattern: regular expression of the record of one step in RE2's syntax, with a group `step`. Where it
            has a group `step_again` too, that must hold the same number.

    Raises:
        EvidenceError: steps below 1, or a pattern that the linear engine can't read, that is too large, or
            that has no group `step`.
    """

    steps: int | None = None
    pattern: str = STUDY_STEP_PATTERN
    compiled: Pattern = field(init=False, repr=False, compare=False)
    in_block: Pattern = field(init=False, repr=False, compare=False)
    """The same pattern for many lines at once; a line in which it is not found holds no record."""

    def __post_init__(self) -> None:
        if self.steps is not None and (isinstance(self.steps, bool) or self.steps < 1):
            raise EvidenceError(_SOURCE, "steps", self.steps, "a whole number from 1")
        compiled = untrusted(self.pattern, _SOURCE)
        if b"step" not in compiled.groupindex:
            raise EvidenceError(
                _SOURCE, "pattern", self.pattern, r"a group for the number, as in (?P<step>\d+)"
            )
        if compiled.search(b"") is not None:
            raise EvidenceError(_SOURCE, "pattern", self.pattern, "a pattern that no empty line satisfies")
        object.__setattr__(self, "compiled", compiled)
        object.__setattr__(self, "in_block", untrusted(self.pattern, _SOURCE, each_line=True))

    @property
    def is_study_trainer(self) -> bool:
        """Whether the records are those of the study's own trainer."""
        return self.pattern == STUDY_STEP_PATTERN

    def step_in(self, text: bytes) -> int | None:
        """The step whose record `text` is, or None. Looks a fixed number of times, however long it is."""
        if self.is_study_trainer:
            return _study_step(text)
        step, again = self.compiled.groupindex[b"step"], self.compiled.groupindex.get(b"step_again")
        position = 0
        for _ in range(_MOST_TRIES):
            match = self.compiled.search(text, position)
            number = match.group(step) if match else None
            if match is None or not number:
                return None
            if again is None or match.group(again) == number:
                return int(number) if number.isdigit() and len(number) <= _LONGEST_NUMBER else None
            # Lines of two steps ran into one another: the next start may fit the same end.
            position = match.end(step)
        return None


def check_pattern(protocol: Mapping[str, object], source: str) -> None:
    """See that a protocol's own pattern can be used, before anything relies on it.

    Raises:
        EvidenceError: it has one that is no text, or that `CompletionRule` refuses.
    """
    if PATTERN_KEY not in protocol:
        return
    pattern = protocol[PATTERN_KEY]
    if not isinstance(pattern, str):
        raise EvidenceError(source, PATTERN_KEY, pattern, "a regular expression as a text, or no such key")
    try:
        CompletionRule(pattern=pattern)
    except EvidenceError as error:
        raise EvidenceError(source, PATTERN_KEY, pattern, error.expected) from None


def _study_step(text: bytes) -> int | None:
    """What `STUDY_STEP_PATTERN` finds, by plain search: records are many, and all of one form."""
    counter = text.find(STUDY_COUNTER)
    for _ in range(_MOST_TRIES):
        if counter < 0:
            return None
        digits = _digits(text, counter + len(STUDY_COUNTER))
        end = counter + len(STUDY_COUNTER) + len(digits)
        if 0 < len(digits) <= _LONGEST_NUMBER and _ends_number(text, end) and _begins(text, counter):
            start = text.find(b"step:" + digits)
            while 0 <= start < counter:
                behind = start + len(b"step:") + len(digits)
                if _begins(text, start) and _is_dash(text, behind, counter):
                    return int(digits)
                start = text.find(b"step:" + digits, behind)
        counter = text.find(STUDY_COUNTER, end)
    return None


def _digits(text: bytes, start: int) -> bytes:
    part = text[start : start + _LONGEST_NUMBER + 1]
    return part[: len(part) - len(part.lstrip(b"0123456789"))]


def _begins(text: bytes, start: int) -> bool:
    """Whether a word can begin here."""
    return start == 0 or not (text[start - 1 : start].isalnum() or text[start - 1] == 0x5F)


def _ends_number(text: bytes, end: int) -> bool:
    """Whether a whole number ends here, with zeros behind its point or without."""
    if text[end : end + 2] == b".0":
        zeros = text[end + 1 : end + 21]
        end += 1 + len(zeros) - len(zeros.lstrip(b"0"))
    return not text[end : end + 1].isdigit() and text[end : end + 1] != b"."


def _is_dash(text: bytes, start: int, stop: int) -> bool:
    """Whether blanks, a dash and a blank stand here."""
    part = text[start : min(stop, start + 20)]
    rest = part.lstrip(b" \t\v\f\r\n")
    return len(rest) < len(part) and rest[:1] == b"-" and rest[1:2].isspace()
