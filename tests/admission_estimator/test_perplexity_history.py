"""The perplexity history of OpenPipe/ART #848: what each update rule makes of the same observations."""

from __future__ import annotations

from admission.estimator import replay

from .worlds import perplexity


def refused(entries: list[dict]) -> dict[str, int]:
    return {e["label"]: e["required_bytes"] for e in entries if e["decision"] == "refused"}


def test_independent_maxima_refuses_what_joint_observation_admits():
    answer = replay(perplexity(), "independent_maxima,joint_observation")
    independent, joint = answer["policies"].values()
    assert refused(independent) == {
        "next input, 17,063 tokens": 329_391_505_015,
        "next input, 21,489 tokens": 414_832_916_326,
        "long input again, 103,960 tokens": 2_006_888_639_828,
    }
    assert refused(joint) == {}
    assert answer["summary"]["independent_maxima"]["refused"] == 3
    assert answer["summary"]["joint_observation"]["admitted"] == 6


def test_the_calls_that_completed_were_admitted_cold():
    entries = replay(perplexity())["policies"]["base"][:3]
    assert [entry["trusted"] for entry in entries] == [False] * 3
    assert [entry["decision"] for entry in entries] == ["admitted"] * 3


def test_joint_observation_prices_the_long_input_above_what_it_really_took():
    (entry,) = replay(perplexity(), ["joint"])["policies"]["joint"][-1:]
    assert entry["required_bytes"] >= 91_890_825_297 - 69_674_556_928


def test_the_cold_price_of_the_first_call_is_far_below_its_peak():
    # The other side of the same issue: a cold estimate has no term for a fixed working set.
    first = replay(perplexity())["policies"]["base"][0]
    assert first["required_bytes"] == 1_703_235
    assert first["required_bytes"] < 70_148_392_960 - 69_674_556_928
