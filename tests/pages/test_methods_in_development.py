"""What a person sees of methods in development, of undecided answers, and of a method that is all new."""

from __future__ import annotations

import importlib
import sys

import pytest
from django.urls import reverse

from studies.estimation import methods as registry
from studies.models import Configuration, Study
from studies.services.predictions.development import record_development
from studies.services.transfer.results import method_scores
from tests.pages.reading import figure_of, text_of

OVERVIEW, METHODS = "/studies/estimation/", "/studies/estimation/methods/"
TARGET = "/studies/estimation/configurations/est-qwen25-7b-math-c2-4gpu/"

pytestmark = pytest.mark.usefixtures("sample_studies")

SIXTH = '''
from studies.estimation.interval import Interval
from studies.estimation.methods.base import Method, Prediction, key_in
from studies.estimation.reasons import About, Reasons


class FullDevice(Method):
    """Everything needs between half a device and a whole one."""

    name = "full_device"
    words = "full device"
    order = 60
    colour = "#882255"
    protocol_key = "full_device"
    learns = False
    development_value = "half_to_full"

    def __init__(self, rules):
        self.rules = rules

    @classmethod
    def about(cls):
        return About(
            "A device is always half used.", ("peak = half to all of C",), ("It has never been right.",)
        )

    @classmethod
    def read_rule(cls, protocol, offender):
        return {"value": key_in(protocol, "full_device", offender)}

    @classmethod
    def from_rules(cls, rules):
        return cls(rules)

    def fit(self, pool):
        return self

    def predict(self, targets):
        capacity = self.rules.device_capacity_mib
        interval = Interval(capacity / 2, float(capacity))
        answer = interval.answer(self.rules.memory_margin_limit_mib, capacity)
        return [
            Prediction(target.configuration_id, self.name, answer, budget, capacity * 0.75, interval=interval)
            for target, budget in zip(targets, self.startup_budgets(targets))
        ]

    def fitted_parameters(self):
        return {}

    @classmethod
    def restore(cls, parameters, rules, pool):
        return cls(rules)

    def explain(self, target):
        return Reasons("half a device", ("Because a device is always half used.",))
'''


@pytest.fixture
def sixth(tmp_path):
    """A method in a folder of its own, known to the registry for one test."""
    (tmp_path / "full_device.py").write_text(SIXTH)
    registry.__path__.append(str(tmp_path))
    registry.method_classes.cache_clear()
    importlib.invalidate_caches()
    yield "full_device"
    registry.__path__.remove(str(tmp_path))
    name = f"{registry.__name__}.full_device"
    sys.modules.pop(name, None)
    if hasattr(registry, "full_device"):
        delattr(registry, "full_device")
    registry.method_classes.cache_clear()


def test_a_sixth_method_runs_without_another_edit(client, sixth):
    study = Study.objects.get(slug="estimation")
    assert [item.name for item in registry.method_classes()][-1] == sixth
    assert len(record_development(study, sixth)) == 4
    overview = client.get(OVERVIEW)
    assert "full device · development" in text_of(overview)
    figure = figure_of(overview, "folds")
    [undecided] = [t["x"] for t in figure["data"] if t["name"] == "usable, undecided" and t["xaxis"] == "x2"]
    assert undecided[-1] == -16
    page = text_of(client.get(f"{METHODS}{sixth}/"))
    assert "A device is always half used." in page
    assert "It has never been right." in page
    assert "Full device" in text_of(client.get(METHODS, {"scope": "phi4"}))
    assert "Because a device is always half used." in text_of(client.get(TARGET))
    rows = client.get("/api/v1/studies/estimation/predictions/", {"method": sixth}).json()["results"]
    assert {(row["kind"], row["label"], row["undecided"]) for row in rows} == {
        ("development", "undecided", True)
    }
    assert {(row["lower_peak_mib"], row["upper_peak_mib"]) for row in rows} == {(20_480, 40_960)}
    scores = method_scores(study.pool, sixth, "horizon_transfer")["overall"]
    assert (scores["undecided_within_margin"] + scores["undecided_other"], scores["approved"]) == (4, 0)
    transfer = client.get(reverse("transfer-methods", args=[study.pool.slug]))
    assert "full device, development" in text_of(transfer)


def test_development_stands_beside_the_sealed_ones_and_says_what_it_is(client):
    page = client.get(OVERVIEW)
    text = text_of(page)
    assert "Development, not blind." in text
    assert "two phases · development" in text
    heads = {note["text"] for note in figure_of(page, "folds")["layout"]["annotations"]}
    assert any(note.startswith("<b>exact difference</b> · development<br>") for note in heads)
    sealed, developed = figure_of(page, "panel"), figure_of(page, "panel-development")
    assert "two<br>phases" in developed["layout"]["xaxis"]["ticktext"]
    assert "two<br>phases" not in sealed["layout"]["xaxis"]["ticktext"]
    assert text_of(client.get("/transfer/rlvrambench/methods/")).count("two phases, development") >= 4


