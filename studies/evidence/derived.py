"""From the files of one upload, and what was stated beside them, to the derived outcome as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from studies.evidence.collect import RunFile, collect_run
from studies.evidence.completion import CompletionRule
from studies.evidence.findings import EvidenceLine
from studies.evidence.outcome import EXIT_STATUS, derive_outcome
from studies.evidence.report import as_data
from studies.evidence.samples import DevicePeak, SampledPeak

UPLOAD = "upload"
"""Stands for a file name where the upload's own record is the evidence."""


@dataclass(frozen=True)
class Stated:
    """What an upload states besides its files. ``device_peaks_mib`` are MiB by device, where the samples
    themselves were not sent; ``other_processes`` are foreign processes seen on the devices."""

    exit_code: int | None = None
    exit_signal: int | None = None
    device_peaks_mib: Mapping[str, float] | None = None
    other_processes: tuple[str, ...] = ()


def derived_data(files: Iterable[RunFile], rule: CompletionRule, stated: Stated) -> dict[str, object]:
    """The outcome as ``report.as_data`` gives it.

    Raises:
        EvidenceError: files of several jobs, or one beyond a limit on what it may hold.
    """
    evidence = collect_run(files, rule, exit_code=stated.exit_code, where=UPLOAD)
    if stated.exit_signal is not None:
        # The upload itself goes before what a file says of the exit status.
        evidence = replace(
            evidence, exit_code=stated.exit_code, signal=stated.exit_signal, exit_source=EXIT_STATUS
        )
    if evidence.peak is None and stated.device_peaks_mib:
        evidence = replace(evidence, peak=_stated_peaks(stated.device_peaks_mib))
    if stated.other_processes:
        seen = tuple(EvidenceLine(UPLOAD, None, text) for text in stated.other_processes)
        evidence = replace(evidence, contamination=seen)
    return as_data(derive_outcome(evidence, rule))


def _stated_peaks(peaks: Mapping[str, float]) -> SampledPeak:
    devices = tuple(DevicePeak(device, mib, 0) for device, mib in sorted(peaks.items()))
    return SampledPeak(devices, 0, None, None, ("peaks were sent without their samples",))
