"""Small builders shared by the estimator's tests."""

from __future__ import annotations

import json
from pathlib import Path

from admission.estimator import QWEN_35B_A3B, Forward, Observation, Price, Profile, parse_policy, price

DATA = Path(__file__).parent / "data"
USABLE_684_GIB = 73_468_639_051

TINY = Observation(
    packed_tokens=27,
    logical_tokens=27,
    output_bytes=108,
    baseline_bytes=69_674_556_928,
    peak_bytes=70_148_392_960,
)


def unshared(tokens: int, output_bytes: int | None = None) -> Forward:
    """A forward without shared tokens; outputs default to 4 bytes per token."""
    return Forward(tokens, tokens, 4 * tokens if output_bytes is None else output_bytes)


def measured(
    packed: int, compute_bytes: int, logical: int | None = None, retained: int | None = None, output: int = 0
) -> Observation:
    """An observation whose peak above the baseline, less outputs, is ``compute_bytes``."""
    return Observation(
        packed_tokens=packed,
        logical_tokens=packed if logical is None else logical,
        output_bytes=output,
        baseline_bytes=1_000,
        peak_bytes=1_000 + output + compute_bytes,
        retained_bytes=retained,
    )


def profile(policy: str, *seen: Observation) -> Profile:
    learned = Profile(parse_policy(policy).update)
    for observation in seen:
        learned = learned.observe(observation)
    return learned


def priced(policy: str, forward: Forward, *seen: Observation, usable: int | None = None) -> Price:
    """The price on Qwen3.5-35B-A3B after ``seen``."""
    return price(QWEN_35B_A3B, forward, parse_policy(policy), profile(policy, *seen), usable)


def example() -> dict:
    """The worked example of the replay format: two control calls, then the next input."""
    return json.loads((DATA / "example.json").read_text(encoding="utf-8"))


def perplexity() -> dict:
    return json.loads((DATA / "perplexity.json").read_text(encoding="utf-8"))
