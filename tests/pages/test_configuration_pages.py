"""A study's list of configurations and the page of one, on the bundled studies.

Published figures are the study's own: its predictions file, its results tables and its fitted model.
"""

from __future__ import annotations

import csv
import io

import pytest

from studies.estimation.tries import SlotTries
from studies.models import Attempt, SeedSlot
from tests.factories import make_attempt
from tests.pages.reading import figure_of, sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

LIST = "/studies/estimation/configurations/"
FAILED = f"{LIST}est-qwen25-7b-gsm8k-c2-2gpu/"
PARTLY = f"{LIST}est-qwen25-7b-math-c2-2gpu/"
DONOR = "/pools/rlvrambench/configurations/cfg-338d9224eb9d2f3a/"


def ids(response) -> list[str]:
    return [row.record.configuration_id for row in response.context["listing"].table.page.object_list]


def test_the_list_says_how_many_have_a_label(client):
    response = client.get(LIST)
    assert sentence_of(response) == "6 of 12 planned configurations have a label."
    assert "12 of 12 configurations." in text_of(response)


@pytest.mark.parametrize(
    ("state", "number"),
    [
        ("memory_failure", 6),
        ("unresolved", 6),
        ("unresolved_known", 3),
        ("within_margin", 0),
        ("above_margin", 0),
    ],
)
def test_the_label_filter_counts_as_the_study_does(client, state, number):
    assert len(ids(client.get(f"{LIST}?state={state}"))) == number


def test_an_unresolved_row_keeps_its_known_failure(client):
    response = client.get(f"{LIST}?q=math-c2-2gpu")
    assert ids(response) == ["est-qwen25-7b-math-c2-2gpu"]
    text = text_of(response)
    assert "unresolved : a failure known" in text or "unresolved: a failure known" in text
    assert "151 ? 152 ✕ 153 ?" in text


def test_the_list_sorts_by_label_in_the_order_of_the_labels(client):
    states = [
        client.get(LIST + f"?sort={order}label")
        .context["listing"]
        .table.page.object_list[0]
        .get_cell("label")
        for order in ("", "-")
    ]
    assert "memory failure" in states[0]
    assert "unresolved" in states[1]


def test_the_download_has_outcome_and_every_prediction(client):
    response = client.get("/studies/estimation/configurations.csv?q=gsm8k-c2-4gpu")
    (row,) = csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode()))
    assert row["observed_state"] == "unresolved"
    assert row["unresolved_seeds"] == "151;152;153"
    assert row["completed_peak_mib"] == "", "blank is not zero"
    assert float(row["component_regression_predicted_peak_mib"]) == pytest.approx(38751.70456713468)
    assert row["donor_copy_predicted_state"] == "within_margin"
    assert row["logistic_predicted_peak_mib"] == ""


def test_the_page_opens_with_what_happened_and_what_it_was_worth(client):
    assert sentence_of(client.get(FAILED)) == (
        "Memory failure: all three slots ended in a diagnosed memory failure. Donor copy: approved, failed. "
        "Component regression and logistic classification: rejected, rightly."
    )
    assert sentence_of(client.get(PARTLY)) == (
        "Unresolved: two of three slots established nothing, though a memory failure is already known. "
        "Donor copy: approved, unscored, failure known. "
        "Component regression and logistic classification: rejected, unscored."
    )


def test_settings_that_differ_within_the_case_come_first(client):
    rows = [(row.column, row.value, list(row.others)) for row in client.get(FAILED).context["differing"]]
    assert rows == [
        ("configuration_level", "c2", ["c3"]),
        ("actor_micro_batch", "8", ["16"]),
        ("vllm_gpu_memory_utilization", "0.6", ["0.7"]),
    ]


def test_eight_volumes_stand_beside_the_guards_sum(client):
    response = client.get(FAILED)
    assert len(response.context["volume_rows"]) == 8
    assert "39,410 MiB of 40,960 MiB capacity" in text_of(response)
    figure = figure_of(response, "volumes")
    bars = {}
    for trace in figure["data"]:
        for bar, size in zip(trace["y"], trace["x"], strict=True):
            bars[bar] = bars.get(bar, 0) + size
    assert bars["startup guard"] * 1024 == pytest.approx(39409.6357421875)
    assert bars["regression"] * 1024 == pytest.approx(46461.218916058904)
    assert sorted(line["x0"] for line in figure["layout"]["shapes"]) == [38, 40]


def regression_peak_mib(response):
    """Sum of the regression's addends as the page has them."""
    [line] = [line for line in response.context["sets"][0].lines if "regression" in line.name]
    [stack] = line.reasons.stacks
    return stack.total_gib * 1024


