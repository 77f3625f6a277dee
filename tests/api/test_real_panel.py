"""The real panel, uploaded through the API, says what was published, in whatever order and however often."""

from __future__ import annotations

import json
import random
import threading

import pytest
from django.db import connections
from django.test import Client

from rlvram_site.marks import UNSCORED_APPROVALS
from studies.models import Attempt
from studies.services.predictions.seals import seal_state
from studies.services.scores.evaluation import panel_evaluation
from studies.services.scores.panel import load_panel
from tests.api.conftest import key_for
from tests.api.panel import ORIGINAL, load_plan, uploads

BATCH = f"studies/{ORIGINAL}/attempts/batch/"


@pytest.fixture
def plan(db):
    return load_plan()


def check_published(study) -> None:
    """Figures of the study's own evaluation.json and processes.csv."""
    panel = load_panel(study)
    assert len(panel.rows) == 12
    labels = [row.resolution.state for row in panel.rows]
    assert (labels.count("memory_failure"), labels.count("unresolved")) == (6, 6)
    assert sum(row.resolution.known_memory_failure for row in panel.rows) == 9
    assert not any(row.resolution.known_margin_exceedance for row in panel.rows)
    assert sum(slot.resolved for slot in panel.slots) == 23
    cells = {method: [row.cells[method] for row in panel.rows] for method in panel.methods}
    unscored = [sum(cell in UNSCORED_APPROVALS for cell in found) for found in cells.values()]
    assert sorted(unscored) == [0, 3, 6]
    assert max(found.count("approved_unscored_known_failure") for found in cells.values()) == 3
    scores = panel_evaluation(panel)
    assert json.dumps(scores)  # plain numbers, ready to be compared with the published file
    assert seal_state(study).prospective
    assert Attempt.objects.filter(study=study).count() == 34
    assert set(Attempt.objects.filter(study=study).values_list("origin", flat=True)) == {"declared"}


def test_in_the_published_order(plan, archive_path):
    api = key_for("read", "attempts", "declare")
    answer = api.post(BATCH, {"attempts": uploads(archive_path)})
    assert answer.status_code == 201, answer.content
    check_published(plan)
    again = api.post(BATCH, {"attempts": uploads(archive_path)})
    assert again.json()["unchanged"] == 34
    check_published(plan)


def test_shuffled_and_one_by_one(plan, archive_path):
    api = key_for("read", "attempts", "declare", study=plan)
    rows = uploads(archive_path)
    random.Random(7).shuffle(rows)
    assert {api.post(f"studies/{ORIGINAL}/attempts/", row).status_code for row in rows} == {201}
    check_published(plan)


def test_the_table_and_the_bundle_say_the_same(plan, archive_path):
    api = key_for("read", "attempts", "declare")
    api.post(BATCH, {"attempts": uploads(None)})
    check_published(plan)


@pytest.mark.django_db(transaction=True)
def test_from_eight_clients_at_once(archive_path):
    study = load_plan()
    api = key_for("read", "attempts", "declare")
    rows = uploads(archive_path)
    codes: list[int] = []

    def send(seed: int) -> None:
        mine = rows[:]
        random.Random(seed).shuffle(mine)
        try:
            for start in range(0, len(mine), 5):
                body = json.dumps({"attempts": mine[start : start + 5]})
                answer = Client().post(
                    f"/api/v1/{BATCH}", body, content_type="application/json", headers=api.headers
                )
                codes.append(answer.status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) <= {200, 201}
    check_published(study)
