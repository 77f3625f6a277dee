"""What pages read of a study is always what the ledger gives."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from studies.models import (
    Amendment,
    Attempt,
    ConfigurationProjection,
    Exclusion,
    GroupCount,
    NonLaunch,
    Prediction,
    PredictionSet,
    Protocol,
    Seal,
    SeedSlot,
    SlotProjection,
    Study,
)
from studies.services.projections.rebuilding import difference, rebuild
from studies.services.scores.panel import load_panel
from tests.api.panel import PLANNED, load_plan
from tests.factories import make_attempt, make_configuration, make_slots

pytestmark = pytest.mark.django_db


def test_the_real_studies_have_the_projections_that_their_ledgers_give(sample_studies):
    for study in Study.objects.all():
        assert difference(study) == ""
        assert ConfigurationProjection.objects.filter(study=study).count() == study.configurations.count()


def test_labels_cells_and_reasons_are_the_panels(sample_studies):
    for study in Study.objects.all():
        panel = load_panel(study)
        for row in panel.rows:
            stored = row.configuration.projection
            assert stored.state == row.resolution.state
            cells = {
                cell.method: cell.state
                for cell in row.configuration.cells.filter(prediction_set=panel.prediction_set)
            }
            assert cells == row.cells
            assert stored.unscored == any(state.startswith("approved_unscored") for state in cells.values())
            for slot in row.slots:
                assert slot.slot.projection.reason == slot.reason
                assert slot.slot.projection.state == slot.state(panel.margin_mib)
                assert slot.slot.projection.attempts == [
                    [item.attempt.pk, item.role.value] for item in slot.attempts
                ]


def test_a_changed_projection_is_named_and_made_anew(sample_studies, capsys):
    study = Study.objects.get(slug="estimation")
    SlotProjection.objects.filter(study=study, slot__position=0).update(reason="nobody knows")
    assert "reason 'nobody knows'" in difference(study)
    with pytest.raises(CommandError, match="reason 'nobody knows'"):
        call_command("verify_ledger", "estimation", verbosity=0)
    call_command("rebuild_projections", "estimation")
    assert "nobody knows" in capsys.readouterr().out
    assert difference(study) == ""
    call_command("verify_ledger", "estimation", verbosity=0)


def test_an_unknown_study_is_an_error(db):
    with pytest.raises(CommandError, match="no study is called 'nothing'"):
        call_command("rebuild_projections", "nothing")


def test_counts_that_cannot_be_right_do_not_keep_an_attempt_out(sample_studies):
    study = Study.objects.get(slug="estimation")
    GroupCount.objects.filter(study=study).delete()
    slot = SeedSlot.objects.filter(study=study).first()
    configuration = make_configuration(study, configuration_id="one-more")
    make_attempt(make_slots(configuration, (151, 152, 153))[0], "memory_failure")
    assert slot is not None
    rebuild(study)
    assert difference(study) == ""


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["attempt", "exclude", "lift", "correct", "move", "amend", "late", "unlaunched", "seal"]
        ),
        st.integers(0, 35),
        st.sampled_from(["completed", "above", "memory_failure", "unresolved"]),
    ),
    max_size=14,
)


class AnySequence(TestCase):
    """Whatever is recorded, in whatever order, the projections are those of a rebuild."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.study = load_plan(PLANNED - {"seal", "amendment"})

    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(STEPS)
    def test_projections_follow(self, steps) -> None:
        for number, (kind, place, outcome) in enumerate(steps):
            step(self.study, kind, place, outcome, number)
        assert difference(self.study) == ""


def step(study: Study, kind: str, place: int, outcome: str, number: int) -> None:
    """Record one thing; what can't be done at this point is left out."""
    slots = list(SeedSlot.objects.filter(study=study).order_by("position"))
    attempts = list(Attempt.objects.filter(study=study).order_by("pk"))
    slot = slots[place % len(slots)]
    if kind in ("attempt", "late"):
        _attempt(study, None if kind == "late" else slot, outcome, number)
    elif kind == "unlaunched" and not NonLaunch.objects.filter(slot=slot).exists():
        NonLaunch(study=study, slot=slot, diagnosis="none", reason="the array was cancelled").save()
    elif kind in ("exclude", "lift") and attempts:
        Exclusion(
            study=study, attempt=attempts[place % len(attempts)], reason="wrong device", author="someone",
            lifted=kind == "lift",
        ).save()  # fmt: skip
    elif kind in ("correct", "move") and attempts:
        wrong = attempts[place % len(attempts)]
        if not Attempt.objects.filter(supersedes=wrong).exists():
            there = wrong.slot if kind == "correct" else slot
            _attempt(study, there, outcome, number, supersedes=wrong, supersedes_reason="the wrong log")
    elif kind == "amend":
        base = Protocol.objects.get(study=study)
        count = Amendment.objects.filter(study=study).count() + 1
        Amendment(
            study=study, protocol=base, number=count, base_sha256=base.sha256, sha256="c" * 64,
            amended_at="2026-09-02T00:00:00Z", reason="test",
            updates={("memory_margin_limit_mib" if place > 30 else "note"): 20_000 + place},
        ).save()  # fmt: skip
    elif kind == "seal":
        chosen = PredictionSet.objects.filter(study=study, kind="panel")[place % 1]
        if place % 2:
            chosen = PredictionSet(study=study, kind="panel")
            chosen.save()
            target = slot.configuration
            Prediction(
                study=study, prediction_set=chosen, configuration=target, method="donor_copy",
                label="within_margin", peak_mib=30_000.0, guard_applicable=False,
            ).save()  # fmt: skip
        Seal(
            study=study, prediction_set=chosen, sha256="d" * 64, source_path="seal.json",
            sealed_at="2026-09-02T00:00:00Z", protocol_sha256="e" * 64,
        ).save()  # fmt: skip


def _attempt(study: Study, slot: SeedSlot | None, outcome: str, number: int, **fields) -> None:
    peaks = {"completed": 30_000.0 + number, "above": 40_000.0}
    Attempt(
        study=study, slot=slot, invocation_id=f"step-{number}", origin="declared", source="test",
        outcome="completed" if outcome in peaks else outcome, peak_mib=peaks.get(outcome),
        reason="the array was cancelled" if outcome == "unresolved" else "", **fields,
    ).save()  # fmt: skip


def test_a_method_that_leaves_a_target_out_is_named(client, db):
    study = load_plan(PLANNED - {"seal", "amendment", "prediction"})
    targets = list(study.configurations.order_by("configuration_id"))
    panel = PredictionSet.objects.get(study=study, kind="panel")
    for target in targets[1:]:
        Prediction(
            study=study, prediction_set=panel, configuration=target, method="donor_copy",
            label="within_margin", guard_applicable=False,
        ).save()  # fmt: skip
    body = client.get(study.get_absolute_url()).content.decode()
    assert "predictions of donor_copy" in body
    assert targets[0].configuration_id in body
