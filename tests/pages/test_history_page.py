"""One line in time, and the panel as it was known at a moment."""

from __future__ import annotations

import re

import pytest

from tests.pages.reading import figure_of, sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

HISTORY = "/studies/estimation/history/"


def test_the_sentence_says_on_which_side_of_the_seal_things_lie(client):
    sentence = sentence_of(client.get(HISTORY))
    assert sentence.startswith("Sealed before the first launch, at 2026-09-15 14:10:21 UTC: 2 of ")


def test_every_lane_has_its_records(client):
    figure = figure_of(client.get(HISTORY), "history")
    lanes = {trace["name"]: len(trace["x"]) for trace in figure["data"] if trace["mode"] == "markers"}
    # 34 attempts; 18 allocations and 2 launches that never happened; base protocol and one amendment.
    assert lanes["outcomes"] == 34
    assert lanes["launches"] == 20
    assert lanes["protocol and amendments"] == 2
    assert lanes["seals"] == 1


def test_before_and_after_the_seal_have_other_ground_in_figure_and_list(client):
    response = client.get(HISTORY)
    grounds = {
        s["name"]: s["fillcolor"]
        for s in figure_of(response, "history")["layout"]["shapes"]
        if "fillcolor" in s
    }
    assert set(grounds) == {"before the seal", "after the seal"}
    assert len(set(grounds.values())) == 2
    page = response.content.decode()
    assert page.count('class="ground-before"') == 2
    assert page.count('class="ground-seal"') == 1


@pytest.mark.parametrize(
    ("moment", "resolved", "predicted"),
    [
        ("2026-09-15T13:00:00", 0, False),
        ("2026-09-15T14:30:00", 0, True),
        ("2026-09-15T16:00:00", 0, True),
        ("2026-09-15T20:00:00Z", 6, True),
        ("2026-09-15T22:00:00+02:00", 6, True),
        ("2026-09-16", 6, True),
    ],
)
def test_the_panel_follows_the_cursor(client, moment, resolved, predicted):
    response = client.get(HISTORY, {"as_of": moment})
    assert f"{resolved} of 12 configurations were resolved" in sentence_of(response)
    assert (response.context["panel_figure"] is not None) is predicted
    assert ("no prediction was sealed" in sentence_of(response)) is not predicted


def test_what_was_not_known_yet_is_marked_in_words(client):
    response = client.get(HISTORY, {"as_of": "2026-09-15T14:30:00"})
    page = response.content.decode()
    assert "not known yet" in page
    assert (
        len(re.findall(r'class="[^"]*unknown', page))
        == response.context["total"] - response.context["known_count"]
    )
    assert "as of 2026-09-15 14:30:00" in [
        item["text"] for item in figure_of(response, "history")["layout"]["annotations"]
    ]


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-13-40", "2026-09-15T25:00", "9999-12-31", "0001-01-01", "12", "١"]
)
def test_a_time_that_is_none_is_named(client, text):
    response = client.get(HISTORY, {"as_of": text})
    assert response.status_code == 400
    assert f"as_of is “{text}”, expected a day such as 2026-09-17, which means its end in UTC" in text_of(
        response
    )


def test_a_day_alone_means_its_end_in_utc(client):
    whole = client.get(HISTORY, {"as_of": "2026-09-15"})
    assert whole.status_code == 200
    assert "At 2026-09-15 23:59:59 UTC" in text_of(whole)


def test_a_blank_time_means_now(client):
    assert client.get(HISTORY, {"as_of": " "}).status_code == 200


def test_each_record_has_a_permalink_to_its_place_in_the_ledger(client):
    page = client.get(HISTORY).content.decode()
    for number in re.findall(r'<tr id="n(\d+)"', page):
        assert f'#n{number}" aria-label="Permalink to record {number}"' in page


def test_every_record_leads_to_its_page(client):
    page = client.get(HISTORY).content.decode()
    for address in sorted(set(re.findall(r'<td><a href="([^"?]+)"', page))):
        assert client.get(address).status_code == 200, address


def test_an_unknown_study_is_not_found(client):
    assert client.get("/studies/nowhere/history/").status_code == 404
