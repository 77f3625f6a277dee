"""The effective protocol decides; whatever the methods don't implement is refused by name."""

import copy

import pytest

from studies.estimation.errors import EstimationError
from studies.estimation.protocol import (
    AMENDABLE_KEYS,
    Amendment,
    effective_protocol,
    parse_rules,
)
from studies.estimation.rules import ProtocolKind
from studies.estimation.wording import TEXT_KEYS, in_own_words, recognise, sentence_for
from tests.estimation.world import follow_up_document, protocol_document, small_pool

BASE = "c" * 64


def amended(updates, *, base=BASE, previous=None, name="amendment-02.json"):
    return Amendment.from_document(
        name, {"base_protocol_sha256": base, "updates": updates, "previous_feature_order": previous}
    )


def classifier(**changes):
    return protocol_document()["classifier"] | changes


def test_amendments_apply_in_their_order():
    base = protocol_document()
    found = effective_protocol(
        base,
        [amended({"features": ["actor_shards_gib"]}), amended({"features": ["generation_budget_gib"]})],
        base_sha256=BASE,
    )
    assert found == base | {"features": ["generation_budget_gib"]}


def test_the_base_is_left_as_it_is():
    base = protocol_document()
    before = copy.deepcopy(base)
    effective_protocol(base, [amended({"scoring": "x"})], base_sha256=BASE)
    assert base == before


def test_an_amendment_of_another_base_is_refused():
    with pytest.raises(EstimationError) as refusal:
        effective_protocol(protocol_document(), [amended({"scoring": "x"}, base="d" * 64)], base_sha256=BASE)
    assert str(refusal.value) == (
        f"amendment-02.json: base_protocol_sha256 is '{'d' * 64}', expected the base protocol's {BASE}"
    )


@pytest.mark.parametrize("key", ["classifier", "memory_margin_limit_mib", "evaluation_seeds", "brand_new"])
def test_an_amendment_of_a_frozen_key_is_refused(key):
    with pytest.raises(EstimationError) as refusal:
        effective_protocol(protocol_document(), [amended({"scoring": "x", key: 1})], base_sha256=BASE)
    assert f"amendment-02.json: updates.{key} is 1, expected a key open to amendment" in str(refusal.value)
    assert str(refusal.value).endswith(f"{key} is frozen")


def test_only_four_keys_are_open():
    assert AMENDABLE_KEYS == ("features", "feature_scope", "component_regression", "scoring")


def test_an_amendment_must_replace_the_order_that_held():
    with pytest.raises(
        EstimationError, match=r"previous_feature_order is .* expected the order that held before it"
    ):
        effective_protocol(
            protocol_document(),
            [amended({"features": ["actor_shards_gib"]}, previous=["generation_budget_gib"])],
            base_sha256=BASE,
        )


@pytest.mark.parametrize("updates", [None, {}, "x"])
def test_an_amendment_without_updates_is_refused(updates):
    with pytest.raises(
        EstimationError, match=r"updates is .*, expected an object with at least one changed key"
    ):
        amended(updates)


def test_an_amendment_without_base_is_refused():
    with pytest.raises(EstimationError, match=r"a.json: base_protocol_sha256 is None, expected a text"):
        Amendment.from_document("a.json", {"updates": {"scoring": "x"}})


def test_the_published_amendment_replaces_the_eighth_feature(archive):
    assert archive["estimation/protocol.json"]["features"][7] == "actor_parameter_offload"
    assert archive.rules.require_fitting().features[7] == "resident_actor_shards_gib"
    assert archive.rules.require_fitting().features[:7] == tuple(
        archive["estimation/protocol.json"]["features"][:7]
    )


def test_published_rules(archive):
    rules = archive.rules
    assert rules.kind is ProtocolKind.FITS
    assert (rules.device_capacity_mib, rules.memory_margin_limit_mib) == (40_960, 38_912)
    assert rules.evaluation_seeds == (151, 152, 153)
    assert len(rules.target_configuration_ids) == 12
    assert (rules.planned_pairs, rules.planned_processes) == (18, 36)
    fitting = rules.require_fitting()
    assert fitting.source_studies == ("boundary", "four_gpu")
    assert len(fitting.source_configuration_ids) == 90
    assert list(fitting.methods) == ["donor_copy", "component_regression", "logistic"]
    assert fitting.methods["logistic"] == {"C": 1.0, "max_iter": 10_000, "random_state": 20260915}


