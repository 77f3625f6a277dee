"""Two to four things of one kind side by side."""

from __future__ import annotations

import pytest

from studies.models import PredictionSet
from tests.pages.reading import sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

CONFIGURATIONS = [
    "estimation/est-qwen25-7b-math-c2-2gpu",
    "host-capacity/host-qwen25-7b-math-c2-2gpu",
    "estimation/est-qwen25-7b-math-c2-4gpu",
]


def compared(client, kind: str, *items: str, status: int = 200):
    answer = client.get("/compare/", {"kind": kind, "item": list(items)})
    assert answer.status_code == status
    return answer


def test_studies_show_what_differs_first(client):
    answer = compared(client, "study", "estimation", "host-capacity")
    text = text_of(answer)
    assert sentence_of(answer).startswith("Two studies differ in ")
    assert "differs: Configurations resolved 6 of 12 3 of 6" in text
    assert text.index("differs: Task-provisioned GPU time 4.97 GPU-hours 4.89 GPU-hours") < text.index(
        "Margin"
    )


def test_configurations_of_different_studies_stand_beside_each_other(client):
    text = text_of(compared(client, "configuration", *CONFIGURATIONS))
    assert "Observed unresolved memory failure unresolved" in text
    assert "differs: GPUs 2 2 4" in text


def test_prediction_sets_match_a_follow_up_s_target_with_its_origin(client):
    sets = PredictionSet.objects.filter(kind="panel").select_related("study")
    answer = compared(client, "set", *(f"{item.study.slug}/{item.pk}" for item in sets))
    assert "Two prediction sets differ in 18 of 36 values; those come first." in sentence_of(answer)


def test_attempts_without_samples_say_so(client):
    text = text_of(
        compared(
            client,
            "attempt",
            "estimation/est-qwen25-7b-math-c2-s151-2gpu-j5054345",
            "estimation/est-qwen25-7b-math-c2-s152-2gpu-j5054998",
        )
    )
    assert "differs: Outcome unresolved memory failure" in text
    assert "No stored samples of memory over time: est-qwen25-7b-math-c2-s151-2gpu-j5054345" in text


@pytest.mark.parametrize("items", [[], ["estimation"]])
def test_too_few_get_the_form(items, client):
    assert "Choose two to four of one kind" in text_of(compared(client, "study", *items))


@pytest.mark.parametrize(
    ("kind", "items", "words"),
    [
        ("study", ["estimation", "nowhere"], "There is no study “nowhere”"),
        ("set", ["estimation/9" + "9" * 40, "estimation/x"], "expected STUDY/NUMBER"),
        ("configuration", ["x", "y"], "expected STUDY/CONFIGURATION or POOL/CONFIGURATION"),
        ("attempt", ["a/b", "c/d"], "expected STUDY/INVOCATION"),
        ("study", list("abcde"), "expected two to four different ones"),
        ("people", ["a", "b"], "expected one of: study, set, configuration, attempt"),
        ("study", ["a\0", "b"], "a character that no name has"),
    ],
)
def test_what_is_not_there_is_named(kind, items, words, client):
    assert words in text_of(compared(client, kind, *items, status=400))


def test_more_sides_of_one_kind_need_no_more_queries_for_each_value(client, django_assert_max_num_queries):
    with django_assert_max_num_queries(45):
        compared(client, "configuration", *CONFIGURATIONS)
