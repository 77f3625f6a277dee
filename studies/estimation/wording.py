"""Rules that a protocol states as text, as words of this package.

A text can't be read for its meaning, so it is recognised whole, by its sha256. Each word stands for one
rule that the code implements; a protocol may also hold the word itself. A text that is not recognised is
an error, because nothing here could tell whether the code does what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from studies.estimation.errors import EstimationError


@dataclass(frozen=True)
class RuleWord:
    """One implemented rule.

    Attributes:
        word: its name in our own protocols.
        sentence: what it means, for a page.
        text_sha256: digests of the recorded texts that state it.
    """

    word: str
    sentence: str
    text_sha256: tuple[str, ...] = ()


_WORDS: dict[str, tuple[RuleWord, ...]] = {
    "donor_rule": (
        RuleWord(
            "same_workload_and_level_then_gpus_family_size_id",
            "The donor has the target's workload and level. Among those, the same GPU count comes "
            "first, then the same family, then the nearest parameter count on a log scale, then the "
            "smallest id.",
            ("10b707ffe304b0977a1be9b9537f597f1f6d3f5a9354b162cf83d16666209c39",),
        ),
    ),
    "component_regression": (
        RuleWord(
            "nonnegative_least_squares_on_completed_peaks",
            "Nonnegative least squares with an intercept in float64, at most 10,000 iterations, on "
            "the configurations whose repeats all completed. The startup check stands in the label "
            "mapping.",
            ("6e358058fe771257d05e48bc3975b218f306234a029ae5f818c6caeebd61e8e1",),
        ),
        RuleWord(
            "nonnegative_least_squares_with_startup_guard",
            "Nonnegative least squares with an intercept in float64, at most 10,000 iterations, on "
            "the configurations whose repeats all completed, with a one-sided startup guard. The "
            "class of the peak alone and the guard's effect are recorded beside the result.",
            ("d3477e39170a61fddc83280fe98c0eb1a97153088c4dcabf772d5f8be204bee5",),
        ),
    ),
    "label_mapping": (
        RuleWord(
            "startup_guard_then_capacity_then_margin",
            "A positive startup check predicts a memory failure. Otherwise a fitted peak above the "
            "capacity does, a peak above the margin predicts above margin, and any other peak "
            "predicts within margin.",
            ("4faeb75ab994e3ecd23d9c44bc28d9ed341ab30e8d6ab5fa45e2e556981d5771",),
        ),
    ),
    "startup_check": (
        RuleWord(
            "resident_actor_shards_plus_generation_budget",
            "Only with resident actor parameters: shards plus generation budget above the capacity. "
            "Passing it promises nothing.",
            ("578c1a50cf34cc7ccf34baf7a4c9712dd849e476d9b4a5e85d1ae9e8333768d1",),
        ),
    ),
    "outcome_rule": (
        RuleWord(
            "every_planned_outcome",
            "A configuration has a label only when all of its seed slots are eligible. A diagnosed "
            "failure comes first, then a peak above the margin. Everything else stays unresolved.",
        ),
        RuleWord(
            "three_eligible_outcomes",
            "A configuration has a label only when all three seed slots are eligible. A diagnosed "
            "failure comes first, then a peak above the margin. Everything else stays unresolved.",
            (
                "4ba48ef677f1f6e5715561e772f4afcb7cc4a5c929142653b7e2bc77d1ac6981",
                "61a2fbcc1d270846b0cdfc1fb740a9baaaddd3e33113ec97c2b68c67c1776c36",
            ),
        ),
    ),
    "feature_scope": (
        RuleWord(
            "architecture_and_shape_with_offload_indicator",
            "Features come from the architecture and the configured shapes only. The eighth says "
            "whether actor parameters are offloaded.",
            ("7bc65cd01513218d726be14fe8f4b5b91ab4d741ccd65bbaa9c0ded56622c32b",),
        ),
        RuleWord(
            "architecture_and_shape_with_resident_shards",
            "Features come from the architecture and the configured shapes only. The eighth is the "
            "actor shard that stays on the device, zero when it is offloaded.",
            ("4779af3b3b933530e16b31c0bbde76627b912f01fd56eed816fcc18d81c4d61d",),
        ),
    ),
    "scoring": (
        RuleWord(
            "resolved_subset_with_unscored_approvals",
            "Scores cover resolved configurations only, with coverage, known flags and unscored "
            "approvals beside them. Held-out families are scored apart.",
            ("76ad08969fbc760cc607c1ad8a1f291640b0eb5c44aefa565c073de35e8dd25a",),
        ),
    ),
    "estimators": (
        RuleWord(
            "inherited_unchanged",
            "Predictions, donors and peaks are the parent's, unchanged. Nothing is fitted again.",
            ("70a54ced3827ee40894572dc72c7ef1cdfadb89363a8bfc7c5fb2c30eb67abc0",),
        ),
    ),
    "classifier.scaling": (
        RuleWord(
            "standardised_on_training_fold",
            "Features are standardised with the mean and deviation of the fitting configurations.",
            ("bd4fe36ddf293c065701caf2c26ff92ca22c3e2a3b754b53b7af66864ce0eca2",),
        ),
    ),
    "classifier.convergence": (
        RuleWord(
            "warning_or_nonfinite_is_failure",
            "A convergence warning or a parameter that is not finite stops the fit.",
            ("7dfdb080c04e8152da6dc7a1ebf4f77aed0b2c11f79004a3f669607bde2f0a8b",),
        ),
    ),
    "classifier.decision": (
        RuleWord(
            "argmax_uncalibrated",
            "The class with the largest score is predicted. The scores are not probabilities of failure.",
            ("c05e9ece7b0e5074e04020513c8d914dae61bf9a1d3969d449e60be8fe4012b4",),
        ),
    ),
}

TEXT_KEYS = tuple(_WORDS)
"""Protocol keys that hold such a rule; a dot leads into a nested object."""


def text_sha256(text: str) -> str:
    """sha256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_prose(value: object) -> bool:
    """Whether a value is somebody's sentence: identifiers, numbers, times and digests have no space."""
    return isinstance(value, str) and " " in value.strip()