def test_published_follow_up_inherits(archive):
    rules = archive.follow_up_rules
    assert rules.kind is ProtocolKind.INHERITS
    assert rules.evaluation_seeds == (161, 162, 163)
    assert (len(rules.target_configuration_ids), rules.planned_pairs, rules.planned_processes) == (6, 9, 18)
    origins = rules.require_inheritance()
    assert origins.original_protocol_sha256 == archive.sha256["estimation/protocol.json"]
    assert origins.original_prediction_seal_sha256 == archive.sha256["estimation/prediction_freeze.json"]
    assert set(origins.prediction_origins.values()) <= set(archive.rules.target_configuration_ids)
    with pytest.raises(EstimationError, match="this one inherits predictions"):
        rules.require_fitting()


def test_a_fitting_protocol_has_no_origins():
    with pytest.raises(EstimationError, match="prediction_origins is None, expected origins"):
        parse_rules(protocol_document()).require_inheritance()


def test_the_published_protocols_mean_the_same_in_our_own_words(archive):
    for name, parsed in (
        ("estimation/protocol.json", parse_rules(archive["estimation/protocol.json"])),
        ("host_capacity/protocol.json", archive.follow_up_rules),
    ):
        own = in_own_words(archive[name])
        assert parse_rules(own) == parsed
        assert not [value for value in _texts(own) if " " in value]


def _texts(value):
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def test_foreign_sentences_become_digests():
    own = in_own_words({"note": "two words", "id": "cfg-1", "list": ["a b", "c"], "deep": {"x": "y z"}})
    assert own["id"] == "cfg-1"
    assert set(own["note"]) == {"text_sha256"}
    assert set(own["deep"]["x"]) == {"text_sha256"}
    assert all(set(item) == {"text_sha256"} for item in own["list"])


@pytest.mark.parametrize("key", TEXT_KEYS)
def test_every_rule_word_has_a_sentence_and_is_recognised(key):
    with pytest.raises(EstimationError) as refusal:
        recognise(key, "something else", "protocol x")
    words = str(refusal.value).split("implemented: ")[1].split(", or its")[0].split(", ")
    for word in words:
        assert recognise(key, word, "protocol x").word == word
        assert sentence_for(key, word).endswith(".")


@pytest.mark.parametrize(
    "key",
    ["donor_rule", "component_regression", "label_mapping", "startup_check", "outcome_rule", "feature_scope"],
)
def test_a_rule_that_is_not_implemented_is_refused(key):
    with pytest.raises(EstimationError) as refusal:
        parse_rules(protocol_document(**{key: "Do it differently."}))
    assert str(refusal.value).startswith(
        f"protocol small-1.0: {key} is 'Do it differently.', expected a rule that is implemented: "
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"solver": "saga"}, "classifier.solver is 'saga', expected lbfgs, as implemented"),
        ({"penalty": "l1"}, "classifier.penalty is 'l1', expected l2, as implemented"),
        ({"penalty": None}, "classifier.penalty is None, expected l2, as implemented"),
        ({"multi_class": "ovr"}, "classifier.multi_class is 'ovr', expected multinomial, as implemented"),
        ({"class_weight": None}, "classifier.class_weight is None, expected balanced, as implemented"),
        ({"implementation": "x.Y"}, "classifier.implementation is 'x.Y', expected sklearn.linear_model.Log"),
        ({"scaling": "none"}, "classifier.scaling is 'none', expected a rule that is implemented"),
        ({"C": 0}, "classifier.C is 0.0, expected a number above zero"),
        ({"C": "1"}, "classifier.C is '1', expected a finite number"),
        ({"max_iter": 0}, "classifier.max_iter is 0, expected a whole number of at least 1"),
        ({"random_state": 1.5}, "classifier.random_state is 1.5, expected a whole number"),
        ({"l1_ratio": 0.5}, "classifier.l1_ratio is 0.5, expected one of implementation"),
    ],
)
def test_a_classifier_that_is_not_implemented_is_refused(changes, message):
    with pytest.raises(EstimationError) as refusal:
        parse_rules(protocol_document(classifier=classifier(**changes)))
    assert message in str(refusal.value)


@pytest.mark.parametrize("key", sorted(protocol_document()["classifier"]))
def test_no_classifier_parameter_has_a_default(key):
    found = classifier()
    del found[key]
    with pytest.raises(
        EstimationError, match=rf"classifier\.{key} is None, expected the key in the protocol"
    ):
        parse_rules(protocol_document(classifier=found))


