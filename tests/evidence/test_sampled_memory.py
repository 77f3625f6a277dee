"""Sampled memory in every form that hosts write leads to its peak and to what is wrong with the sampling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.estimation.labels import exceeds_margin
from studies.evidence.devices import parse_device_map
from studies.evidence.errors import EvidenceError
from studies.evidence.samples import SampledPeak, sampled_peak

MARGIN_MIB = 38_912
STEP_NS = 100_000_000


def peak_of(*texts: str, **options) -> SampledPeak:
    files = [
        (f"gpu-memory-{number}.csv", [f"{text}\n".encode()]) for number, text in enumerate(texts, start=1)
    ]
    return sampled_peak(files, **options)


def wide(*rows: tuple[int, ...], start: int = 1_000_000_000) -> str:
    return "".join(
        f"{start + number * STEP_NS},{','.join(map(str, row))}\n" for number, row in enumerate(rows)
    )


def test_wide_samples_give_the_peak_of_each_device() -> None:
    peak = peak_of(wide((10, 20), (28882, 30), (15, 24580)))

    assert [(item.device, item.mib) for item in peak.devices] == [("device 0", 28882), ("device 1", 24580)]
    assert peak.mib == 28882
    assert peak.overall is not None
    assert peak.overall.timestamp_ns == 1_000_000_000 + STEP_NS
    assert (peak.sample_rows, peak.problems) == (3, ())


@pytest.mark.parametrize(
    "text",
    [
        "100,1,rollout,500,600\n200,1,actor_update,700,650\n",
        "timestamp_ns,step,phase,gpu0_mib,gpu1_mib\n100,1,rollout,500,600\n200,1,actor_update,700,650\n",
        "timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct\n"
        "100,1,rollout,0,500,10\n100,1,rollout,1,600,10\n200,1,actor_update,0,700,99\n200,1,actor_update,1,650,3\n",
    ],
    ids=["no header", "header", "long form"],
)
def test_samples_with_phases_name_the_phase_of_the_peak(text: str) -> None:
    peak = peak_of(text)

    assert peak.overall is not None
    assert (peak.overall.mib, peak.overall.phase, peak.overall.step) == (700, "actor_update", 1)
    assert [item.mib for item in peak.devices] == [700, 650]


def test_the_phase_comes_from_the_file_that_has_phases() -> None:
    peak = peak_of(wide((700, 10)), "1000000000,1,rollout,650,9\n1100000000,1,weight_sync,690,8\n")

    assert peak.overall is not None
    assert (peak.mib, peak.overall.phase) == (700, "weight_sync")


@pytest.mark.parametrize("change", [
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace(",", ", "),
    lambda text: text.replace("28882", "28882 MiB"),
    lambda text: "\n\n" + text + "\n\n",
])  # fmt: skip
def test_marks_line_ends_blanks_and_units_change_nothing(change) -> None:
    peak = peak_of(change(wide((10, 20), (28882, 30))))

    assert (peak.mib, peak.problems) == (28882, ())


def test_a_cut_last_line_can_not_raise_the_peak() -> None:
    whole = wide((10, 20), (28882, 30), (900, 40))
    for end in range(len(whole) - 12, len(whole)):
        assert peak_of(whole[:end]).mib == 28882
    assert peak_of(whole[: whole.rindex(",")]).problems == ("gpu-memory-1.csv line 3: 2 cells, expected 3",)


def test_unreadable_rows_are_named_and_left_out() -> None:
    peak = peak_of("100,5,6\nnot,a,row\n200,-7,8\n300,[N/A],9\n400,nan,\n500,1e999,2\n")

    assert peak.mib == 9
    assert peak.problems == (
        "gpu-memory-1.csv line 2: 'not,a,row' is no row of samples",
        "gpu-memory-1.csv line 3: '200,-7,8' is no row of samples",
        "gpu-memory-1.csv line 6: '500,1e999,2' is no row of samples",
    )


def test_without_samples_there_is_no_peak_and_not_a_zero() -> None:
    peak = peak_of("timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct\n")

    assert peak.mib is None
    assert peak.problems == ("gpu-memory-1.csv: no samples",)


@pytest.mark.parametrize(("gap_ns", "reported"), [(10 * STEP_NS, False), (10 * STEP_NS + 1, True)])
def test_a_gap_of_more_than_ten_intervals_is_reported(gap_ns: int, reported: bool) -> None:
    peak = peak_of(f"100,5\n{100 + gap_ns},6\n")

    assert bool(peak.problems) is reported
    if reported:
        assert peak.problems == ("gpu-memory-1.csv: no sample for 1.0 s after 100 ns",)


def test_a_sampler_that_started_late_or_stopped_early_is_reported() -> None:
    text = wide((5,), (6,), start=10_000_000_000)
    peak = peak_of(text, started_ns=7_000_000_000, ended_ns=13_100_000_000)

    assert peak.problems == (
        "gpu-memory-1.csv: sampler started 3.0 s after the invocation",
        "gpu-memory-1.csv: sampler stopped 3.0 s before the invocation ended",
    )
    assert peak_of(text, started_ns=10_000_000_000, ended_ns=10_100_000_000).problems == ()


def test_time_that_runs_back_is_reported() -> None:
    assert peak_of("2000000000,5\n1000000000,6\n").problems == (
        "gpu-memory-1.csv: time runs back by 1.0 s at 1000000000 ns",
    )


def test_a_device_map_names_the_columns_and_what_is_missing_on_either_side() -> None:
    peak = peak_of(wide((5, 6)), devices={0: "GPU-aa", 2: "GPU-cc"})

    assert [item.device for item in peak.devices] == ["GPU-aa", "device 1"]
    assert peak.problems == (
        "device 1 is sampled, but missing from the device map",
        "GPU-cc is in the device map, but has no sample",
    )


@pytest.mark.parametrize(
    "document",
    [
        {"GPU-aa": 0, "GPU-bb": 1},
        {"GPU-aa": 1, "GPU-bb": 2},
        {"GPU-aa": 3, "GPU-bb": 4},
        {"0": "GPU-aa", "1": "GPU-bb"},
        ["GPU-aa", "GPU-bb"],
        {"task_device_uuids": ["GPU-aa", "GPU-bb"]},
        {"devices": [{"uuid": "GPU-bb", "column": 1}, {"uuid": "GPU-aa", "column": 0}]},
        {"columns": {"GPU-aa": 0, "GPU-bb": 1}, "host": "acn18"},
    ],
)
def test_a_device_map_is_read_in_each_form(document: object) -> None:
    assert parse_device_map(document, "device-map.json") == {0: "GPU-aa", 1: "GPU-bb"}


@pytest.mark.parametrize(
    "document",
    [3, "GPU-aa", {}, {"GPU-aa": -1}, {"GPU-aa": 0, "GPU-bb": 0}, [{"column": 1}], {"GPU-aa": True}],
)
def test_a_device_map_of_another_form_is_refused_with_its_name(document: object) -> None:
    with pytest.raises(EvidenceError, match=r"device-map\.json"):
        parse_device_map(document, "device-map.json")


@pytest.mark.parametrize(("sampled", "above"), [(38_911, False), (38_912, False), (38_913, True)])
def test_a_sampled_peak_on_the_margin_is_within(sampled: int, above: bool) -> None:
    """The margin of the study's protocol, 38,912 MiB, is inclusive."""
    peak = peak_of(wide((100,), (sampled,)))

    assert peak.mib is not None
    assert exceeds_margin(peak.mib, MARGIN_MIB) is above


samples = st.lists(
    st.tuples(st.integers(0, 90_000), st.integers(0, 90_000), st.integers(0, 90_000)), min_size=1, max_size=60
)


@settings(max_examples=100)
@given(samples, st.integers(1, 59))
def test_the_peak_is_the_largest_sample_however_files_are_split(rows, cut: int) -> None:
    whole = peak_of(wide(*rows))
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    split = peak_of(*(wide(*part) for part in parts))

    assert whole.mib == split.mib == max(max(row) for row in rows)
    assert [item.mib for item in whole.devices] == [max(column) for column in zip(*rows, strict=True)]


@settings(max_examples=200)
@given(st.lists(st.one_of(st.text(max_size=60), st.just("100,5,6"), st.just("1,1,rollout,5")), max_size=12))
def test_any_text_is_read_without_an_error(lines: list[str]) -> None:
    peak = sampled_peak(
        [("a.csv", ["\n".join([*lines, ""]).encode()])], devices={0: "GPU-aa"}, started_ns=0, ended_ns=10
    )

    assert peak.mib is None or peak.mib >= 0
