"""The panel: the state of every cell, and how many queries it takes."""

from __future__ import annotations

import itertools

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rlvram_site.marks import MARKS
from studies.estimation.cells import cell_state
from studies.estimation.labels import Label, SlotOutcome, resolve
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.scores.panel import load_panel
from tests.factories import make_study

FAILED, WITHIN, ABOVE, OPEN = (
    ("memory_failure", None), ("completed", 100.0), ("completed", 200.0), (None, None),
)  # fmt: skip


def resolution(*slots):
    return resolve([SlotOutcome(seed, *slot) for seed, slot in enumerate(slots)], 150.0)


@pytest.mark.parametrize(
    ("predicted", "slots", "state"),
    [
        ("within_margin", (WITHIN, WITHIN, WITHIN), "useful"),
        ("within_margin", (WITHIN, FAILED, WITHIN), "approved_failed"),
        ("within_margin", (WITHIN, ABOVE, WITHIN), "approved_above_margin"),
        ("above_margin", (WITHIN, WITHIN, WITHIN), "rejected_usable"),
        ("memory_failure", (WITHIN, WITHIN, WITHIN), "rejected_usable"),
        ("memory_failure", (FAILED, WITHIN, WITHIN), "rejected_rightly"),
        ("above_margin", (FAILED, WITHIN, WITHIN), "rejected_rightly"),
        ("within_margin", (WITHIN, WITHIN, OPEN), "approved_unscored"),
        ("within_margin", (FAILED, WITHIN, OPEN), "approved_unscored_known_failure"),
        ("within_margin", (ABOVE, WITHIN, OPEN), "approved_unscored_known_exceedance"),
        ("memory_failure", (FAILED, FAILED, OPEN), "rejected_unscored"),
    ],
)
def test_what_a_prediction_and_its_target_say_together(predicted, slots, state):
    assert cell_state(predicted, resolution(*slots)) == state


def test_every_cell_has_a_mark_and_an_unresolved_target_is_never_right():
    for label, *slots in itertools.product(Label, *[(FAILED, WITHIN, ABOVE, OPEN)] * 3):
        state = cell_state(label, resolution(*slots))
        assert state in MARKS
        assert ("unscored" in state) == (OPEN in slots)


@pytest.mark.django_db
def test_a_larger_panel_takes_no_more_queries(sample_studies):
    counts = []
    for slug in ("host-capacity", "estimation"):
        study = Study.objects.select_related("pool", "parent").get(slug=slug)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            panel = load_panel(study)
            assert all(row.predictions for row in panel.rows)
            [prediction.donor and prediction.donor.configuration_id for row in panel.rows
             for prediction in row.predictions.values()]  # fmt: skip
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 16


@pytest.mark.django_db
def test_methods_and_rows_stand_in_the_studys_order(sample_studies):
    panel = load_panel(Study.objects.get(slug="estimation"))
    assert panel.methods == ("donor_copy", "component_regression", "logistic")
    assert [row.configuration.gpu_count for row in panel.rows] == [2, 4] * 6
    assert (panel.margin_mib, panel.capacity_mib) == (38_912, 40_960)
    assert [slot.slot.position for slot in panel.slots] == list(range(36))


@pytest.mark.django_db
def test_a_study_without_a_protocol_and_an_unknown_configuration(sample_studies):
    with pytest.raises(ServiceError, match="has no protocol yet"):
        load_panel(make_study())
    with pytest.raises(ServiceError, match="study estimation does not plan nothing"):
        load_panel(Study.objects.get(slug="estimation")).row("nothing")