@pytest.mark.parametrize("key", sorted(protocol_document()))
def test_no_key_of_a_protocol_has_a_default(key):
    document = protocol_document()
    del document[key]
    with pytest.raises(EstimationError, match=rf"{key} is None, expected the key in the protocol"):
        parse_rules(document)


@pytest.mark.parametrize("key", sorted(set(follow_up_document()) - {"prediction_origins"}))
def test_no_key_of_a_follow_up_has_a_default(key):
    document = follow_up_document()
    del document[key]
    with pytest.raises(EstimationError, match=rf"{key} is None, expected the key in the protocol"):
        parse_rules(document)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"features": ["actor_shards_gib", "magic_gib"]},
            "features is 'magic_gib', expected one of actor_shards_gib",
        ),
        ({"features": ["actor_shards_gib"] * 2}, "expected each feature once"),
        ({"features": []}, "features is [], expected at least one feature"),
        ({"features": "actor_shards_gib"}, "expected a list of feature names"),
        ({"evaluation_seeds": []}, "evaluation_seeds is [], expected a list of different seeds"),
        (
            {"evaluation_seeds": [1, 2, 2]},
            "evaluation_seeds is [1, 2, 2], expected a list of different seeds",
        ),
        ({"evaluation_seeds": [1, 2, "3"]}, "evaluation_seeds is '3', expected a whole number"),
        (
            {"memory_margin_limit_mib": 50_000},
            "memory_margin_limit_mib is 50000, expected at most the device capacity",
        ),
        ({"memory_margin_limit_mib": "38912"}, "memory_margin_limit_mib is '38912', expected a whole number"),
        ({"device_capacity_mib": 0}, "device_capacity_mib is 0, expected a whole number of at least 1"),
        (
            {"target_configuration_ids": ["target-1", "target-1"]},
            "configuration_id is 'target-1', expected each",
        ),
        ({"target_configurations": 3}, "target_configurations is 3, expected 2, the targets named"),
        ({"source_configurations": 17}, "source_configurations is 17, expected 18, the sources named"),
        ({"planned_processes": 7}, "planned_processes is 7, expected 2 targets × 3 seeds"),
        ({"planned_pairs": 4}, "planned_pairs is 4, expected at most half of 6 planned processes"),
        ({"source_studies": []}, "source_studies is [], expected a list of ids that is not empty"),
        (
            {"scoring": "Count everything as a success."},
            "scoring is 'Count everything as a success.', expected a rule",
        ),
        ({"classifier": "logistic"}, "classifier is 'logistic', expected an object"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(changes, message):
    with pytest.raises(EstimationError) as refusal:
        parse_rules(protocol_document(**changes))
    assert str(refusal.value).startswith("protocol small-1.0")
    assert message in str(refusal.value)


@pytest.mark.parametrize("seeds", [[7], [1, 2, 3, 4, 5]])
def test_a_protocol_chooses_its_seeds_and_needs_no_pairs(seeds):
    rules = parse_rules(
        protocol_document(evaluation_seeds=seeds, planned_processes=2 * len(seeds), planned_pairs=0)
    )
    assert rules.evaluation_seeds == tuple(seeds)
    assert (rules.planned_processes, rules.planned_pairs) == (2 * len(seeds), 0)


def test_a_follow_up_that_also_fits_is_refused():
    with pytest.raises(
        EstimationError, match=r"features is .*, expected no rule for fitting where predictions are inh"
    ):
        parse_rules(follow_up_document(features=["actor_shards_gib"]))


def test_a_follow_up_takes_each_origin_once():
    origins = {"again-1": "target-1", "again-2": "target-1"}
    with pytest.raises(
        EstimationError, match="configuration_id is 'target-1', expected each configuration once"
    ):
        parse_rules(follow_up_document(prediction_origins=origins))


def test_sources_are_kept_in_order_of_their_ids():
    backwards = list(reversed(small_pool().configuration_ids))
    parsed = parse_rules(protocol_document(source_configuration_ids=backwards))
    assert list(parsed.require_fitting().source_configuration_ids) == sorted(backwards)


def test_the_published_amendment_means_the_same_in_our_own_words(archive):
    base = archive["estimation/protocol.json"]
    document = archive["estimation/amendment-01.json"] | {
        "updates": in_own_words(archive["estimation/amendment-01.json"]["updates"])
    }
    effective = effective_protocol(
        in_own_words(base),
        [Amendment.from_document("amendment-01.json", document)],
        base_sha256=archive.sha256["estimation/protocol.json"],
    )
    assert parse_rules(effective) == archive.rules
