"""The slot grid, slots, attempts, and predicted against measured peaks."""

from __future__ import annotations

import pytest

from studies.models import Attempt, Exclusion, SeedSlot, Study
from tests.factories import make_attempt
from tests.pages.reading import figure_of, sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

OUTCOMES = "/studies/estimation/outcomes/"
INVOCATION = "est-qwen25-7b-math-c2-s153-2gpu-j5054339"


def test_the_sentence_counts_outcomes_and_reasons(client):
    assert sentence_of(client.get(OUTCOMES)) == (
        "Of 36 planned slots 34 were launched: 23 diagnosed memory failures and no completion; "
        "13 are unresolved: 7 × host memory exhausted (scheduler kill), "
        "3 × set-up error before the model was loaded, "
        "2 × never launched: the scheduler answered with another allocation, "
        "1 × interrupted during the device check, when its allocation was cancelled."
    )


def test_the_figure_counts_every_planned_slot_once(client):
    figure = figure_of(client.get(OUTCOMES), "slots")
    assert sum(number for trace in figure["data"] for number in trace["x"]) == 36


def test_an_unresolved_cell_says_why_and_opens_its_slot(client):
    page = client.get(OUTCOMES).content.decode()
    start = page.index('href="/studies/estimation/slots/est-qwen25-7b-math-c3-s152-4gpu/"')
    assert "never launched: the scheduler answered with another allocation" in page[start : start + 400]


def test_a_slot_shows_its_attempt_with_declared_origin_and_times(client):
    text = text_of(client.get("/studies/estimation/slots/est-qwen25-7b-math-c2-s153-2gpu/"))
    assert "unresolved : set-up error" in text or "unresolved: set-up error" in text
    assert "declared , not derived from evidence; source: benchmark/estimation/results/processes.csv" in text
    assert "Elapsed 44.6 s" in text
    assert "89 GPU-s on 2 devices" in text
    assert (
        "None was uploaded: the outcome rests on its source's word, the row "
        "est-qwen25-7b-math-c2-s153-2gpu-j5054339 of benchmark/estimation/results/processes.csv"
    ) in text


def test_a_slot_that_never_ran_says_so(client):
    text = text_of(client.get("/studies/estimation/slots/est-qwen25-7b-math-c3-s152-4gpu/"))
    assert "Never launched" in text
    assert "0 attempts" in text


def test_a_sample_before_a_failure_is_no_peak(client):
    text = text_of(client.get("/studies/estimation/slots/est-qwen25-7b-gsm8k-c2-s151-2gpu/"))
    assert "Completed peak –" in text
    assert "28,882 MiB, which is no completed peak" in text


def test_an_excluded_attempt_stays_with_its_reason(client):
    attempt = Attempt.objects.get(invocation_id="est-qwen25-7b-gsm8k-c2-s151-2gpu-j5054981")
    Exclusion(study=attempt.study, attempt=attempt, reason="wrong driver", author="reviewer").save()
    make_attempt(attempt.slot, Attempt.Outcome.COMPLETED, peak_mib=38912.0)
    slot = text_of(client.get(f"/studies/estimation/slots/{attempt.slot.experiment_id}/"))
    assert "2 attempts" in slot
    assert "excluded by reviewer: wrong driver" in slot
    assert "38,912 MiB · at the margin" in slot
    page = text_of(client.get(f"/studies/estimation/attempts/{attempt.invocation_id}/"))
    assert "To its slot it is excluded." in page


def test_a_derived_attempt_shows_the_line_that_decided(client):
    slot = SeedSlot.objects.get(experiment_id="est-qwen25-7b-math-c2-s153-2gpu")
    line = {
        "file": "train.log",
        "line": 7,
        "text": "torch.OutOfMemoryError: <b>CUDA</b>",
        "role": "deciding",
        "diagnosis": "device_memory",
        "context": [
            {"line": 6, "text": "step 1"},
            {"line": 7, "text": "torch.OutOfMemoryError: <b>CUDA</b>"},
        ],
    }
    make_attempt(
        slot, Attempt.Outcome.MEMORY_FAILURE, origin="derived", evidence=[line], invocation_id="derived-1"
    )
    page = client.get("/studies/estimation/attempts/derived-1/").content.decode()
    assert "<strong>decides</strong> · <code>train.log:7</code>" in page
    assert "&lt;b&gt;CUDA&lt;/b&gt;" in page
    assert "<strong>derived</strong> from uploaded evidence" in page


def test_an_unplanned_attempt_is_shown_and_counts_nowhere(client):
    before = sentence_of(client.get(OUTCOMES))
    study = Study.objects.get(slug="estimation")
    Attempt(
        study=study, invocation_id="stray/1", outcome="memory_failure", origin="declared", source="x"
    ).save()
    response = client.get(OUTCOMES)
    assert sentence_of(response) == before
    assert "1 invocation belongs to no planned slot." in text_of(response)
    page = client.get("/studies/estimation/attempts/stray/1/")
    assert "To its slot it is unplanned." in sentence_of(page)


