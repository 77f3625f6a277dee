"""A derived outcome as plain data and as text, for the command line, the API and the pages alike."""

from __future__ import annotations

from studies.evidence.findings import Candidate, EvidenceLine
from studies.evidence.outcome import DerivedOutcome


def as_data(derived: DerivedOutcome) -> dict[str, object]:
    """The outcome as JSON-ready data. `evidence` has the deciding line first; peaks are MiB."""
    peak = derived.peak.overall if derived.peak else None
    entries: list[dict[str, object]] = []
    if derived.deciding:
        entries.append(_line(derived.deciding) | {"diagnosis": _word(derived), "role": "deciding"})
    entries.extend(_candidate(item) for item in derived.others if item.evidence != derived.deciding)
    return {
        "outcome": str(derived.outcome),
        "diagnosis": _word(derived),
        "peak_mib": _mib(derived.peak_mib),
        "evidence": entries,
        "reason": derived.reason,
        "study_kind": derived.diagnosis.study_kind if derived.diagnosis else None,
        "peak": (
            {
                "device": peak.device,
                "mib": _mib(peak.mib),
                "phase": peak.phase,
                "step": peak.step,
                "timestamp_ns": peak.timestamp_ns,
            }
            if peak
            else None
        ),
        "device_peaks_mib": (
            {item.device: _mib(item.mib) for item in derived.peak.devices} if derived.peak else {}
        ),
        "exit_code": derived.exit_code,
        "signal": derived.signal,
        "required_steps": derived.required_steps,
        "last_step": derived.last_step,
        "problems": list(derived.problems),
        "claimed_kind": derived.claimed_kind or None,
        "disagrees": derived.disagrees,
    }


def as_text(derived: DerivedOutcome) -> str:
    """The outcome as a few lines for a terminal."""
    lines = [
        f"outcome: {derived.outcome}",
        f"diagnosis: {_word(derived) or '-'}",
        f"reason: {derived.reason}",
        f"peak_mib: {'-' if derived.peak_mib is None else f'{derived.peak_mib:,.0f}'}",
    ]
    if derived.disagrees:
        lines.append(f"claimed: {derived.claimed_kind} (another word than the derived one)")
    if derived.deciding:
        lines.append(f"decided by: {_place(derived.deciding)}: {derived.deciding.text}")
    for item in derived.others:
        survived = f" ({item.survived})" if item.survived else ""
        lines.append(f"also: {item.diagnosis}{survived}: {_place(item.evidence)}: {item.evidence.text}")
    lines.extend(f"problem: {problem}" for problem in derived.problems)
    return "\n".join(lines)


def _word(derived: DerivedOutcome) -> str | None:
    return str(derived.diagnosis) if derived.diagnosis else None


def _mib(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def _line(line: EvidenceLine) -> dict[str, object]:
    context = [{"line": number, "text": text} for number, text in line.context]
    return {"file": line.file, "line": line.line, "text": line.text, "context": context}


def _candidate(item: Candidate) -> dict[str, object]:
    return _line(item.evidence) | {
        "diagnosis": str(item.diagnosis),
        "role": item.role.value,
        "count": item.count,
        "survived": item.survived or None,
    }


def _place(line: EvidenceLine) -> str:
    return line.file if line.line is None else f"{line.file}:{line.line}"
