"""docs/protocol.md lists every key of a protocol that is read, and what it says of each is so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from studies.directory.files import TEXTS
from studies.estimation.errors import EstimationError
from studies.estimation.methods import method_classes
from studies.estimation.protocol import AMENDABLE_KEYS, parse_rules
from studies.estimation.protocol_keys import KEYS, REQUIRED, markdown_table
from studies.estimation.wording import _WORDS as WORDS
from studies.estimation.wording import TEXT_KEYS, sentence_for
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text()


class Watched(dict):
    """A mapping that remembers which of its keys were asked for, nested ones with a dot."""

    def __init__(self, values: Mapping[str, Any], asked: set[str], place: str = "") -> None:
        super().__init__(
            {
                key: Watched(value, asked, f"{key}.") if type(value) is dict and not place else value
                for key, value in values.items()
            }
        )
        self.asked, self.place = asked, place

    def __getitem__(self, key):
        self.asked.add(self.place + key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.asked.add(self.place + key)
        return super().get(key, default)

    def __contains__(self, key):
        self.asked.add(self.place + key)
        return super().__contains__(key)


def whole_protocol() -> dict[str, Any]:
    """The example's protocol with everything that is filled in, and both optional methods."""
    text = (ROOT / "studies" / "samples" / "new-study" / "protocol.yaml").read_text()
    return yaml.safe_load(text) | {
        "target_configuration_ids": ["a", "b"], "target_configurations": 2, "planned_processes": 10,
        "planned_pairs": 0, "source_studies": ["earlier"], "source_configuration_ids": ["m"],
        "source_configurations": 1,
        **{
            method.protocol_key: method.development_value
            for method in method_classes() if method.development_value is not None
        },
    }  # fmt: skip


def follow_up() -> dict[str, Any]:
    kept = (
        "protocol_version", "device_capacity_mib", "memory_margin_limit_mib", "evaluation_seeds",
        "outcome_rule", "target_configurations", "planned_processes", "planned_pairs",
    )  # fmt: skip
    base = whole_protocol()
    return {key: base[key] for key in kept} | {
        "prediction_origins": {"a": "x", "b": "y"}, "estimators": "inherited_unchanged",
        "original_protocol_sha256": "0" * 64, "original_prediction_seal_sha256": "1" * 64,
    }  # fmt: skip


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    outer, _, inner = name.partition(".")
    if inner:
        copy.get(outer, {}).pop(inner, None)
    else:
        copy.pop(outer, None)
    return copy


def test_the_page_has_the_table():
    assert markdown_table() in PAGE
    for name in AMENDABLE_KEYS:
        assert any(key.name == name and "Open to amendment" in key.meaning for key in KEYS)


def test_the_page_has_every_word_with_its_sentence():
    for key in TEXT_KEYS:
        for rule in WORDS[key]:
            assert f"| `{key}` | `{rule.word}` | {sentence_for(key, rule.word)} |" in PAGE


def test_no_key_is_read_that_the_page_does_not_list():
    asked: set[str] = set()
    for document in (whole_protocol(), follow_up()):
        parse_rules(Watched(document, asked))
    asked = {name for name in asked if not name.startswith("prediction_origins.")}
    listed = {key.name for key in KEYS}
    outer = {name.partition(".")[0] for name in listed}
    assert asked <= listed | outer
    assert {name for name in listed if name.partition(".")[0] not in asked} == set()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_what_holds_without_a_key_is_as_listed(key):
    document = follow_up() if "follow-up" in key.default else whole_protocol()
    needed = key.default in (REQUIRED, "required in a follow-up") or key.default.startswith("filled in")
    if needed:
        with pytest.raises(EstimationError):
            parse_rules(without(document, key.name))
    elif key.name == "two_phase.quantile":
        assert "two_phase" not in parse_rules(without(document, "two_phase")).fitting.methods
    else:
        parse_rules(without(document, key.name))


def test_another_key_is_kept_as_it_is_written():
    assert parse_rules(whole_protocol() | {"cooling": "by water"})
    assert "protocol.yaml" in TEXTS