def test_the_terms_of_the_regression_add_up_to_the_recorded_peak(client):
    response = client.get(FAILED)
    assert regression_peak_mib(response) == pytest.approx(46461.218916058904, rel=1e-9)
    text = text_of(response)
    assert "Fitted peak, 46,461 MiB – – – 45.3723" in text
    assert "The peak alone says memory failure. The startup guard (39,410 MiB) left it as it is." in text


def test_the_donor_is_named_with_its_distance_and_differences(client):
    response = client.get(FAILED)
    text = text_of(response)
    assert "Copied from cfg-338d9224eb9d2f3a: same GPU count, same architecture family" in text
    assert "first of 6 permitted donors" in text
    assert "Qwen2.5-7B-Instruct Qwen2.5-3B-Instruct" in text


def test_the_classifier_shows_a_label_and_no_score(client):
    text = text_of(client.get(FAILED))
    assert "It predicts a label only: memory failure." in text
    assert "probabilit" in text
    assert "%" not in text


def test_what_has_no_peak_stands_beside_the_scale(client):
    figure = figure_of(client.get(FAILED), "peaks")
    placed = {}
    for trace in figure["data"]:
        placed |= dict(zip(trace["y"], trace["x"], strict=True))
    assert placed["donor copy"] == 33108.0
    assert placed["seed 151"] == placed["logistic classification"] == "no peak"


def test_the_slots_link_to_their_attempts(client):
    page = client.get(PARTLY).content.decode()
    assert "/studies/estimation/slots/est-qwen25-7b-math-c2-s153-2gpu/" in page
    assert "set-up error before the model was loaded" in page


def test_a_follow_up_shows_its_parents_reasons(client):
    response = client.get("/studies/host-capacity/configurations/host-qwen25-7b-gsm8k-c2-2gpu/")
    assert regression_peak_mib(response) == pytest.approx(46461.218916058904, rel=1e-9)


def test_a_donor_names_the_targets_that_copied_it(client):
    response = client.get(DONOR)
    assert sentence_of(response) == (
        "Within margin: 3 of 3 eligible processes completed, "
        "the largest peak 33,108 MiB · 5,804 below the margin."
    )
    text = text_of(response)
    assert (
        "est-qwen25-7b-gsm8k-c2-2gpu Memory estimation, seven-billion panel: panel within margin yes" in text
    )
    assert "host-qwen25-7b-gsm8k-c2-2gpu" in text


def test_a_pool_configuration_shows_how_its_family_was_predicted_when_held_out(client):
    view, *developed = client.get(DONOR).context["sets"]
    assert [item.lines[0].prediction.method for item in developed] == ["two_phase", "exact_difference"]
    assert all(item.title.endswith("held-out Qwen, development") for item in developed)
    assert view.title.endswith("held-out Qwen")
    assert [item.prediction.method for item in view.lines] == [
        "donor_copy",
        "component_regression",
        "logistic",
    ]


def test_a_configuration_outside_the_fit_still_has_its_page(client):
    response = client.get("/pools/rlvrambench/configurations/?model=Qwen/Qwen2.5-1.5B-Instruct")
    response = client.get(f"/pools/rlvrambench/configurations/{ids(response)[0]}/")
    assert response.status_code == 200
    assert "Its volumes can't be given" in text_of(response)
    assert "No method has predicted anything for this configuration." in text_of(response)


@pytest.mark.parametrize(
    "address",
    [
        f"{LIST}nothing/",
        "/studies/nowhere/configurations/",
        "/studies/nowhere/configurations.csv",
        "/studies/host-capacity/configurations/est-qwen25-7b-gsm8k-c2-2gpu/",
        "/pools/rlvrambench/configurations/nothing/",
    ],
)
def test_an_unknown_configuration_is_not_found(client, address):
    assert client.get(address).status_code == 404


def test_a_new_outcome_moves_the_label_and_the_words(client, monkeypatch):
    # The real protocol permits no second attempt; the words are those of one that does.
    monkeypatch.setattr("studies.estimation.protocol.slot_tries", lambda protocol: SlotTries())
    for seed in (151, 153):
        slot = SeedSlot.objects.get(configuration__configuration_id="est-qwen25-7b-math-c2-2gpu", seed=seed)
        make_attempt(slot, Attempt.Outcome.COMPLETED, peak_mib=40750.0)
    response = client.get(PARTLY)
    assert sentence_of(response).startswith(
        "Memory failure: one of three slots ended in a diagnosed memory failure. "
        "Donor copy: approved, failed."
    )
    assert "40,750 MiB · 1,838 above" in text_of(response)
