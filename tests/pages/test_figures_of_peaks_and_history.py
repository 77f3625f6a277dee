"""The charts of volumes, peaks, slots and the timeline, tested on the data that they draw."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlvram_site.marks import MARKS
from studies.figures.peaks import (
    NO_COMPLETED_PEAK,
    NO_PREDICTED_PEAK,
    UNRESOLVED,
    PeakPoint,
    PeakRow,
    own_peaks,
    predicted_against_measured,
)
from studies.figures.slots import SlotGroup, slots_figure
from studies.figures.timeline import LANES, HistoryMark, history_figure
from studies.figures.volumes import Bar, Segment, volumes_figure

MARGIN, CAPACITY = 38912, 40960


def traces(figure, **wanted):
    return [t for t in figure.data if all(getattr(t, key) == value for key, value in wanted.items())]


def texts(figure) -> list[str]:
    return [annotation.text for annotation in figure.layout.annotations]


def test_volumes_stack_from_zero_against_margin_and_capacity():
    bars = [
        Bar("volumes", [Segment("actor", 12.0), Segment("budget", 24.0)]),
        Bar("startup check", [Segment("budget", 24.0)]),
    ]
    figure = volumes_figure(bars, margin_gib=38, capacity_gib=40)
    assert figure.layout.barmode == "stack"
    assert figure.layout.xaxis.range[0] == 0
    assert [(t.name, list(t.x)) for t in figure.data] == [("actor", [12.0, 0]), ("budget", [24.0, 24.0])]
    assert {shape.x0 for shape in figure.layout.shapes} == {38, 40}
    assert {"36.00 GiB", "24.00 GiB", "margin 38 GiB", "capacity 40 GiB"} <= set(texts(figure))


def test_a_component_has_one_colour_in_every_bar():
    bars = [Bar("a", [Segment("x", 1), Segment("y", 2)]), Bar("b", [Segment("y", 3)])]
    figure = volumes_figure(bars, margin_gib=38, capacity_gib=40)
    assert len(figure.data) == 2
    assert figure.data[0].marker.color != figure.data[1].marker.color


def test_a_completed_peak_stands_at_its_own_height():
    point = PeakPoint("a", "useful", 30000.0, 31000.0, resolved=True)
    figure = predicted_against_measured([point], margin_mib=MARGIN, capacity_mib=CAPACITY)
    (trace,) = traces(figure, name="useful")
    assert (list(trace.x), list(trace.y), list(trace.customdata)) == ([30000.0], [31000.0], ["a"])
    (identity,) = traces(figure, name="predicted = measured")
    assert list(identity.x) == list(identity.y)


def test_a_failure_lies_on_a_rail_without_height():
    points = [
        PeakPoint("a", "useful", 30000.0, 31000.0, resolved=True),
        PeakPoint("b", "approved_failed", 33000.0, None, resolved=True),
        PeakPoint("c", "approved_unscored", 33000.0, None, resolved=False),
    ]
    figure = predicted_against_measured(points, margin_mib=MARGIN, capacity_mib=CAPACITY)
    assert list(traces(figure, name=MARKS["approved_failed"].word)[0].y) == [NO_COMPLETED_PEAK]
    assert list(traces(figure, name=MARKS["approved_unscored"].word)[0].y) == [UNRESOLVED]
    rail = figure.layout.yaxis
    assert rail.type == "category"
    assert set(rail.categoryarray) == {NO_COMPLETED_PEAK, UNRESOLVED}
    assert rail.domain[0] > figure.layout.yaxis2.domain[1], "the rails lie above the scale"


def test_a_prediction_without_peak_stands_beside_the_scale():
    points = [
        PeakPoint("a", "rejected_usable", None, 31000.0, resolved=True),
        PeakPoint("b", "rejected_rightly", None, None, resolved=True),
        PeakPoint("c", "rejected_rightly", None, None, resolved=True),
    ]
    figure = predicted_against_measured(points, margin_mib=MARGIN, capacity_mib=CAPACITY)
    assert list(traces(figure, name=MARKS["rejected_usable"].word)[0].x) == [NO_PREDICTED_PEAK]
    (rejected,) = traces(figure, name=MARKS["rejected_rightly"].word)
    assert list(rejected.x) == [NO_PREDICTED_PEAK] * 2
    assert list(rejected.text) == ["×2", ""], "coinciding points carry their number"


def test_margin_and_capacity_are_drawn_with_their_numbers():
    figure = predicted_against_measured([], margin_mib=MARGIN, capacity_mib=CAPACITY)
    assert {"margin 38,912 MiB", "capacity 40,960 MiB"} <= set(texts(figure))


peaks = st.none() | st.floats(1000, 80000)


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(PeakPoint, st.text(min_size=1), st.sampled_from(sorted(MARKS)), peaks, peaks, st.booleans())
    )
)
def test_no_point_is_lost_or_given_a_height(points):
    figure = predicted_against_measured(points, margin_mib=MARGIN, capacity_mib=CAPACITY)
    drawn = [
        (name, x, y)
        for trace in figure.data
        if trace.customdata is not None
        for name, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    ]
    expected = [
        (
            p.configuration_id,
            NO_PREDICTED_PEAK if p.predicted_mib is None else p.predicted_mib,
            p.measured_mib
            if p.measured_mib is not None
            else (NO_COMPLETED_PEAK if p.resolved else UNRESOLVED),
        )
        for p in points
    ]
    assert sorted(drawn, key=repr) == sorted(expected, key=repr)


def test_own_peaks_keep_what_has_none_off_the_scale():
    rows = [
        PeakRow("donor copy", "predicted", 33108.0),
        PeakRow("seed 151", "completed", 33000.0),
        PeakRow("seed 152", "failed", None),
        PeakRow("seed 153", "unresolved", None),
    ]
    figure = own_peaks(rows, margin_mib=MARGIN, capacity_mib=CAPACITY)
    placed = {name: x for trace in figure.data for name, x in zip(trace.y, trace.x, strict=True)}
    assert placed == {
        "donor copy": 33108.0,
        "seed 151": 33000.0,
        "seed 152": "no peak",
        "seed 153": "no peak",
    }


def test_slots_are_counted_per_reason_and_unresolved_ones_are_hatched():
    groups = [
        SlotGroup("unresolved", "unresolved: host memory", 4, 7),
        SlotGroup("memory_failure", "memory failure", 2, 14),
        SlotGroup("memory_failure", "memory failure", 4, 9),
    ]
    figure = slots_figure(groups)
    counted = {
        (trace.name, reason): count
        for trace in figure.data
        for reason, count in zip(trace.y, trace.x, strict=True)
    }
    assert counted == {
        ("2 GPUs", "memory failure"): 14,
        ("4 GPUs", "memory failure"): 9,
        ("4 GPUs", "unresolved: host memory"): 7,
    }
    four = traces(figure, name="4 GPUs")[0]
    assert dict(zip(four.y, four.marker.pattern.shape, strict=True)) == {
        "memory failure": "",
        "unresolved: host memory": "/",
    }
    assert texts(figure) == [
        "✕ memory failure: 14 on 2 GPUs, 9 on 4 GPUs",
        "? unresolved: host memory: 7 on 4 GPUs",
    ]


AT = dt.datetime(2026, 9, 15, 14, 0, tzinfo=dt.UTC)


def test_history_has_a_lane_per_kind_and_two_grounds():
    moments = [
        HistoryMark("protocol and amendments", "protocol frozen", AT),
        HistoryMark("launches", "job 1", AT + dt.timedelta(hours=1), AT + dt.timedelta(hours=2)),
    ]
    figure = history_figure(moments, sealed_at=AT + dt.timedelta(minutes=10))
    grounds = {shape.name: shape for shape in figure.layout.shapes if shape.type == "rect"}
    assert set(grounds) == {"before the seal", "after the seal"}
    assert grounds["before the seal"].fillcolor != grounds["after the seal"].fillcolor
    assert grounds["before the seal"].x1 == grounds["after the seal"].x0 == AT + dt.timedelta(minutes=10)
    assert {"before the seal", "after the seal"} <= set(texts(figure))
    assert list(figure.layout.yaxis.categoryarray) == list(LANES[::-1])


def cursor(figure):
    return next(shape for shape in figure.layout.shapes if shape.name == "as of").x0


def test_history_moves_a_cursor_to_the_time_asked_for():
    moments = [HistoryMark("events", "repair", AT), HistoryMark("events", "end", AT + dt.timedelta(hours=4))]
    figure = history_figure(moments, sealed_at=None, as_of=AT + dt.timedelta(hours=3))
    assert cursor(figure) == AT + dt.timedelta(hours=3)
    assert "as of 2026-09-15 17:00:00" in texts(figure)
    assert not [shape for shape in figure.layout.shapes if shape.type == "rect"], "no seal, no grounds"


def test_a_cursor_far_away_does_not_squeeze_the_line():
    moments = [HistoryMark("events", "repair", AT), HistoryMark("events", "end", AT + dt.timedelta(hours=4))]
    figure = history_figure(moments, sealed_at=None, as_of=AT - dt.timedelta(days=20_000))
    start, end = figure.layout.xaxis.range
    assert cursor(figure) == start
    assert end - start < dt.timedelta(hours=5)


@pytest.mark.parametrize("sealed_at", [None, AT])
def test_an_empty_history_can_be_drawn(sealed_at):
    assert history_figure([], sealed_at=sealed_at).data == ()
