"""What a declared outcome must say, so that nothing is declared which could not have been derived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studies.estimation.labels import is_peak
from studies.evidence.diagnoses import Diagnosis
from studies.models import Attempt

GPU_MEMORY_WORDS = tuple(
    sorted(
        {
            word
            for item in Diagnosis
            if item.is_gpu_memory
            for word in (str(item), item.study_kind or str(item))
        }
    )
)
"""Diagnoses that a declared memory failure may have: ours and the study's own words for them."""

EVIDENCE_FIELDS = ("log", "samples", "scheduler", "device_peaks_mib", "other_processes", "claimed_diagnosis")
"""Parts of an upload from which an outcome is derived. A declared outcome comes without them."""


def declaration_problems(declared: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a declared outcome, by field; empty when nothing is."""
    outcome, peak = declared["outcome"], declared.get("peak_mib")
    diagnosis = declared.get("diagnosis") or ""
    problems: dict[str, str] = {}
    if outcome == Attempt.Outcome.COMPLETED:
        if not is_peak(peak):
            problems["peak_mib"] = "expected the completed process's peak in MiB, above zero"
        if diagnosis:
            problems["diagnosis"] = "expected none for a completed process"
        return problems
    if peak is not None:
        problems["peak_mib"] = (
            "expected none: only a completed process has a peak, what was seen goes into observed_peak_mib"
        )
    if outcome == Attempt.Outcome.MEMORY_FAILURE:
        if diagnosis not in GPU_MEMORY_WORDS:
            problems["diagnosis"] = f"expected one of {', '.join(GPU_MEMORY_WORDS)} for a GPU-memory failure"
    elif not diagnosis and not declared.get("reason"):
        problems["reason"] = "expected a reason or a diagnosis: why the slot stays unresolved"
    return problems
