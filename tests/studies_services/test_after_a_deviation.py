"""A sealed prediction is explained, and fitted again, by the protocol as it was at the seal."""

from __future__ import annotations

import pytest

from studies.models import Amendment
from studies.services.plan import amendments, protocols
from studies.services.predictions.explanations import RecordedFits, volumes_of
from studies.services.predictions.recorded import panel_set
from studies.services.predictions.refits import refit_payload
from tests.factories import make_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def before(planned):
    return _said(planned)


def _said(study):
    target = study.configurations.first()
    fits, panel = RecordedFits(), panel_set(study)
    methods = sorted({row.method for row in panel.predictions.all()})
    return fits.explain(panel, methods, target), volumes_of(target), refit_payload(study)


@pytest.mark.parametrize("outcome", [None, "memory_failure"])
def test_fewer_features_later_change_neither_explanation_nor_refit(before, planned, outcome):
    if outcome:
        make_attempt(planned.seedslots.first(), outcome)
    base = planned.protocols.get()
    features = protocols.rules(planned).require_fitting().features[:2]
    Amendment(
        study=planned, protocol=base, number=2, base_sha256=base.sha256, sha256="b" * 64,
        amended_at="2026-09-20T00:00:00Z", updates={"features": list(features)},
    ).save()  # fmt: skip
    assert protocols.rules(planned).require_fitting().features == features
    assert amendments.effects(planned)[-1].word == ("deviation" if outcome else "amendment")
    assert _said(planned) == before
    assert len(before[1].components) == 8
