"""Methods in development on the bundled study: the design's figures by command, and no sealed set."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.chain import record, record_all
from rlvram_site.ledger.verify import verify_streams
from studies.estimation.methods.exact_difference import RULE
from studies.estimation.refit_worker import refit
from studies.models import Configuration, Prediction, PredictionSet, Protocol, SeedSlot, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.predictions.development import methods_in_development, record_development
from studies.services.predictions.recorded import development_sets, method_predictions, panel_set
from studies.services.predictions.refits import refit_payload
from studies.services.predictions.seals import predict_and_seal, seal_predictions, seal_state
from studies.services.scores.evaluation import evaluation_document

KEYS = (
    "approved", "approved_within_margin", "approved_above_margin", "approved_memory_failure",
    "rejected_within_margin", "undecided_within_margin", "undecided_other", "unscored_approved",
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("sample_studies")


def printed(command, *arguments):
    out = StringIO()
    call_command(command, *arguments, "--format", "json", stdout=out)
    return json.loads(out.getvalue())


def counts(document):
    return tuple(document[key] for key in KEYS)


@pytest.mark.parametrize(
    ("method", "folds", "panel", "elsewhere"),
    [
        (
            "two_phase",
            {
                "granite33": (22, 22, 0, 0, 0, 0, 0, 0),
                "phi4": (16, 16, 0, 0, 0, 0, 0, 0),
                "qwen25": (20, 20, 0, 0, 0, 2, 0, 0),
            },
            (0, 0, 0, 0, 0, 0, 0, 0),
            (74, 72, 2, 0, 0, 4, 0, 0),
        ),
        (
            "exact_difference",
            {
                "granite33": (22, 22, 0, 0, 0, 0, 8, 0),
                "phi4": (16, 16, 0, 0, 0, 0, 0, 0),
                "qwen25": (19, 19, 0, 0, 0, 3, 8, 0),
            },
            (3, 0, 0, 0, 0, 0, 0, 3),
            (10, 10, 0, 0, 0, 2, 8, 0),
        ),
    ],
)
def test_the_command_prints_the_designs_figures(method, folds, panel, elsewhere):
    found = printed("evaluate_development", "estimation", "--method", method)
    assert found["kind"] == "development"
    assert {family: counts(scores) for family, scores in found["folds"].items()} == folds
    assert counts(found["panel"]) == panel
    assert counts(found["elsewhere"]) == elsewhere


def test_outside_the_fit_every_miss_is_named():
    """101 configurations that nothing was fitted on: 95 right, 4 undecided, 2 misses of one kind."""
    found = printed("evaluate_development", "estimation", "--method", "two_phase")["elsewhere"]
    assert (found["targets"], found["correct_three_state"], found["not_applicable"]) == (101, 95, 0)
    phi = found["families"]["phi4"]["source_studies"]
    assert phi["horizon_followup"]["undecided_within_margin"] == 4
    misses = found["misses"]
    assert {(item["family"], item["workload"], item["source_study"]) for item in misses} == {
        ("granite33", "math", "horizon_followup")
    }
    assert {(item["predicted_state"], item["observed_state"]) for item in misses} == {
        ("within_margin", "above_margin")
    }
    assert sorted(item["completed_peak_mib"] for item in misses) == [39_410, 40_898]
    assert {
        (round(item["predicted_peak_lower_mib"]), round(item["predicted_peak_upper_mib"])) for item in misses
    } == {(37_110, 37_809)}
    settings = Configuration.objects.filter(
        configuration_id__in=[item["configuration_id"] for item in misses]
    )
    assert {(row.gpu_count, row.vllm_gpu_memory_utilization) for row in settings} == {(2, 0.75)}


@pytest.mark.parametrize(
    ("method", "right", "useful", "rejected"),
    [
        ("two_phase", (142, 216, 36, 4), (88, 132, 26, 3), 0),
        ("exact_difference", (133, 216, 32, 4), (87, 132, 24, 3), 3),
    ],
)
def test_the_transfer_suite_has_the_designs_figures(method, right, useful, rejected):
    found = printed("score_transfer", "--method", method, "--track", "all")
    assert found["kind"] == "development"
    tracks = [found["per_track"][name] for name in (
        "model_transfer", "workload_transfer", "gpu_count_transfer", "horizon_transfer")]  # fmt: skip
    assert tuple(track["correct_three_state"] for track in tracks) == right
    assert tuple(track["approved_within_margin"] for track in tracks) == useful
    overall = found["overall"]
    assert overall["correct_three_state"] == sum(right)
    assert counts(overall) == (sum(useful), sum(useful), 0, 0, rejected, 0, 0, 0)
    assert overall["queries"] == 400


def test_one_track_alone():
    found = printed("score_transfer", "--method", "two_phase", "--track", "gpu_count_transfer")
    assert list(found["per_track"]) == ["gpu_count_transfer"]


def test_undecided_can_count_as_rejected_and_says_so():
    found = printed("evaluate_development", "estimation", "--method", "two_phase", "--undecided-as-rejected")[
        "folds"
    ]["qwen25"]
    assert (found["rejected_within_margin"], found["undecided_counts_as"]) == (2, "rejected")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("estimation", "--method", "logistic"), "expected a method in development"),
        (("estimation", "--method", "oracle"), "name is 'oracle', expected one of"),
        (("host-capacity", "--method", "two_phase"), "fits nothing: its predictions are inherited"),
        (("nowhere", "--method", "two_phase"), "study 'nowhere' is not recorded"),
    ],
)
def test_what_cannot_be_developed_is_told(arguments, message):
    with pytest.raises(CommandError, match=message):
        call_command("evaluate_development", *arguments)


def test_a_file_or_a_method_but_not_both():
    with pytest.raises(CommandError, match="either a file of predictions or --method"):
        call_command("score_transfer", "--track", "all")


def test_development_is_recorded_once_and_in_no_sealed_set():
    study = Study.objects.get(slug="estimation")
    before = Prediction.objects.count()
    record_development(study, "two_phase")
    assert Prediction.objects.count() == before
    sets = development_sets(study)
    assert [(item.method, item.fold) for item in sets] == [
        (method, fold)
        for method in ("two_phase", "exact_difference")
        for fold in ("granite33", "phi4", "qwen25", "")
    ]
    sealed = panel_set(study)
    assert {item.method for item in method_predictions(sealed)} == {
        "donor_copy", "component_regression", "logistic"
    }  # fmt: skip
    assert seal_state(study).word == "sealed before the first launch"
    with pytest.raises(ServiceError):
        seal_predictions(sets[-1])
    assert all(report.ok for report in verify_streams())


def test_the_studys_own_evaluation_does_not_know_them():
    document = evaluation_document(Study.objects.get(slug="estimation"))
    names = {"donor_copy", "component_regression", "logistic"}
    assert set(document["evaluation"]["resolved_subset_metrics"]) == names
    assert all(set(fold["scores"]) == names for fold in document["folds"].values())


def draft_of(original, **changes):
    """The bundled plan once more, with other keys in its protocol."""
    draft = Study(slug="named", title="Named", question="Again?", pool=original.pool)
    record(draft)
    base = original.protocols.get()
    effective = {**protocols.effective_protocol(original), **changes}
    record(
        Protocol(
            study=draft, version=base.version, sha256=base.sha256, source_path="named.json",
            frozen_at=base.frozen_at, document=effective,
        )
    )  # fmt: skip
    rows = list(Configuration.objects.filter(study=original).order_by("pk"))
    for row in rows:
        row.pk, row._state.adding, row.study = None, True, draft
    record_all(rows)
    planned = {row.configuration_id: row for row in draft.configurations.all()}
    slots = list(SeedSlot.objects.filter(study=original).select_related("configuration").order_by("pk"))
    for slot in slots:
        slot.pk, slot._state.adding, slot.study = None, True, draft
        slot.configuration = planned[slot.configuration.configuration_id]
    record_all(slots)
    return draft


def test_a_protocol_that_names_them_seals_them_like_the_others():
    original = Study.objects.get(slug="estimation")
    draft = draft_of(original, two_phase={"quantile": 0.05}, exact_difference=RULE)
    assert methods_in_development(protocols.rules(draft)) == []
    prediction_set, seal = predict_and_seal(draft, refit(refit_payload(draft)))
    found = method_predictions(prediction_set)
    assert list(dict.fromkeys(item.method for item in found)) == [
        "donor_copy", "component_regression", "logistic", "two_phase", "exact_difference"
    ]  # fmt: skip
    assert seal.output_sha256["predictions"]
    ends = {
        (item.method, item.configuration_id): (item.predicted_state, item.interval)
        for item in found
        if item.interval
    }
    developed = {
        (item.method, item.configuration_id): (item.predicted_state, item.interval)
        for one in development_sets(original)
        if one.fold == ""
        for item in method_predictions(one)
    }
    assert ends == developed
    assert PredictionSet.objects.filter(study=draft, kind="development").count() == 0
    scores = evaluation_document(draft)["folds"]["qwen25"]["scores"]
    assert scores["two_phase"]["confusion_matrix_predicted_rows_observed_columns"]["undecided"] == {
        "within_margin": 2, "above_margin": 0, "memory_failure": 0
    }  # fmt: skip
