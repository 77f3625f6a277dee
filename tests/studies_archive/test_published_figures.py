"""Every published figure comes out of the database again.

Expected values: RLVRAMBench's own result files where its archive lies beside the repository, else the same
figures as the bundle states them. The totals named here stand in the study's read-me and result tables.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from studies.archive.bundle import read_bundle
from studies.estimation.compare import compare
from studies.estimation.study import recompute_retrospective, restore
from studies.estimation.tables import PairedSlot, pairs_of
from studies.models import Study
from studies.services.plan import pools, protocols
from studies.services.predictions.recorded import fold_sets, method_predictions, panel_set
from studies.services.scores import costs
from studies.services.scores.evaluation import always_rule
from studies.services.scores.panel import load_panel
from tests.estimation.facts import resolution_row
from tests.studies_archive.archives import SAMPLE, fields_of

pytestmark = pytest.mark.django_db
HOUR = 3600  # s
FOLDERS = {"estimation": "estimation", "host-capacity": "host_capacity"}
PROSE = ("interpretation", "assumption", "reason", "numerical_environment", "always_rule")


def published_evaluation(archive_path: Path | None, slug: str) -> dict[str, Any]:
    """The panel's evaluation as it was published."""
    if archive_path:
        return json.loads(
            (archive_path / "benchmark" / FOLDERS[slug] / "results/evaluation.json").read_text()
        )
    return _bundled_evaluations(slug)["panel"]


def published_scores(archive_path: Path | None) -> dict[str, Any]:
    """Each family's scores as they were published."""
    if archive_path:
        folds = json.loads((archive_path / "benchmark/estimation/retrospective.json").read_text())["folds"]
        return {family: fold["scores"] for family, fold in folds.items()}
    return {
        key: value["scores"] for key, value in _bundled_evaluations("estimation").items() if key != "panel"
    }


def _bundled_evaluations(slug: str) -> dict[str, Any]:
    stream = next(stream for stream in read_bundle(SAMPLE) if stream.slug == slug)
    return {item["prediction_set"]: item["result"] for item in fields_of(stream, "evaluation")}


@pytest.mark.parametrize("slug", FOLDERS)
def test_evaluate_study_prints_every_number_of_the_published_evaluation(imported, run, archive_path, slug):
    document = json.loads(run("evaluate_study", slug, "--format", "json"))
    assert set(document) == {"answers", "evaluation", "folds"}
    result = compare(published_evaluation(archive_path, slug), document["evaluation"], ignore=PROSE)
    assert result.mismatches == []
    assert result.compared > 130


def test_evaluate_study_prints_every_score_of_the_held_out_families(imported, run, archive_path):
    document = json.loads(run("evaluate_study", "estimation", "--format", "json"))
    scores = {family: fold["scores"] for family, fold in document["folds"].items()}
    result = compare(published_scores(archive_path), scores)
    assert result.mismatches == []
    assert result.compared > 290
    assert json.loads(run("evaluate_study", "host-capacity", "--format", "json"))["folds"] == {}


def test_the_table_counts_each_family_apart(imported, run):
    out = run("evaluate_study", "estimation", "--format", "table")
    assert "panel: 6 of 12 configurations resolved" in out
    assert "held-out family granite33" in out
    assert "donor_copy: 12 approvals, 6 of them unscored, 3 of those with a known failure" in out


# useful / approved failures / approved above margin / rejected usable, per held-out family
FOLD_FIGURES = {
    ("granite33", "donor_copy"): (22, 0, 0, 0),
    ("granite33", "component_regression"): (22, 4, 4, 0),
    ("granite33", "logistic"): (22, 0, 3, 0),
    ("phi4", "donor_copy"): (16, 0, 6, 0),
    ("phi4", "component_regression"): (16, 0, 3, 0),
    ("phi4", "logistic"): (16, 0, 2, 0),
    ("qwen25", "donor_copy"): (22, 0, 0, 0),
    ("qwen25", "component_regression"): (22, 0, 0, 0),
    ("qwen25", "logistic"): (16, 0, 0, 6),
}


def test_the_two_known_error_patterns_and_the_other_seven(imported, run):
    folds = json.loads(run("evaluate_study", "estimation", "--format", "json"))["folds"]
    keys = (
        "approved_within_margin",
        "approved_memory_failure",
        "approved_above_margin",
        "rejected_within_margin",
    )
    found = {
        (family, method): tuple(scores[key] for key in keys)
        for family, fold in folds.items()
        for method, scores in fold["scores"].items()
    }
    assert found == FOLD_FIGURES