# Published: completed-peak coverage and errors of each fold, in the study's retrospective.
@pytest.mark.parametrize(
    ("family", "targets", "completed"), [("granite33", 30, 26), ("phi4", 30, 22), ("qwen25", 30, 22)]
)
def test_each_family_is_drawn_apart(client, family, targets, completed):
    response = client.get(f"{OUTCOMES}?set={family}")
    assert f"{completed} of {targets} targets of held-out" in text_of(response)
    figure = figure_of(response, "peaks-component-regression")
    drawn = [name for trace in figure["data"] for name in trace.get("customdata", [])]
    assert len(drawn) == len(set(drawn)) == targets


def test_the_panel_has_no_measured_peak_and_no_invented_one(client):
    response = client.get(OUTCOMES)
    assert "0 of 12 targets of the panel completed" in text_of(response)
    figure = figure_of(response, "peaks-donor-copy")
    heights = [y for trace in figure["data"] if trace.get("customdata") for y in trace["y"]]
    assert sorted(set(heights)) == ["no completed peak", "unresolved"]
    assert heights.count("unresolved") == 6


def test_failures_approved_by_the_regression_lie_on_the_rail(client):
    figure = figure_of(client.get(f"{OUTCOMES}?set=granite33"), "peaks-component-regression")
    failed = [trace for trace in figure["data"] if trace.get("name") == "approved, failed"]
    assert [trace["y"] for trace in failed] == [["no completed peak"] * 4]


def test_a_method_without_peaks_has_no_figure(client):
    response = client.get(f"{OUTCOMES}?set=phi4")
    assert "Logistic classification predicts labels and no peaks." in text_of(response)
    assert "peaks-logistic-data" not in response.content.decode()


def test_an_unknown_set_is_named(client):
    response = client.get(f"{OUTCOMES}?set=llama")
    assert response.status_code == 400
    assert "set is “llama”, expected one of: panel, granite33, phi4, qwen25" in text_of(response)


@pytest.mark.parametrize(
    "address",
    [
        "/studies/nowhere/outcomes/",
        "/studies/estimation/slots/nothing/",
        "/studies/estimation/attempts/nothing/",
        f"/studies/host-capacity/attempts/{INVOCATION}/",
        "/studies/estimation/attempts/%00/",
        "/studies/estimation/slots/a%00b/",
    ],
)
def test_what_is_not_there_is_not_found(client, address):
    assert client.get(address).status_code == 404


def test_a_corrected_entry_and_the_wrong_one_point_at_each_other(client):
    wrong = Attempt.objects.get(invocation_id=INVOCATION)
    make_attempt(
        wrong.slot, "completed", 30000, invocation_id="right", supersedes=wrong,
        supersedes_reason="another run's log",
    )  # fmt: skip
    page = client.get(f"/studies/estimation/attempts/{INVOCATION}/")
    assert sentence_of(page).endswith("To its slot it is superseded by a corrected entry.")
    assert "Superseded by right , because another run's log" in text_of(page)
    assert 'href="/studies/estimation/attempts/right/"' in page.content.decode()
    later = client.get("/studies/estimation/attempts/right/")
    assert f"Supersedes {INVOCATION} , because another run's log" in text_of(later)
    assert f'href="/studies/estimation/attempts/{INVOCATION}/"' in later.content.decode()
    slot = text_of(client.get(f"/studies/estimation/slots/{wrong.slot.experiment_id}/"))
    assert "Superseded by right" in slot
    assert f"Supersedes {INVOCATION}" in slot
    configuration = f"/studies/estimation/configurations/{wrong.slot.configuration.configuration_id}/"
    assert "(superseded by a corrected entry)" in text_of(client.get(configuration))
    history = text_of(client.get("/studies/estimation/history/?page=2"))
    history += text_of(client.get("/studies/estimation/history/"))
    assert f"supersedes {INVOCATION}, because another run's log" in history


def test_an_excluded_wrong_entry_leaves_its_correction_excluded_and_says_so(client):
    wrong = Attempt.objects.get(invocation_id=INVOCATION)
    Exclusion(study=wrong.study, attempt=wrong, reason="wrong driver", author="reviewer").save()
    make_attempt(
        wrong.slot, "completed", 30000, invocation_id="right", supersedes=wrong, supersedes_reason="a typo"
    )
    text = text_of(client.get("/studies/estimation/attempts/right/"))
    assert "excluded, by the exclusion of an entry that it supersedes: wrong driver" in text


def test_a_corrected_unplanned_entry_is_marked_in_the_list(client):
    study = Study.objects.get(slug="estimation")
    stray = Attempt(study=study, invocation_id="stray", outcome="unresolved", origin="declared")
    stray.save()
    Attempt(
        study=study, invocation_id="stray-2", outcome="unresolved", origin="declared", supersedes=stray,
        supersedes_reason="a typo",
    ).save()  # fmt: skip
    text = text_of(client.get(OUTCOMES))
    assert "stray : unresolved, superseded by a corrected entry" in text
    assert "stray-2 : unresolved" in text
