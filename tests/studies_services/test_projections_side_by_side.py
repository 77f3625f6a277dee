"""Several processes record attempts of the same slots at once: no change of the projections is lost."""

from __future__ import annotations

from studies.models import Attempt
from studies.services.projections.rebuilding import difference
from tests.api.panel import PLANNED, load_plan
from tests.processes import start_python

WRITERS, EACH = 4, 12


def test_writers_side_by_side_lose_no_change(transactional_db):
    study = load_plan(PLANNED)
    writers = [
        start_python("-m", "tests.studies_services.attempt_writer", study.slug, str(number), str(EACH))
        for number in range(WRITERS)
    ]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS, errors
    assert Attempt.objects.filter(study=study).count() == WRITERS * EACH
    assert difference(study) == ""