def test_the_original_panel(imported):
    panel = load_panel(Study.objects.get(slug="estimation"))
    assert (len(panel.rows), len(panel.slots)) == (12, 36)
    assert len({slot.slot.pair_id for slot in panel.slots}) == 18
    assert sum(bool(slot.attempts) for slot in panel.slots) == 34
    assert sum(slot.outcome.kind == "memory_failure" for slot in panel.slots) == 23
    assert sum(slot.outcome.kind == "completed" for slot in panel.slots) == 0
    reasons = [slot.reason for slot in panel.slots if not slot.resolved]
    assert len(reasons) == 13
    assert reasons.count("host memory exhausted (scheduler kill)") == 7
    assert reasons.count("never launched: the scheduler answered with another allocation") == 2
    assert {row.resolution.label for row in panel.resolved} == {"memory_failure"}
    assert always_rule(panel)["rule"] == "always_failure"
    approved = {
        method: sorted(row.cells[method] for row in panel.rows if row.predictions[method].approves)
        for method in panel.methods
    }
    assert approved == {
        "donor_copy": ["approved_failed"] * 6
        + ["approved_unscored"] * 3
        + ["approved_unscored_known_failure"] * 3,
        "component_regression": ["approved_unscored"] * 3,
        "logistic": [],
    }


def test_the_follow_up_panel(imported):
    panel = load_panel(Study.objects.get(slug="host-capacity"))
    assert (len(panel.rows), len(panel.slots), len(panel.resolved)) == (6, 18, 3)
    assert len({slot.slot.pair_id for slot in panel.slots}) == 9
    by_gpus = {(slot.slot.configuration.gpu_count, slot.outcome.kind): slot.reason for slot in panel.slots}
    assert by_gpus == {
        (2, "memory_failure"): "",
        (4, None): "no record of the final step, although the exit was clean",
    }
    assert (
        sorted(row.cells["donor_copy"] for row in panel.rows)
        == ["approved_failed"] * 3 + ["approved_unscored"] * 3
    )
    assert [row.cells["component_regression"] for row in panel.rows].count("approved_unscored") == 3
    assert not any(row.predictions["logistic"].approves for row in panel.rows)


def test_the_fitting_pool_and_what_the_evidence_cost(imported):
    study = Study.objects.get(slug="estimation")
    rules = protocols.rules(study)
    pool = pools.fitting_pool(study, rules)
    assert (len(pool), pool.eligible_processes, pool.recorded_attempts) == (90, 270, 308)
    assert sum(item.completed_peak_mib is not None for item in pool) == 70
    donors = costs.evidence_cost(study)["distinct_selected_donors"]
    assert (donors["configurations"], donors["eligible_processes"], donors["recorded_attempts"]) == (
        10,
        30,
        34,
    )
    assert costs.evidence_cost(Study.objects.get(slug="host-capacity")) is None


def test_costs_in_their_scopes(imported):
    found = {item.scope.value: item for item in costs.panel_cost(Study.objects.get(slug="host-capacity"))}
    assert round(found["whole_allocation_time"].known_gpu_seconds / HOUR, 2) == 5.79
    assert round(found["task_provisioned_time"].known_gpu_seconds / HOUR, 2) == 4.89
    assert round(found["preflight"].known_gpu_seconds / HOUR, 2) == 0.08
    original = {item.scope.value: item for item in costs.panel_cost(Study.objects.get(slug="estimation"))}
    observed = original["observed_allocation_time"]
    assert (observed.known_records, observed.unknown_records) == (17, 1)
    assert observed.complete_total_gpu_seconds is None


@pytest.mark.parametrize("slug", FOLDERS)
def test_computed_costs_are_the_stated_ones(imported, slug):
    for item in costs.panel_cost(Study.objects.get(slug=slug)):
        assert item.stated is not None
        assert item.known_gpu_seconds == pytest.approx(item.stated.known_gpu_seconds, rel=1e-12)
        assert (item.complete_total_gpu_seconds is None) == (item.stated.complete_total_gpu_seconds is None)
        assert item.complete_total_gpu_seconds in (None, item.known_gpu_seconds)
        assert (item.known_records, item.unknown_records) == (
            item.stated.known_records, item.stated.unknown_records,
        )  # fmt: skip


