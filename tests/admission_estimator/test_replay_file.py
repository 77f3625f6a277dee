"""What a replay file may hold, and how a wrong one is answered."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.estimator import Forward, InputError, PolicyError, format_table, read_json, replay

from .worlds import example, measured, priced


def change(path: str, value: object) -> dict:
    """The example with the value at a dotted path replaced, or removed for ``...``."""
    document = example()
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    target = document
    for part in parents:
        target = target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return document


def test_the_worked_example_is_answered_as_documented():
    answer = replay(example(), "base")
    (entry,) = answer["policies"]["base"]
    assert {
        key: entry[key] for key in ("label", "required_bytes", "usable_bytes", "trusted", "decision")
    } == {
        "label": "next input",
        "required_bytes": 329_391_505_015,
        "usable_bytes": 73_468_639_051,
        "trusted": True,
        "decision": "refused",
    }
    assert entry["margin_bytes"] == 73_468_639_051 - 329_391_505_015
    assert entry["decided_by"] == "profile"
    assert entry["step"] == 2


def test_without_the_long_control_call_the_next_input_is_cold():
    document = example()
    del document["steps"][1]
    (entry,) = replay(document)["policies"]["base"]
    assert entry["trusted"] is False
    assert entry["decision"] == "admitted"


def test_answers_are_keyed_by_the_names_given_and_keep_the_order_of_the_file():
    document = example()
    second = copy.deepcopy(document["steps"][2])
    second["price"]["label"] = "again"
    document["steps"].append(second)
    answer = replay(document, ["joint", "base+fc2_stage"])
    assert list(answer["policies"]) == ["joint", "base+fc2_stage"]
    for entries in answer["policies"].values():
        assert [entry["label"] for entry in entries] == ["next input", "again"]
    assert answer["summary"]["joint"]["policy"] == "base+joint_observation"


def test_signatures_keep_their_profiles_apart():
    document = example()
    document["steps"][0]["signature"] = "golden"
    (entry,) = replay(document)["policies"]["base"]
    assert entry["required_bytes"] < 10**10
    document["steps"][2]["signature"] = "never seen"
    (entry,) = replay(document)["policies"]["base"]
    assert (entry["trusted"], entry["signature"]) == (False, "never seen")


def test_an_answer_survives_json():
    answer = replay(example(), "base,normalised+fc2_stage+joint")
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


SPLIT = {
    "label": "two halves",
    "usable_bytes": 10**12,
    "subforwards": [
        {"packed_tokens": 1_000, "logical_tokens": 1_000, "output_bytes": 4_000},
        {"packed_tokens": 800, "logical_tokens": 1_000, "output_bytes": 4_000, "full_sharing_tokens": 600},
    ],
}


def split_document(**more) -> dict:
    document = example()
    seen = {"packed_tokens": 1_000, "logical_tokens": 1_000, "output_bytes": 0, "baseline_bytes": 0}
    seen |= {"peak_bytes": 10**9, "retained_bytes": 10**8}
    document["steps"] = [{"observe": seen}, {"price_split": {**copy.deepcopy(SPLIT), **more}}]
    return document


def test_a_rung_is_priced_with_what_its_parts_retain():
    (entry,) = replay(split_document())["policies"]["base"]
    seen = measured(1_000, 10**9, retained=10**8)
    first, second = (priced("base", Forward(n, 1_000, 4_000), seen) for n in (1_000, 800))
    # outputs of 4,000 B each, and the second part at its logical count: the learned sharing is 1
    retained = 110_004_400 + 110_004_400
    assert (first.retained_bytes, second.retained_bytes) == (110_004_400, 110_004_400)
    assert entry["retained_bytes"] == retained
    assert entry["required_bytes"] == retained + first.required_bytes - first.retained_bytes
    assert entry["kind"] == "split"
    assert entry["bound_bytes"] <= entry["required_bytes"]
    assert [part["packed_tokens"] for part in entry["subforwards"]] == [1_000, 800]


def test_without_a_retained_observation_a_rung_saves_nothing():
    document = split_document()
    del document["steps"][0]["observe"]["retained_bytes"]
    (entry,) = replay(document)["policies"]["base"]
    assert entry["required_bytes"] == sum(part["required_bytes"] for part in entry["subforwards"])


def test_a_subforward_may_have_its_own_signature():
    parts = copy.deepcopy(SPLIT["subforwards"])
    parts[1]["signature"] = "other"
    (entry,) = replay(split_document(subforwards=parts))["policies"]["base"]
    assert [part["trusted"] for part in entry["subforwards"]] == [True, False]
    assert entry["trusted"] is False


WHOLE = "expected a whole number from"


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("model", ..., "model: found nothing"),
        ("model", [], r"model: found \[\]; expected an object with hidden_size"),
        ("model/hidden_size", 0, f"model.hidden_size: found 0; {WHOLE} 1"),
        ("model/layers", True, f"model.layers: found True; {WHOLE} 1"),
        ("model/experts_per_token", ..., "model.experts_per_token: found nothing"),
        ("model/expert", 8, "model.expert: found an unknown key; expected only hidden_size"),
        ("model/dtype", "bf61", "model.dtype: found 'bf61'; expected one of fp8, bf16"),
        ("model/dtype", "fp32", "model.dtype: found 'fp32'; expected a type of element_bytes = 2"),
        ("model/dropless", 1, "model.dropless: found 1; expected true or false"),
        ("steps", ..., "steps: found nothing"),
        ("steps", [], "steps: found a list of 0; expected a list of 1 to 2000 steps"),
        ("steps", {}, r"steps: found \{\}; expected a list"),
        ("steps", [7] * 2_001, "steps: found a list of 2001"),
        ("stesp", 1, "stesp: found an unknown key; expected only model, steps, source"),
        ("source", 5, "source: found 5; expected text"),
        ("steps/0", None, r"steps\[0\]: found None; expected an object with observe, price, price_split"),
        ("steps/0", {}, r"steps\[0\]: found none of them; expected exactly one of observe"),
        ("steps/0/price", {}, r"steps\[0\]: found observe and price; expected exactly one"),
        ("steps/0/signature", 3, r"steps\[0\].signature: found 3; expected non-empty text"),
        ("steps/0/signature", " ", r"steps\[0\].signature: found ' '; expected non-empty text"),
        ("steps/0/note", "x" * 3_000, r"steps\[0\].note: found .*expected text of at most 2000"),
        ("steps/1/observe/packed_tokens", 0, rf"steps\[1\].observe.packed_tokens: found 0; {WHOLE} 1"),
        ("steps/1/observe/packed_tokens", -3, rf"observe.packed_tokens: found -3; {WHOLE} 1"),
        ("steps/1/observe/packed_tokens", 27.0, rf"observe.packed_tokens: found 27.0; {WHOLE} 1"),
        ("steps/1/observe/packed_tokens", "27", rf"observe.packed_tokens: found '27'; {WHOLE} 1"),
        ("steps/1/observe/packed_tokens", None, rf"observe.packed_tokens: found None; {WHOLE} 1"),
        ("steps/1/observe/output_bytes", True, rf"observe.output_bytes: found True; {WHOLE} 0"),
        ("steps/1/observe/output_bytes", float("nan"), rf"observe.output_bytes: found nan; {WHOLE} 0"),
        ("steps/1/observe/peak_bytes", float("inf"), rf"observe.peak_bytes: found inf; {WHOLE} 0"),
        ("steps/1/observe/peak_bytes", 2**53 + 1, rf"peak_bytes: found 9007199254740993; {WHOLE} 0 to"),
        ("steps/1/observe/peak_bytes", 10**300, rf"peak_bytes: found an integer of 997 bits; {WHOLE} 0"),
        ("steps/1/observe/peak_bytes", 5, "peak_bytes: found 5; expected at least baseline_bytes = 69674"),
        ("steps/1/observe/retained_bytes", 10**10, "retained_bytes: found 10000000000; expected at most"),
        ("steps/1/observe/retained_bytes", -1, f"retained_bytes: found -1; {WHOLE} 0"),
        ("steps/1/observe/baseline_bytes", ..., r"steps\[1\].observe.baseline_bytes: found nothing"),
        ("steps/1/observe", "no", r"steps\[1\].observe: found 'no'; expected an object with packed_tokens"),
        ("steps/2/price/label", "", r"steps\[2\].price.label: found ''; expected non-empty text"),
        ("steps/2/price/label", ..., r"steps\[2\].price.label: found nothing"),
        ("steps/2/price/usable_bytes", ..., r"steps\[2\].price.usable_bytes: found nothing"),
        ("steps/2/price/usable_bytes", -1, rf"steps\[2\].price.usable_bytes: found -1; {WHOLE} 0"),
        ("steps/2/price/logical_tokens", 0, r"logical_tokens: found 0; expected at least 1, since packed"),
        ("steps/2/price/usable", 1, r"steps\[2\].price.usable: found an unknown key"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_answered_with_place_value_and_expectation(path, value, text):
    with pytest.raises(InputError, match=text):
        replay(change(path, value))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"subforwards": []}, r"price_split.subforwards: found a list of 0; expected a list of 1"),
        ({"subforwards": [{}]}, r"subforwards\[0\].packed_tokens: found nothing"),
        ({"subforwards": ["x"]}, r"subforwards\[0\]: found 'x'; expected an object"),
        ({"usable_bytes": 1.5}, "price_split.usable_bytes: found 1.5"),
        ({"packed_tokens": 5}, "price_split.packed_tokens: found an unknown key"),
        ({"subforwards": [{**SPLIT["subforwards"][0], "full_sharing_tokens": 1_001}]},
         r"subforwards\[0\].full_sharing_tokens: found 1001; expected at most packed_tokens = 1000"),
        ({"subforwards": [{**SPLIT["subforwards"][0], "no_sharing_tokens": 999}]},
         r"subforwards\[0\].no_sharing_tokens: found 999; expected at least packed_tokens = 1000"),
        ({"subforwards": [{**SPLIT["subforwards"][0], "packed_tokens": -1}]},
         rf"subforwards\[0\].packed_tokens: found -1; {WHOLE} 0"),
    ],
)  # fmt: skip
def test_a_wrong_rung_is_answered_the_same_way(more, text):
    with pytest.raises(InputError, match=text):
        replay(split_document(**more))


@pytest.mark.parametrize("value", [10**5_000, [10**5_000]], ids=["huge", "huge inside a list"])
def test_a_number_too_long_to_print_is_still_refused_in_words(value):
    with pytest.raises(InputError, match=r"usable_bytes: found (an integer of 16610 bits|a list)"):
        replay(change("steps/2/price/usable_bytes", value))


def test_all_problems_are_reported_at_once():
    document = change("steps/0/observe/packed_tokens", -1)
    del document["steps"][0]["observe"]["peak_bytes"]
    document["steps"][2]["price"]["usable_bytes"] = None
    with pytest.raises(InputError) as caught:
        replay(document)
    assert [problem.field for problem in caught.value.problems] == [
        "steps[0].observe.peak_bytes",
        "steps[0].observe.packed_tokens",
        "steps[2].price.usable_bytes",
    ]


def test_a_file_full_of_problems_shows_the_first_and_counts_the_rest():
    document = example()
    document["steps"] = [{}] * 50
    with pytest.raises(InputError) as caught:
        replay(document)
    assert len(caught.value.problems) == 21
    assert str(caught.value.problems[-1]).startswith("document: found 30 more problems")


def test_a_wrong_policy_is_told_before_the_file_is_read():
    with pytest.raises(PolicyError):
        replay({}, "moe9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 column 1"),
        ('{"model": ', "line 1"),
        ('{"model": NaN}', "document: found NaN is not a number; expected a finite number or null"),
        ('{"model": -Infinity}', "found -Infinity"),
        ('{"a": 1, "a": 2}', "key 'a' stands twice in one object"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 10_000, "a number of 10000 digits"),
        (" " * 4_000_001, "4,000,001 characters; expected at most 4,000,000"),
        (b"\xff\xfe{}", "found no UTF-8 at byte 0; expected UTF-8 text"),
    ],
)
def test_text_that_is_not_plain_json_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_json(text)


def test_a_byte_order_mark_is_tolerated():
    assert read_json(b"\xef\xbb\xbf{}") == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["model", "steps", "observe", "price", "price_split", "label"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_other_value_is_refused_with_a_printable_reason(value):
    with pytest.raises(InputError) as caught:
        replay(value)
    for problem in caught.value.problems:
        assert str(problem).isprintable()


@given(st.text(min_size=1, max_size=60).filter(str.strip))
def test_no_label_breaks_the_lines_of_the_table(label):
    table = format_table(replay(change("steps/2/price/label", label)))
    assert len(table.splitlines()) == 5
    assert len(table.split("\n")) == 5
