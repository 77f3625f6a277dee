"""What reading a log comes to: lines of evidence, and candidates for what ended the invocation."""

from __future__ import annotations

from dataclasses import dataclass

from studies.evidence.diagnoses import Diagnosis
from studies.evidence.rule import Role


@dataclass(frozen=True)
class EvidenceLine:
    """A place in a file and its text.

    Attributes:
        file: name of the file, or what else says it (`exit status`).
        line: number from 1, or None where there are no lines.
        text: the line, without colour codes.
        context: numbered lines around it, in order.
    """

    file: str
    line: int | None
    text: str
    context: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Something that may have ended the invocation, and where it stands.

    Attributes:
        diagnosis: what it stands for.
        role: how much it weighs.
        rule: name of the row that matched, or of the record it comes from.
        evidence: the first line of its kind.
        count: how many times it was printed.
        survived: why it can't have ended the run, or empty.
    """

    diagnosis: Diagnosis
    role: Role
    rule: str
    evidence: EvidenceLine
    count: int = 1
    survived: str = ""


@dataclass(frozen=True)
class LogFindings:
    """What one log says.

    Attributes:
        file: its name.
        line_count: lines in it.
        byte_count: bytes read.
        steps: record of each completed step; of very many, of the largest and of the one required.
        announced_steps: the horizon that the trainer announced, or None.
        candidates: everything that may have ended the run, in the order of the log.
        tail: the last lines, numbered.
        long_lines: lines that say something and are so long that they were read in parts.
        floods: stretches of 128 KiB with so many messages that those were passed over which repeat others but
            for their numbers.
    """

    file: str
    line_count: int
    byte_count: int
    steps: dict[int, EvidenceLine]
    announced_steps: int | None
    candidates: tuple[Candidate, ...]
    tail: tuple[tuple[int, str], ...]
    long_lines: int = 0
    floods: int = 0

    def of(self, role: Role) -> list[Candidate]:
        """Candidates of one role that may have ended the run, in the order of the log."""
        return [item for item in self.candidates if item.role is role and not item.survived]
