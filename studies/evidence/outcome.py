"""The rule: from the evidence of one invocation to completed, memory failure or unresolved.

In this order, the first that applies decides; everything else that was found is shown beside it:

1. another process used the device: contamination, whatever else is true;
2. the record of the last required step and exit 0: completed, if memory was sampled. A completion without
   a peak says nothing about memory, so its evidence is missing;
3. exit 0 without that record: missing completion evidence. Peaks and messages don't replace the record;
4. the first cause in the log that nobody handled and no completed step followed;
5. the scheduler's or the launcher's own record of why it ended the job;
6. a kill whose reason nobody knows;
7. the last exception in the log, or the first of those that led to it;
8. the first consequence in the log;
9. the exit status alone, and at the end: missing evidence.
"""

from __future__ import annotations

import math
import signal as signals
from collections.abc import Iterator
from dataclasses import dataclass

from studies.evidence.completion import CompletionRule
from studies.evidence.diagnoses import Diagnosis, Outcome
from studies.evidence.findings import Candidate, EvidenceLine, LogFindings
from studies.evidence.lines import LONGEST_PIECE
from studies.evidence.rule import Role
from studies.evidence.samples import SampledPeak
from studies.evidence.scheduler import SchedulerRow

EXIT_STATUS = "exit status"
"""Stands for a file name where the exit status itself is the evidence."""

NO_PEAK = "The final step has its record, but no memory was sampled: without a peak there is no label."

_TIMEOUT_STATUS = 124
"""Exit status of GNU `timeout` when it ended the command."""

_SCHEDULER_STATES = {
    "OUT_OF_MEMORY": Diagnosis.HOST_MEMORY,
    "TIMEOUT": Diagnosis.TIMEOUT,
    "DEADLINE": Diagnosis.TIMEOUT,
    "NODE_FAIL": Diagnosis.ENVIRONMENT,
    "BOOT_FAIL": Diagnosis.ENVIRONMENT,
    "CANCELLED": Diagnosis.CANCELLED,
    "PREEMPTED": Diagnosis.PREEMPTED,
    "REVOKED": Diagnosis.CANCELLED,
}
_SIGNALS: dict[int, Diagnosis] = {
    signals.SIGINT: Diagnosis.CANCELLED,
    **dict.fromkeys(
        (signals.SIGSEGV, signals.SIGABRT, signals.SIGBUS, signals.SIGFPE, signals.SIGILL), Diagnosis.RUNTIME
    ),
}
# A process that was killed from outside did not end by an import that failed.
_HARMLESS_IF_KILLED = "import_error"


@dataclass(frozen=True)
class RunEvidence:
    """What one invocation left behind. Everything is optional: what is absent is evidence too.

    Attributes:
        logs: findings of its logs, the training log first.
        peak: its sampled memory, or None if nothing was sampled.
        exit_code: exit code of the invocation, as the shell or Python gives it, or None if not known.
        signal: number of the signal that ended it, if that is known otherwise than by the exit code.
        exit_source: who says so.
        steps: steps asked for, as the launcher recorded them.
        scheduler: accounting rows of its job, and the file they come from.
        scheduler_file: name of that file.
        contamination: records of other processes on its devices.
        launcher_limit: the launcher's record that it ended the run at its limit.
        problems: what could not be read, in words.
        claimed_kind: the uploader's own diagnosis, or empty.
    """

    logs: tuple[LogFindings, ...] = ()
    peak: SampledPeak | None = None
    exit_code: int | None = None
    signal: int | None = None
    exit_source: str = EXIT_STATUS
    steps: int | None = None
    scheduler: tuple[SchedulerRow, ...] = ()
    scheduler_file: str = "sacct"
    contamination: tuple[EvidenceLine, ...] = ()
    launcher_limit: EvidenceLine | None = None
    problems: tuple[str, ...] = ()
    claimed_kind: str = ""


