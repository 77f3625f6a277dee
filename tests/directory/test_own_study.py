"""A study of other models, devices and seeds: from a folder to labels, without a line of Python."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.canonical import digest
from studies.estimation.labels import Label
from studies.models import Attempt, ModelArchitecture, Pool, SeedSlot, Study
from studies.services.plan import protocols
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt

SLUG = "example-14b"
READS = (
    "", "head/", "protocol/", "amendments/", "configurations/", "slots/", "attempts/", "events/", "seals/",
    "prediction-sets/", "predictions/", "evaluations/", "evidence/", "exclusions/", "allocations/",
    "non-launches/", "configurations-flat/", "fits/", "pairs/", "costs/", "orders/?program=train",
)  # fmt: skip
TARGET = "llama31-8b-math-short-4gpu-target"
PAGES = (
    "", "unscored/", "outcomes/", "history/", "configurations/", "methods/", "protocol/", "pairs/",
    "costs/", "events/", f"configurations/{TARGET}/", "what-if/", "evidence/", "commits/",
    *(f"methods/{name}/" for name in ("donor_copy", "component_regression", "logistic", "two_phase")),
)  # fmt: skip


def run(name, *arguments, **options):
    out = StringIO()
    try:
        call_command(name, *arguments, stdout=out, **options)
    except SystemExit:
        pytest.fail(out.getvalue())
    return out.getvalue()


@pytest.fixture
def study(transactional_db, folder) -> Study:
    """Recorded for good: a running job reports over a connection of its own."""
    run("create_study", folder)
    return Study.objects.get()


def test_the_check_says_what_would_be_recorded(db, folder):
    said = run("check_study", folder)
    assert "configurations: 16, seeds: 5, slots: 80, pairs: 0" in said
    assert "most that the plan can cost: 300.00 GPU-hours" in said
    assert "model Qwen/Qwen2.5-14B: 14,770,033,664 parameters, from the qwen2 layout" in said
    assert not Study.objects.exists()


def test_an_example_is_not_written_over_something(db, folder):
    with pytest.raises(CommandError, match="expected a folder that does not exist yet"):
        run("new_study", folder)


def test_everything_is_recorded_and_the_protocol_is_frozen_with_its_own_hash(study):
    protocol = study.protocols.get()
    assert protocol.sha256 == digest(protocol.document)
    assert (study.configurations.count(), SeedSlot.objects.count()) == (16, 80)
    pool = Pool.objects.get()
    assert (pool.configurations.count(), pool.architectures.count()) == (64, 2)
    assert (
        ModelArchitecture.objects.get(model_id="Qwen/Qwen2.5-14B").floating_checkpoint_elements
        == 14_770_033_664
    )
    assert protocols.rules(study).evaluation_seeds == (1, 2, 3, 4, 5)
    assert {item.margin_limit_mib for item in study.configurations.all()} == {70_000}


def test_the_same_folder_again_is_refused(study, folder):
    with pytest.raises(CommandError):
        call_command("create_study", folder, stdout=StringIO(), stderr=StringIO())
    assert Study.objects.count() == 1


def test_a_second_study_learns_from_the_pool_that_is_there(study, folder):
    text = (folder / "study.yaml").read_text().replace("slug: example-14b", "slug: second")
    (folder / "study.yaml").write_text(text)
    (folder / "pool.csv").unlink()
    run("create_study", folder)
    second = Study.objects.get(slug="second")
    assert second.pool == study.pool
    assert protocols.rules(second).require_fitting() == protocols.rules(study).require_fitting()


def test_a_model_that_the_pool_has_with_other_numbers_is_refused(study, folder):
    text = (folder / "study.yaml").read_text().replace("slug: example-14b", "slug: second")
    (folder / "study.yaml").write_text(text.replace("lora_rank: 64", "lora_rank: 32", 1))
    (folder / "pool.csv").unlink()
    with pytest.raises(CommandError):
        run("check_study", folder)


def test_predictions_are_sealed_and_five_outcomes_make_a_label(study):
    run("run_job", "predict-and-seal", study=SLUG)
    slots = list(SeedSlot.objects.filter(configuration__configuration_id=TARGET).order_by("seed"))
    assert len(slots) == 5
    for slot in slots[:4]:
        make_attempt(slot, Attempt.Outcome.COMPLETED, 60_000.0)
    assert load_panel(study).row(TARGET).resolution.label is None
    make_attempt(slots[4], Attempt.Outcome.COMPLETED, 70_000.0)
    row = load_panel(study).row(TARGET)
    assert (row.resolution.label, row.resolution.completed_peak_mib) == (Label.WITHIN_MARGIN, 70_000.0)
    said = run("evaluate_study", SLUG)
    assert "panel: 1 of 16 configurations resolved" in said
    assert {"held-out family llama31", "held-out family qwen25"} <= set(said.splitlines())


@pytest.mark.parametrize("sealed", [False, True])
def test_every_page_of_it_can_be_read_before_and_after_the_seal(client, study, sealed):
    if sealed:
        run("run_job", "predict-and-seal", study=SLUG)
    for page in ("/", *(f"/studies/{SLUG}/{name}" for name in PAGES), study.pool.get_absolute_url()):
        answer = client.get(page)
        assert answer.status_code == 200, page
        text = re.sub(r"<[^>]+>", " ", answer.content.decode())
        assert "three slots" not in text, page
        assert "three seed" not in text, page
        assert "cannot be shown" not in text.lower(), page
        for word in ("three repeats", "Granite", "2 and 4 GPUs", "38,912", "40,960"):
            assert word not in text or "methods/two_phase" in page, f"{page}: {word}"


@pytest.mark.parametrize("sealed", [False, True])
def test_every_address_of_the_api_answers_for_it(client, study, sealed):
    if sealed:
        run("run_job", "predict-and-seal", study=SLUG)
    for path in READS:
        assert client.get(f"/api/v1/studies/{SLUG}/{path}").status_code == 200, path
    flat = client.get(f"/api/v1/studies/{SLUG}/configurations-flat/").json()["results"]
    assert {row["required_seeds"] for row in flat} == {5}
    assert {row["gpu_count"] for row in flat} == {1, 2, 4, 8}
    assert ("donor_copy_predicted_state" in flat[0]) == sealed
    question = {"study": SLUG, "like": TARGET, "settings": {"gpu_count": 8}}
    answer = client.post("/api/v1/predict/", question, content_type="application/json").json()
    assert (answer["device_capacity_mib"], answer["margin_limit_mib"]) == (81_559, 70_000)
    families = set(answer["answers"][0]["held_out_families"])
    assert families <= {"llama31", "qwen25"}
