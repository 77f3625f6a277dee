"""Two methods side by side."""

from __future__ import annotations

import pytest

from studies.models import Prediction, Study
from studies.services.predictions.comparison import choices
from tests.factories import make_prediction_set
from tests.pages.reading import sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

METHODS = "/studies/estimation/methods/"


def key(study: str, method: str, fold: str = "") -> str:
    """How an address names a method of a study's panel or fold."""
    for choice in choices(Study.objects.get(slug=study)):
        found = choice.prediction_set
        if (found.study.slug, found.fold, choice.method) == (study, fold, method):
            return choice.key
    raise AssertionError("not offered")


def test_rows_that_differ_come_first(client):
    response = client.get(METHODS)
    # Donor copy approves all twelve, the regression three of them.
    assert sentence_of(response) == (
        "Donor copy and component regression predict different labels "
        "for 9 of the 12 targets that they share."
    )
    assert [pair.differs for pair in response.context["pairs"]] == [True] * 9 + [False] * 3


def test_both_sides_can_be_chosen(client):
    left, right = key("estimation", "component_regression"), key("estimation", "logistic")
    response = client.get(METHODS, {"left": left, "right": right})
    assert sentence_of(response).startswith("Component regression and logistic classification predict")
    assert "no peak predicted" in text_of(response)


def test_a_follow_up_is_matched_to_the_targets_it_inherits_from(client):
    left, right = key("host-capacity", "donor_copy"), key("estimation", "donor_copy")
    response = client.get(METHODS, {"left": left, "right": right})
    assert (
        "predict the same label for all 6 targets that they share; 6 only one of them predicts."
        in sentence_of(response)
    )


def test_two_families_share_no_target(client):
    left, right = key("estimation", "logistic", "phi4"), key("estimation", "logistic", "qwen25")
    response = client.get(METHODS, {"left": left, "right": right})
    assert sentence_of(response).endswith("have no target in common, so there is nothing to compare.")


def test_a_label_that_the_guard_changed_is_told(client):
    study = Study.objects.get(slug="estimation")
    target = study.configurations.first()
    again = make_prediction_set(study, fold="again", kind="fold")
    Prediction(
        study=study,
        prediction_set=again,
        configuration=target,
        method="component_regression",
        label="memory_failure",
        peak_mib=38000.0,
        peak_only_label="within_margin",
        guard_changed_label=True,
        guard_applicable=True,
        guard_sum_mib=41000.0,
        guard_predicts_failure=True,
    ).save()
    left = key("estimation", "component_regression", "again")
    text = text_of(client.get(METHODS, {"left": left, "right": key("estimation", "logistic")}))
    assert "startup guard changed it from within margin" in text
    page = text_of(client.get(target.get_absolute_url()))
    assert "The startup guard changed that to memory failure." in page


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_unknown_choice_is_named(client, side):
    response = client.get(METHODS, {side: "nothing"})
    assert response.status_code == 400
    assert "is “nothing”, expected a method of this study, its parent or follow-ups" in text_of(response)


def test_an_unknown_study_is_not_found(client):
    assert client.get("/studies/nowhere/methods/").status_code == 404