@dataclass(frozen=True)
class DerivedOutcome:
    """The outcome and everything it rests on.

    Attributes:
        outcome: completed, memory failure or unresolved.
        diagnosis: what ended it; None for a completed invocation.
        reason: one sentence for a person.
        deciding: the line that decides, or None if nothing at all was left behind.
        others: other candidates, those that may also have ended the run first, then those that it survived.
        peak: the sampled memory. A failed invocation's peak is what was seen before it ended, and no
            measure of what it needed.
        required_steps: the last required step, or None if nobody says.
        last_step: the last step with a record, or None.
        exit_code: as given.
        signal: number of the signal that ended it, or None.
        problems: what is wrong with the evidence, in words.
        claimed_kind: the uploader's own diagnosis, or empty.
    """

    outcome: Outcome
    diagnosis: Diagnosis | None
    reason: str
    deciding: EvidenceLine | None
    others: tuple[Candidate, ...]
    peak: SampledPeak | None
    required_steps: int | None
    last_step: int | None
    exit_code: int | None
    signal: int | None
    problems: tuple[str, ...] = ()
    claimed_kind: str = ""

    @property
    def peak_mib(self) -> float | None:
        """Largest sample of any task device, MiB, or None without samples."""
        return self.peak.mib if self.peak else None

    @property
    def evidence(self) -> tuple[EvidenceLine, ...]:
        """All lines it rests on, the deciding one first."""
        first = (self.deciding,) if self.deciding else ()
        return first + tuple(item.evidence for item in self.others if item.evidence != self.deciding)

    @property
    def disagrees(self) -> bool:
        """Whether the uploader's own diagnosis is another one. Nothing claimed is no disagreement."""
        if not self.claimed_kind:
            return False
        derived = {str(self.diagnosis), self.diagnosis.study_kind} if self.diagnosis else {"completed"}
        return self.claimed_kind not in derived


def derive_outcome(evidence: RunEvidence, rule: CompletionRule | None = None) -> DerivedOutcome:
    """The outcome of one invocation.

    Args:
        evidence: what it left behind.
        rule: what the protocol requires. Its `steps` go before the launcher's, and those before the horizon
            that the trainer announced in its log. Its pattern is the one the logs were read with.
    """
    rule = rule or CompletionRule()
    required = rule.steps or evidence.steps or _announced(evidence)
    record = _record(evidence, required)
    code, killed_by = evidence.exit_code, _signal(evidence)

    candidates = list(_candidates(evidence))
    chosen: Candidate | None = None
    diagnosis: Diagnosis | None
    deciding: EvidenceLine | None
    if evidence.contamination:
        diagnosis, deciding = Diagnosis.CONTAMINATION, evidence.contamination[0]
        reason = f"Another process used the device: {deciding.text}."
    elif code == 0 and killed_by is None and record is not None:
        diagnosis, deciding = None, record
        reason = f"Step {required} of {required} has its record, and the exit code is 0."
        if not _has_peak(evidence.peak):
            diagnosis, reason = Diagnosis.MISSING_EVIDENCE, NO_PEAK
    elif code == 0 and killed_by is None:
        diagnosis, deciding = Diagnosis.MISSING_COMPLETION_EVIDENCE, _last_line(evidence)
        reason = _missing_record(evidence, required)
    else:
        chosen = _first_that_decides(candidates, killed_by)
        if chosen is None:
            chosen = _by_status(evidence, killed_by)
        if chosen is not None:
            diagnosis, deciding = chosen.diagnosis, chosen.evidence
            reason = diagnosis.in_words[0].upper() + diagnosis.in_words[1:] + "."
        else:
            diagnosis, deciding = Diagnosis.MISSING_EVIDENCE, _last_line(evidence)
            reason = _nothing_known(evidence, record, required)

    return DerivedOutcome(
        outcome=_outcome(diagnosis),
        diagnosis=diagnosis,
        reason=reason,
        deciding=deciding,
        others=_others(candidates, chosen, deciding),
        peak=evidence.peak,
        required_steps=required,
        last_step=max((step for log in evidence.logs for step in log.steps), default=None),
        exit_code=code,
        signal=killed_by,
        problems=evidence.problems
        + (evidence.peak.problems if evidence.peak else ())
        + tuple(_long_lines(log) for log in evidence.logs if log.long_lines)
        + tuple(_floods(log) for log in evidence.logs if log.floods),
        claimed_kind=evidence.claimed_kind,
    )


def _outcome(diagnosis: Diagnosis | None) -> Outcome:
    if diagnosis is None:
        return Outcome.COMPLETED
    return Outcome.MEMORY_FAILURE if diagnosis.is_gpu_memory else Outcome.UNRESOLVED


def _has_peak(peak: SampledPeak | None) -> bool:
    """Whether memory was sampled: a finite number of MiB above zero."""
    return peak is not None and peak.mib is not None and math.isfinite(peak.mib) and peak.mib > 0


def _long_lines(log: LogFindings) -> str:
    lines = "1 line is" if log.long_lines == 1 else f"{log.long_lines} lines are"
    return f"{log.file}: {lines} longer than {LONGEST_PIECE >> 10} KiB and read in overlapping parts"


