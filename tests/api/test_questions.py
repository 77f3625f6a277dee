"""Will it fit? Programs ask over the API or on the command line and get what the page says."""

from __future__ import annotations

import io
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Configuration, Study
from tests.api.conftest import key_for
from tests.checkpoints.published import config_of
from tests.factories import make_study

URL, GRID = "/api/v1/predict/", "/api/v1/predict/grid/"


@pytest.fixture
def target(sample_studies) -> Configuration:
    return Configuration.objects.filter(study__slug="estimation").order_by("pk")[0]


@pytest.fixture
def question(target):
    return {"study": "estimation", "like": target.configuration_id}


def post(client, url, document, **headers):
    return client.post(url, json.dumps(document), content_type="application/json", headers=headers)


def on_command_line(tmp_path, document, *options):
    (tmp_path / "question.json").write_text(json.dumps(document))
    out = StringIO()
    call_command("predict", str(tmp_path / "question.json"), *options, stdout=out)
    return out.getvalue()


def test_the_answer_has_the_sealed_predictions_and_is_the_same_on_the_command_line(
    client, target, question, tmp_path
):
    before = LedgerEntry.objects.count()
    answer = post(client, URL, question)
    assert answer.status_code == 200, answer.content
    said = {item["method"]: item for item in answer.json()["answers"]}
    for sealed in target.predictions.filter(prediction_set__kind="panel").select_related("donor"):
        found = said[sealed.method]
        assert found["predicted_state"] == sealed.label
        peak = sealed.peak_mib
        assert found["predicted_peak_mib"] == (peak if peak is None else pytest.approx(peak, rel=1e-9))
        assert found["donor"] == (sealed.donor.configuration_id if sealed.donor else None)
    assert said["donor_copy"]["held_out_families"]["phi4"]["approved_within_margin"] == 16
    assert answer.json()["neighbours"][0]["observed_state"]
    assert json.loads(on_command_line(tmp_path, question, "--json")) == answer.json()
    words = on_command_line(tmp_path, question)
    assert "component regression: " in words
    assert "nearest measured: " in words
    assert LedgerEntry.objects.count() == before


def test_a_model_that_the_site_does_not_have_is_read_from_its_configuration(client, question):
    sent = question | {"config": config_of("Qwen/Qwen2.5-14B"), "lora_rank": 64, "family": "qwen25"}
    model = post(client, URL, sent).json()["model"]
    assert model["parameters"] == 14_770_033_664
    assert model["weights_gib"]["int4"] == pytest.approx(14_770_033_664 / 2 / 2**30)


def test_a_grid_is_json_or_a_table(client, question, tmp_path):
    sent = question | {"grid": {"gpu_counts": [1, 2, 3], "reservations": [0.5]}}
    rows = post(client, GRID, sent).json()["rows"]
    assert {row["gpu_count"] for row in rows} == {1, 2, 3}
    refused = [row for row in rows if row["gpu_count"] == 3]
    assert all("expected a multiple of gpu_count 3" in row["refused"] for row in refused)
    table = b"".join(post(client, GRID, sent, Accept="text/csv")).decode()
    assert len(table.splitlines()) == 1 + len(rows)
    assert on_command_line(tmp_path, sent).splitlines() == table.splitlines()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"study": "nothing"}, "study"),
        ({"study": "host-capacity"}, "study"),
        ({"like": "nothing"}, "like"),
        ({"model": "gpt-2"}, "model"),
        ({"model": "Qwen/Qwen2.5-7B", "config": {}}, "model"),
        ({"config": {}, "lora_rank": 1}, "model_type"),
        ({"config": {"model_type": "llama"}}, "lora_rank"),
        ({"like": None}, "like"),
        ({"settings": {"gpu_count": "many"}}, "settings.gpu_count"),
        ({"settings": {"gpus": 2}}, "settings.gpus"),
        ({"settings": {"gpu_count": 0}}, "gpu_count"),
        ({"margin_limit_mib": 50_000}, "margin_limit_mib"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_is_wrong_is_named(client, question, changes, field):
    answer = post(client, URL, question | changes)
    assert answer.status_code == 400
    assert field in [item["field"] for item in answer.json()["error"]["fields"]]


def test_settings_without_a_pattern_are_all_needed(client, target):
    answer = post(
        client, URL, {"study": "estimation", "model": target.model_id, "settings": {"gpu_count": 2}}
    )
    assert answer.status_code == 400
    assert "settings.workload_id" in answer.json()["error"]["message"]


@pytest.mark.parametrize("content", ["{", "[]", '{"study": 1}', '{"study": "estimation"}'])
def test_the_command_refuses_what_is_no_question(sample_studies, monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with pytest.raises(CommandError):
        call_command("predict", "-")


def test_a_key_of_one_study_asks_that_study_alone(client, question):
    own, other = Study.objects.get(slug="estimation"), make_study(slug="other")
    for study, status in ((own, 200), (other, 403)):
        api = key_for("read", study=study)
        assert api.post("predict/", question).status_code == status