def test_exports_and_the_api_say_it_too(client):
    head, first, *_ = b"".join(client.get("/studies/estimation/configurations.csv")).decode().splitlines()
    columns = dict(zip(head.split(","), first.split(","), strict=True))
    assert columns["development_two_phase_predicted_state"] == "memory_failure"
    answer = client.get(
        "/api/v1/studies/estimation/predictions/", {"kind": "development", "label": "undecided"}
    )
    rows = answer.json()["results"]
    assert {row["kind"] for row in rows} == {"development"}
    assert not any(row["approves"] for row in rows)
    own = client.get("/api/v1/studies/estimation/predictions/", {"kind": "panel"}).json()["results"]
    assert {row["lower_peak_mib"] for row in own} == {None}


def test_a_configuration_shows_neighbours_intervals_and_the_deciding_phase(client):
    page = client.get(TARGET)
    text = text_of(page)
    assert "40,301 MiB to 41,780 MiB" in text
    assert "37,511 MiB to 38,735 MiB" in text
    peaks = {trace["name"]: trace for trace in figure_of(page, "peaks")["data"]}
    assert len(peaks["measured neighbour, moved"]["x"]) == 3
    assert "Granite" in " ".join(peaks["measured neighbour, moved"]["customdata"])
    bars = {name for trace in figure_of(page, "volumes")["data"] for name in trace["y"]}
    assert "weight sync phase<br>weight sync decides<br>development" in bars
    assert "rollout phase<br>development" in bars


def test_a_failed_neighbour_is_an_arrow_without_an_upper_end(client):
    found = Configuration.objects.filter(
        predictions__method="exact_difference",
        predictions__label="undecided",
        predictions__upper_peak_mib=None,
        source_study="boundary",
    ).first()
    page = client.get(found.get_absolute_url())
    names = {trace["name"] for trace in figure_of(page, "peaks")["data"]}
    assert "failed neighbour: more than" in names
    assert "neither approves nor rejects" in text_of(page)


def test_a_methods_page_has_formula_residuals_constants_limits_and_misses(client):
    page = client.get(f"{METHODS}two_phase/")
    text = text_of(page)
    assert "peak = the higher of rollout + 1,564 MiB (965 to 2,637) and weight sync + 3,578 MiB" in text
    assert "Granite 60 1,409 MiB (959 MiB to 1,657 MiB) 3,558 MiB (3,212 MiB to 3,870 MiB)" in text
    assert "Granite, MATH mathematics, 2 GPUs, reservation 0.75, horizon_followup" in text
    assert "is an assumption" in text
    names = {trace["name"] for trace in figure_of(page, "residuals")["data"]}
    assert {"rollout, Granite", "weight sync, Qwen"} <= names


@pytest.mark.parametrize("name", ["donor_copy", "component_regression", "logistic", "exact_difference"])
def test_every_method_has_its_page(client, name):
    assert client.get(f"{METHODS}{name}/").status_code == 200
    assert client.get(f"/studies/host-capacity/methods/{name}/").status_code == 200


def test_an_unknown_method_has_none(client):
    assert client.get(f"{METHODS}oracle/").status_code == 404


def test_wrong_targets_stand_with_the_observed_outcome(client):
    text = text_of(client.get(METHODS, {"scope": "phi4"}))
    assert "6 of 30 targets of held-out Phi-4-mini with a label were called otherwise" in text
    panel = text_of(client.get(METHODS))
    assert "6 of 6 targets of the panel with a label" in panel
    refused = client.get(METHODS, {"scope": "acme"})
    assert refused.status_code == 400
    assert "expected one of: panel, granite33, phi4, qwen25" in text_of(refused)


def test_risk_against_coverage_marks_the_real_margin(client):
    figure = figure_of(client.get(METHODS, {"scope": "granite33"}), "coverage")
    marks = {
        trace["name"]: (trace["x"][0], trace["y"][0])
        for trace in figure["data"]
        if trace["name"].endswith("at the real margin")
    }
    assert marks == {
        "donor copy at the real margin": (0, 22),
        "component regression at the real margin": (8, 22),
        "logistic classification at the real margin": (3, 22),
        "two phases, development at the real margin": (0, 22),
        "exact difference, development at the real margin": (0, 22),
    }