def _floods(log: LogFindings) -> str:
    stretches = "1 stretch" if log.floods == 1 else f"{log.floods} stretches"
    return (
        f"{log.file}: in {stretches} of 128 KiB messages follow so closely that those were passed over which"
        " repeat others but for their numbers"
    )


def _announced(evidence: RunEvidence) -> int | None:
    return next((log.announced_steps for log in evidence.logs if log.announced_steps), None)


def _record(evidence: RunEvidence, required: int | None) -> EvidenceLine | None:
    if required is None:
        return None
    return next((log.steps[required] for log in evidence.logs if required in log.steps), None)


def _signal(evidence: RunEvidence) -> int | None:
    """The signal that ended it: given, or behind an exit code of Python (below 0) or a shell (above 128)."""
    if evidence.signal:
        return evidence.signal
    code = evidence.exit_code
    if code is None:
        return None
    number = -code if code < 0 else code - 128
    return number if 0 < number < signals.NSIG else None


def _candidates(evidence: RunEvidence) -> Iterator[Candidate]:
    """Everything that may have ended the run: by weight, then in the order it was recorded."""
    logs = evidence.logs
    outside = [*_scheduler(evidence)]
    if evidence.launcher_limit:
        outside.append(Candidate(Diagnosis.TIMEOUT, Role.CAUSE, "launcher_limit", evidence.launcher_limit))
    for log in logs:
        yield from log.of(Role.CAUSE)
    yield from outside
    for role in (Role.KILL, Role.ERROR, Role.CONSEQUENCE):
        for log in logs:
            yield from log.of(role)
    for log in logs:
        yield from (item for item in log.candidates if item.survived)


def _scheduler(evidence: RunEvidence) -> Iterator[Candidate]:
    seen: set[str] = set()
    for row in evidence.scheduler:
        diagnosis = _SCHEDULER_STATES.get(row.state)
        if diagnosis is None or row.state in seen:
            continue
        # A step is cancelled as well when another part of the job fails; only the job's own line counts.
        if diagnosis is Diagnosis.CANCELLED and row.step:
            continue
        seen.add(row.state)
        place = EvidenceLine(evidence.scheduler_file, row.line, row.text)
        yield Candidate(diagnosis, Role.CAUSE, f"scheduler_{row.state.lower()}", place)


def _first_that_decides(candidates: list[Candidate], killed_by: int | None) -> Candidate | None:
    for item in candidates:
        if item.survived or (item.rule == _HARMLESS_IF_KILLED and killed_by is not None):
            continue
        return item
    return None


def _by_status(evidence: RunEvidence, killed_by: int | None) -> Candidate | None:
    """What the exit status alone says. A kill is a kill: it never says why."""
    if killed_by is not None:
        diagnosis = _SIGNALS.get(killed_by, Diagnosis.KILLED_UNKNOWN_CAUSE)
        text = f"ended by signal {killed_by} ({_signal_name(killed_by)})"
        if evidence.exit_code is not None:
            text = f"exit code {evidence.exit_code}: {text}"
    elif evidence.exit_code == _TIMEOUT_STATUS:
        diagnosis, text = Diagnosis.TIMEOUT, f"exit code {_TIMEOUT_STATUS}: ended by timeout(1) at its limit"
    else:
        return None
    return Candidate(diagnosis, Role.KILL, "exit_status", EvidenceLine(evidence.exit_source, None, text))


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return "unnamed"


def _last_line(evidence: RunEvidence) -> EvidenceLine | None:
    for log in evidence.logs:
        for number, text in reversed(log.tail):
            if text:
                return EvidenceLine(log.file, number, text)
    if evidence.exit_code is not None:
        return EvidenceLine(evidence.exit_source, None, f"exit code {evidence.exit_code}")
    return None


def _missing_record(evidence: RunEvidence, required: int | None) -> str:
    if required is None:
        return "The exit code is 0, but nobody says how many steps were required."
    recorded = max((step for log in evidence.logs for step in log.steps), default=None)
    last = "there is no record of any step" if recorded is None else f"the last record is of step {recorded}"
    return f"The exit code is 0, but step {required} has no record: {last}."


def _nothing_known(evidence: RunEvidence, record: EvidenceLine | None, required: int | None) -> str:
    if evidence.exit_code is None:
        if record is not None:
            return f"Step {required} has its record, but the exit code is not known."
        return "Neither an exit code nor a line that proves an end was left behind."
    return f"The exit code is {evidence.exit_code}, and no line says why."


def _others(
    candidates: list[Candidate], chosen: Candidate | None, deciding: EvidenceLine | None
) -> tuple[Candidate, ...]:
    return tuple(item for item in candidates if item is not chosen and item.evidence != deciding)
