"""When an invocation is complete: the record of its last required step, and exit 0. Both."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from studies.evidence.errors import EvidenceError

STUDY_STEP_PATTERN = r"\bstep:(?P<step>\d+)\s+-\s.*\btraining/global_step:(?P=step)(?:\.0+)?(?![\d.])"
"""How the study's trainer prints the record of a step. Releases differ in the decimals of the counter."""


@dataclass(frozen=True)
class CompletionRule:
    """What the protocol requires of the log.

    Attributes:
        steps: number of the last required step, from 1. None if nobody says; then the horizon that the
            trainer itself announced counts.
        pattern: regular expression of the record of one step, with a group `step`.

    Raises:
        EvidenceError: steps below 1, or a pattern that is no expression or has no group `step`.
    """

    steps: int | None = None
    pattern: str = STUDY_STEP_PATTERN
    compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.steps is not None and (isinstance(self.steps, bool) or self.steps < 1):
            raise EvidenceError("completion rule", "steps", self.steps, "a whole number from 1")
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise EvidenceError(
                "completion rule", "pattern", self.pattern, f"a regular expression ({error})"
            ) from error
        if "step" not in compiled.groupindex:
            raise EvidenceError(
                "completion rule", "pattern", self.pattern, r"a group for the number, as in (?P<step>\d+)"
            )
        object.__setattr__(self, "compiled", compiled)

    def step_in(self, text: str) -> int | None:
        """The step whose record `text` is, or None."""
        match = self.compiled.search(text)
        if not match or not match["step"]:
            return None
        try:
            return int(match["step"])
        except ValueError:
            return None
