"""An author who would make a study look better than it was: each way is refused, with its reason."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.models import LedgerEntry
from studies.estimation.errors import EstimationError
from studies.models import Amendment, Attempt, Protocol, Refusal, Seal
from studies.services import refusals
from studies.services.errors import ServiceError
from studies.services.plan import amendments, protocols
from studies.services.plan.amendments import preview_amendment, record_amendment
from studies.services.predictions.seals import seal_predictions
from studies.services.scores.panel import load_panel
from studies.services.whose_word import STATED, protocol_word
from tests.api.conftest import key_for
from tests.factories import SETTINGS, make_attempt, make_prediction_set, make_protocol, make_study
from tests.pages.reading import text_of
from tests.studies_services.conftest import planned, unsealed

__all__ = ["planned", "unsealed"]
pytestmark = pytest.mark.django_db
R = Refusal.What
CHANGE = {"scoring": "resolved_subset_with_unscored_approvals"}


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


def kept(study) -> list[tuple[str, str]]:
    """What is kept of refused changes: what, and the start of the reason."""
    return [(row.what, row.reason) for row in study.refusals.order_by("pk")]


def test_nothing_is_sealed_after_an_outcome(unsealed):
    make_attempt(unsealed.seedslots.first(), "memory_failure")
    with pytest.raises(ServiceError, match="an outcome of a target is recorded already"):
        seal_predictions(unsealed.predictionsets.get())
    assert not Seal.objects.filter(study=unsealed).exists()
    ((what, reason),) = kept(unsealed)
    assert (what, "an outcome of a target is recorded already" in reason) == (R.SEAL, True)


def test_a_study_is_sealed_once(planned):
    with pytest.raises(ServiceError, match="is sealed already"):
        seal_predictions(planned.predictionsets.get(kind="panel"))
    with pytest.raises(ServiceError, match="is sealed already"):
        seal_predictions(make_prediction_set(planned))
    assert {what for what, _ in kept(planned)} == {R.SEAL}


def test_the_admin_changes_no_frozen_configuration(planned, admin):
    row = planned.configurations.first()
    answer = admin.post(f"/admin/studies/configuration/{row.pk}/change/", {"gpu_count": 8})
    assert answer.status_code == 403
    assert admin.post(f"/admin/studies/configuration/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert planned.configurations.first().gpu_count == row.gpu_count
    assert [what for what, _ in kept(planned)] == [R.RECORD, R.RECORD]
    assert "records are never deleted" in kept(planned)[1][1]
    last = LedgerEntry.objects.order_by("-pk")[0]
    assert (last.stream.name, last.actor) == ("refusals", "root")
    assert "root" in text_of(admin.get(f"/studies/{planned.slug}/refused/"))
    assert "root" not in text_of(Client().get(f"/studies/{planned.slug}/refused/"))


def test_the_api_changes_no_frozen_configuration(planned):
    row = planned.configurations.first()
    api = key_for("read", "plan")
    body = {"configurations": [{**_sent(row), "gpu_count": 2 * row.gpu_count}]}
    answer = api.post(f"studies/{planned.slug}/configurations/", body)
    assert answer.status_code in (400, 409)
    assert "already recorded with other content" in answer.content.decode()
    for method in ("put", "patch", "delete"):
        path = f"/api/v1/studies/{planned.slug}/configurations/{row.configuration_id}/"
        assert getattr(api.client, method)(path, headers=api.headers).status_code == 405
    assert planned.configurations.first().gpu_count == row.gpu_count
    assert [what for what, _ in kept(planned)] == [R.PLAN]
    found = api.get(f"studies/{planned.slug}/refusals/").json()["results"]
    assert [(row["what"], "other content" in row["reason"]) for row in found] == [("plan", True)]


def _sent(row):
    left_out = {"id", "recorded_at", "study", "pool"}
    fields = (field.name for field in row._meta.concrete_fields if field.name not in left_out)
    return {name: value for name in fields if (value := getattr(row, name)) not in (None, "")}


def test_a_study_that_was_frozen_with_its_plan_takes_no_more_of_it(db):
    study = make_study(slug="frozen")
    make_protocol(study, source_path="recorded here")
    row = {"configuration_id": "c9", "case_id": "c9", **SETTINGS}
    answer = key_for("read", "plan").post("studies/frozen/configurations/", {"configurations": [row]})
    assert answer.status_code == 409
    assert "was frozen with its plan" in answer.json()["error"]["message"]
    assert [what for what, _ in kept(study)] == [R.PLAN]


def test_the_same_again_and_a_flood_are_kept_once_and_in_part(planned, monkeypatch):
    for _ in range(3):
        refusals.keep_refusal(planned, R.SEAL, "no")
    assert kept(planned) == [("seal", "no")]
    monkeypatch.setattr(refusals, "MOST_A_DAY", 3)
    for number in range(5):
        refusals.keep_refusal(planned, R.SEAL, f"no {number}")
    assert len(kept(planned)) == 3


def test_refusals_move_no_head_of_the_study(planned):
    before = planned_head(planned)
    refusals.keep_refusal(planned, R.SEAL, "no")
    assert planned_head(planned) == before


def planned_head(study) -> str:
    return LedgerEntry.objects.filter(stream__name=study.stream).order_by("-sequence")[0].sha256


def test_sql_changes_no_frozen_configuration(planned):
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        connection.cursor().execute("UPDATE studies_configuration SET gpu_count = 8")


def test_an_outcome_beyond_the_retry_rule_replaces_nothing(planned):
    slot = planned.seedslots.order_by("position").first()
    failed = make_attempt(slot, "memory_failure")
    make_attempt(slot, "completed", 100.0)
    found = next(item for item in load_panel(planned).slots if item.slot == slot)
    assert found.eligible == failed
    assert [state.role for state in found.attempts][1] == "one more than the protocol permits"


def test_an_outcome_sent_again_with_other_content_is_refused(planned):
    make_attempt(planned.seedslots.first(), "memory_failure", invocation_id="once")
    body = {
        "invocation_id": "once", "slot": planned.seedslots.first().experiment_id,
        "declared": {"outcome": "completed", "peak_mib": 100.0, "source": "me"},
    }  # fmt: skip
    answer = key_for("read", "attempts", "declare").post(f"studies/{planned.slug}/attempts/", body)
    assert answer.status_code == 409
    assert Attempt.objects.get(study=planned).outcome == "memory_failure"
    assert [what for what, _ in kept(planned)] == [R.OUTCOME]


def test_a_backdated_amendment_is_called_what_its_place_makes_of_it(planned, client):
    make_attempt(planned.seedslots.first(), "memory_failure")
    preview = preview_amendment(planned, CHANGE | {"features": list(_features(planned))})
    record_amendment(
        planned, CHANGE | {"features": list(_features(planned))}, reason="earlier",
        amended_at=timezone.datetime.fromisoformat("2020-01-01T00:00:00Z"), confirmed=preview.head.sha256,
    )  # fmt: skip
    assert amendments.effects(planned)[-1].word == "deviation"
    assert "Deviation 2" in text_of(client.get(f"/studies/{planned.slug}/protocol/"))


def _features(study):
    return protocols.rules(study).require_fitting().features[:-1]


def test_two_targets_inherit_no_prediction_twice(unsealed):
    origin = unsealed.protocols.get().document
    names = list(origin["prediction_origins"])
    doubled = {**origin["prediction_origins"], names[0]: origin["prediction_origins"][names[1]]}
    study = make_study(slug="doubled", pool=unsealed.pool, parent=unsealed.parent)
    make_protocol(study, document={**origin, "prediction_origins": doubled})
    with pytest.raises(EstimationError, match="prediction_origins"):
        seal_predictions(make_prediction_set(study))
    assert not Seal.objects.filter(study=study).exists()
    assert [what for what, _ in kept(study)] == [R.SEAL]


def test_a_typed_hash_is_never_shown_as_checked(sample_studies, tmp_path, client):
    """A bundle that claims to have been made here, with a hash that somebody typed."""
    path = tmp_path / "bundle.json"
    call_command("export_study", "host-capacity", output=path, stdout=StringIO())
    bundle = json.loads(path.read_text())
    text = json.dumps(bundle["content"]).replace("host-capacity", "typed")
    frozen = Protocol.objects.get(study__slug="host-capacity")
    text = text.replace(json.dumps(frozen.source_path), '"recorded here"')
    content = json.loads(text.replace(frozen.sha256, "ab" * 32))
    path.write_text(json.dumps({**bundle, "content": content, "sha256": digest(content)}))
    call_command("import_study", path, verbosity=0)
    typed = Protocol.objects.get(study__slug="typed")
    assert (typed.sha256, typed.source_path) == ("ab" * 32, "recorded here")
    assert protocol_word(typed).word == STATED
    assert "Stated by the source" in text_of(client.get("/studies/typed/"))
    out = StringIO()
    call_command("verify_study", "typed", stdout=out)
    assert f"note    protocol: sha256 {'ab' * 32} is stated by the source" in out.getvalue()


def test_an_amendment_of_something_frozen_is_refused(planned):
    with pytest.raises(ServiceError, match="is frozen"):
        preview_amendment(planned, {"memory_margin_limit_mib": 40960})
    assert Amendment.objects.filter(study=planned).count() == 1
