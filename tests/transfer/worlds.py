"""Small transfer suites without a database, and predictions as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from studies.estimation.labels import Label
from studies.transfer.suite import Measured, Query, Suite, Track

LABELS = [label.value for label in Label]


def measured(name: str, case: str, label: str = "within_margin", *, peak: float = 30000.5, attempts: int = 3):
    """A configuration with its outcome. A failure has no peak."""
    failed = label == "memory_failure"
    return Measured(
        {"configuration_id": name, "case_id": case, "gpu_count": 2, "margin_limit_mib": 38912},
        {
            "configuration_id": name,
            "observed_state": label,
            "eligible_processes": 3,
            "recorded_attempts": attempts,
            "max_completed_run_peak_mib": None if failed else peak,
        },
    )


def small_suite(labels: Mapping[str, str] | None = None) -> Suite:
    """Two cases of two levels that ask for each other, and one query of another track."""
    found = {"a0": "within_margin", "a1": "memory_failure", "b0": "above_margin", "b1": "within_margin"}
    found |= labels or {}
    configurations = [measured(name, f"case-{name[0]}", label) for name, label in found.items()]
    configurations.append(measured("h0", "case-h", "within_margin", attempts=5))
    queries = [
        Query("q-b0", "task-from-a", Track.MODEL, "a0", "b0"),
        Query("q-b1", "task-from-a", Track.MODEL, "a1", "b1"),
        Query("q-a0", "task-from-b", Track.MODEL, "b0", "a0"),
        Query("q-a1", "task-from-b", Track.MODEL, "b1", "a1"),
        Query("q-h0", "task-horizon", Track.HORIZON, "a0", "h0"),
    ]
    return Suite.of(queries, configurations)


@st.composite
def suites(draw) -> Suite:
    """Cases of one to four levels; for every ordered pair of cases one task that carries each level over."""
    cases, levels = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    peaks = draw(st.permutations(range(cases * levels)))
    configurations = {
        (case, level): measured(
            f"cfg-{case}-{level}",
            f"case-{case}",
            draw(st.sampled_from(LABELS)),
            peak=23456.5 + 7 * peaks[case * levels + level],
            attempts=draw(st.integers(3, 9)),
        )
        for case in range(cases)
        for level in range(levels)
    }
    queries = []
    for source in range(cases):
        for target in range(cases):
            if source == target:
                continue
            track = draw(st.sampled_from(list(Track)))
            queries += [
                Query(
                    f"q-{source}-{target}-{level}",
                    f"task-{source}-{target}",
                    track,
                    configurations[source, level].configuration_id,
                    configurations[target, level].configuration_id,
                )
                for level in range(levels)
            ]
    return Suite.of(draw(st.permutations(queries)), configurations.values())


@st.composite
def predicted(draw, suite: Suite) -> dict[str, Label]:
    """A label for every query."""
    return {query.query_id: Label(draw(st.sampled_from(LABELS))) for query in suite.queries}


def csv_file(rows: Iterable[tuple[str, str]], *, end: str = "\n", mark: str = "") -> bytes:
    """Predictions as a CSV file; ``mark`` goes in front of it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["query_id", "predicted_state"])
    writer.writerows(rows)
    return (mark + text.getvalue()).encode()