def hashed(value: object) -> dict[str, str]:
    """What stands in the place of prose."""
    return {"text_sha256": text_sha256(str(value))}


def recognise(key: str, value: object, offender: str) -> RuleWord:
    """The implemented rule that `value`, a recorded text or one of our words, states.

    Raises:
        EstimationError: a text that no rule is known for.
    """
    if isinstance(value, str):
        digest = text_sha256(value)
        for rule in _WORDS[key]:
            if value == rule.word or digest in rule.text_sha256:
                return rule
    words = ", ".join(rule.word for rule in _WORDS[key])
    raise EstimationError(offender, key, value, f"a rule that is implemented: {words}, or its recorded text")


def sentence_for(key: str, word: str) -> str:
    """Our sentence for a word, for a page."""
    return next(rule.sentence for rule in _WORDS[key] if rule.word == word)


def in_own_words(document: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A protocol or an amendment's updates without a foreign sentence.

    Known rule texts become our words. Any other text with a space in it becomes `{"text_sha256": …}`;
    identifiers, numbers, lists and digests stay. Parsing the result gives the same rules.
    """
    own: dict[str, object] = {}
    for key, value in document.items():
        path = f"{prefix}{key}"
        if path in _WORDS:
            own[key] = recognise(path, value, "document").word
        elif isinstance(value, Mapping):
            own[key] = in_own_words(value, f"{path}.")
        elif is_prose(value):
            own[key] = hashed(value)
        elif isinstance(value, list) and any(map(is_prose, value)):
            own[key] = [hashed(item) for item in value]
        else:
            own[key] = value
    return own
