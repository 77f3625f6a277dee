"""A sealed study in which nothing has run yet."""

from __future__ import annotations

import pytest

from studies.models import SeedSlot, Study
from tests.factories import make_configuration, make_prediction_set, make_protocol, make_study
from tests.studies_archive.conftest import _archive_template, archive  # noqa: F401


@pytest.fixture
def planned(db, start_databases) -> Study:
    """The original study as it was before its first launch: planned, predicted and sealed."""
    start_databases.ensure("planned")
    return Study.objects.get(slug="estimation")


@pytest.fixture
def unsealed(sample_studies):
    """A follow-up with inherited predictions and no seal yet."""
    origin = Study.objects.get(slug="host-capacity")
    study = make_study(slug="unsealed", pool=origin.pool, parent=origin.parent)
    base = origin.protocols.get()
    make_protocol(study, document=base.document, sha256=base.sha256)
    prediction_set = make_prediction_set(study, inherits=origin.predictionsets.get().inherits)
    for configuration in origin.configurations.all():
        fields = {
            field.name: getattr(configuration, field.name)
            for field in configuration._meta.concrete_fields
            if field.name not in ("id", "recorded_at", "study", "pool")
        }
        own = make_configuration(study, **fields)
        for prediction in origin.predictionsets.get().predictions.filter(configuration=configuration):
            prediction.pk, prediction._state.adding = None, True
            prediction.study, prediction.prediction_set, prediction.configuration = study, prediction_set, own
            prediction.save()
        for slot in SeedSlot.objects.filter(study=origin, configuration=configuration):
            slot.pk, slot._state.adding = None, True
            slot.study, slot.configuration = study, own
            slot.save()
    return study