def test_stored_fits_give_the_published_predictions_scores_and_costs(imported):
    study = Study.objects.get(slug="estimation")
    rules = protocols.rules(study)
    pool = pools.fitting_pool(study, rules)
    stored = {"folds": {item.fold: {"model": item.fitted_model.parameters} for item in fold_sets(study)}}
    folds = recompute_retrospective(stored, pool, rules)["folds"]
    for item in fold_sets(study):
        expected = [prediction.to_record() for prediction in method_predictions(item)]
        assert compare(expected, folds[item.fold]["predictions"], ignore=PROSE).mismatches == []
        cost = item.fitted_model.parameters["source_cost"]
        assert compare(cost, folds[item.fold]["source_cost"], ignore=PROSE).mismatches == []
    panel = panel_set(study)
    fitted = restore(panel.fitted_model.parameters, pool, rules)
    targets = pools.targets(study, rules.target_configuration_ids)
    expected = [prediction.to_record() for prediction in method_predictions(panel)]
    assert (
        compare(expected, [item.to_record() for item in fitted.predict(targets)], ignore=PROSE).mismatches
        == []
    )


def test_recorded_fits_and_predictions_are_the_published_files(imported, archive_path):
    study = Study.objects.get(slug="estimation")
    models = {item.fold: item for item in study.fittedmodels.all()}
    if archive_path:
        folder = archive_path / "benchmark/estimation"
        folds = json.loads((folder / "retrospective.json").read_text())["folds"]
        published = {
            family: fold["model"] | {"source_cost": fold["source_cost"]} for family, fold in folds.items()
        }
        published[""] = json.loads((folder / "fitted_model.json").read_text())
        predictions = json.loads((folder / "predictions.json").read_text())
    else:
        stream = next(stream for stream in read_bundle(SAMPLE) if stream.slug == "estimation")
        published = {item["fold"]: item["parameters"] for item in fields_of(stream, "fitted_model")}
        predictions = [item.to_record() for item in method_predictions(panel_set(study))]
    for fold, expected in published.items():
        assert compare(expected, models[fold].parameters, 0, 0, ignore=PROSE).mismatches == []
    found = [item.to_record() for item in method_predictions(panel_set(study))]
    assert compare(predictions, found, 0, 0, ignore=PROSE).mismatches == []
    assert (len(published), len(predictions)) == (4, 36)


def _cells(value: Any) -> str:
    return "" if value is None else str(value)


PUBLISHED_NAMES = {"model_id": "model", "legacy_dataset_id": "workload"}


def _downloaded(study: Study) -> list[dict[str, str]]:
    """The table that the page of configurations offers."""
    response = Client().get(f"/studies/{study.slug}/configurations.csv")
    rows = csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode()))
    return [{PUBLISHED_NAMES.get(name, name): value for name, value in row.items()} for row in rows]


def _pairs(study: Study) -> list[dict[str, str]]:
    panel = load_panel(study)
    slots = [
        PairedSlot(
            item.slot.pair_id, item.slot.period, item.slot.configuration.gpu_count,
            item.slot.configuration.legacy_dataset_id, item.slot.configuration.configuration_level,
            item.outcome,
            item.eligible.runtime_seconds if item.eligible else None,
        )
        for item in panel.slots
    ]  # fmt: skip
    table = [pair.to_record() for pair in pairs_of(slots, panel.margin_mib)]
    return [{key: _cells(value) for key, value in row.items()} for row in table]


@pytest.mark.parametrize("slug", FOLDERS)
def test_the_downloaded_table_and_the_pairs(imported, archive_path, slug):
    study = Study.objects.get(slug=slug)
    flat, pairs = _downloaded(study), _pairs(study)
    if archive_path:
        for name, rows in (("configurations_flat.csv", flat), ("pairs.csv", pairs)):
            path = archive_path / "benchmark" / FOLDERS[slug] / "results" / name
            with path.open(newline="") as file:
                published = list(csv.DictReader(file))
            names = list(published[0])
            found = {tuple(row[name] for name in names) for row in rows}
            assert found == {tuple(row.values()) for row in published}
    unscored = sum(row["donor_copy_unscored_approval"] == "True" for row in flat)
    assert (len(flat), len(pairs), unscored) == ((12, 18, 6) if slug == "estimation" else (6, 9, 3))
    both = sum(row["both_eligible"] == "True" for row in pairs)
    assert both == (8 if slug == "estimation" else 0)
    first = sum(row["first_task_gpu_count"] == "2" for row in pairs)
    assert first == (9 if slug == "estimation" else 5)


def test_the_results_table_of_the_archive(imported, archive_path):
    for slug, folder in FOLDERS.items():
        found = {
            name: resolution_row(name, item)
            for name, item in load_panel(Study.objects.get(slug=slug)).resolutions.items()
        }
        path = archive_path and archive_path / "benchmark" / folder / "results/configurations.csv"
        if path and path.exists():
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    row.pop("settings")
                    assert row == {
                        key: _cells(value) for key, value in found[row["configuration_id"]].items()
                    }
        assert sum(row["state"] == "memory_failure" for row in found.values()) == len(found) / 2
