"""The charts of the panel, of approvals and of costs, tested on the data that they draw."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rlvram_site.marks import MARKS
from studies.figures.approvals import APPROVED, REJECTED, Group, MethodCounts, approvals_figure
from studies.figures.costs import ScopeBar, costs_figure
from studies.figures.panel import PanelTarget, panel_figure

METHODS = ("donor_copy", "component_regression", "logistic")
counts = st.dictionaries(st.sampled_from([*APPROVED, REJECTED]), st.integers(0, 40))
groups = st.lists(
    st.builds(
        Group, st.just("family"), st.just("note"),
        st.lists(st.builds(MethodCounts, st.sampled_from(METHODS), counts), max_size=4),
    ),
    max_size=4,
)  # fmt: skip


def target(place: int, gpus: int, states: dict[str, str]) -> PanelTarget:
    return PanelTarget(f"c{place}-{gpus}", f"workload {place} · c2", gpus, None, "1 ? 2 ? 3 ?", "???", states)


@settings(max_examples=40)
@given(st.integers(1, 6), st.lists(st.sampled_from((1, 2, 4, 8)), min_size=1, unique=True), st.data())
def test_every_cell_of_the_panel_is_drawn_once_in_its_state(rows, gpu_counts, data):
    targets = [
        target(row, gpus, {method: data.draw(st.sampled_from(sorted(MARKS))) for method in METHODS})
        for row in range(rows)
        for gpus in gpu_counts
    ]
    figure = panel_figure(targets)
    drawn = [
        (trace.meta["state"], item[0])
        for trace in figure.data
        if trace.type == "bar"
        for item in trace.customdata
    ]
    assert sorted(drawn) == sorted(
        (state, t.configuration_id) for t in targets for state in t.states.values()
    )
    places = [
        (x, y)
        for trace in figure.data
        if trace.type == "bar"
        for x, y in zip(trace.x, trace.base, strict=True)
    ]
    assert len(set(places)) == len(places)


def test_unscored_cells_are_hatched_and_scored_ones_are_not():
    figure = panel_figure(
        [target(0, 2, dict(zip(METHODS, ("useful", "approved_unscored", "rejected_unscored"), strict=True)))]
    )
    shapes = {trace.meta["state"]: trace.marker.pattern.shape for trace in figure.data if trace.type == "bar"}
    assert shapes == {"useful": None, "approved_unscored": "/", "rejected_unscored": "/"}


def test_a_phone_keeps_the_marks_and_loses_the_words():
    figure = panel_figure([target(0, 2, {"donor_copy": "approved_failed"})])
    [bar] = [trace for trace in figure.data if trace.type == "bar"]
    assert "failed" in bar.text[0]
    assert bar.meta["narrow"]["text"] == [f"<b>{MARKS['approved_failed'].glyph}</b>"]


@settings(max_examples=40)
@given(groups)
def test_bars_have_the_counts_and_stand_on_the_right_side_of_zero(found):
    figure = approvals_figure(found)
    for number, group in enumerate(found):
        axis = "x" if number == 0 else f"x{number + 1}"
        bars = {trace.meta["state"]: trace.x for trace in figure.data if trace.xaxis == axis}
        for state in (*APPROVED, REJECTED):
            sign = -1 if state == REJECTED else 1
            drawn = [value or 0 for value in bars.get(state, [0] * len(group.methods))]
            assert drawn == [sign * method.counts.get(state, 0) for method in group.methods]


@settings(max_examples=40)
@given(groups)
def test_groups_share_one_scale_and_no_bar_is_cut_off(found):
    figure = approvals_figure(found)
    ranges = {
        tuple(getattr(figure.layout, f"xaxis{n or ''}").range)
        for n in [0, *range(2, len(found) + 1)][: len(found)]
    }
    assert len(ranges) <= 1
    for low, high in ranges:
        assert all(
            -method.counts.get(REJECTED, 0) >= low and method.approved <= high
            for g in found
            for method in g.methods
        )


def test_every_bar_is_named_in_words():
    method = MethodCounts("donor_copy", {"useful": 2, "approved_failed": 1, "rejected_usable": 3})
    figure = approvals_figure([Group("Granite", "6 held out", [method, MethodCounts("logistic")])])
    assert [note.text for note in figure.layout.annotations] == [
        "<b>Granite</b><br>6 held out",
        "<b>donor copy</b><br>2 useful · 1 failed · 3 usable, rejected",
        "<b>logistic classification</b><br>nothing approved",
    ]


def test_groups_stand_below_each_other_on_a_phone():
    figure = approvals_figure([Group(name, "", [MethodCounts("logistic")]) for name in "abc"])
    domains = [figure.layout.meta["narrow"][f"yaxis{n}"]["domain"] for n in ("", "2", "3")]
    assert domains[0][0] > domains[1][1] > domains[1][0] > domains[2][1]
    assert all(figure.layout.meta["narrow"][f"xaxis{n}"]["domain"] == [0, 1] for n in ("", "2", "3"))


def test_an_incomplete_scope_is_hatched_and_says_so():
    figure = costs_figure([ScopeBar("whole allocation", 2.5), ScopeBar("observed", 1.25, unknown=1)])
    [bars] = figure.data
    assert list(bars.x) == [2.5, 1.25]
    assert list(bars.marker.pattern.shape) == ["", "/"]
    assert [note.text for note in figure.layout.annotations] == [
        "<b>whole allocation</b>: 2.50 GPU-hours",
        "<b>observed</b>: 1.25 GPU-hours, 1 not recorded",
    ]
