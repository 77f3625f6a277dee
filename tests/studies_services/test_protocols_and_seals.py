"""Amendment or deviation, prospective or not: derived from the ledger's order, never typed in."""

from __future__ import annotations

import pytest

from studies.models import Amendment, Seal, Study
from studies.services.errors import ServiceError
from studies.services.plan import amendments, protocols
from studies.services.predictions import bindings
from studies.services.predictions.seals import seal_predictions, seal_state
from tests.factories import make_attempt, make_prediction_set, make_protocol, make_study
from tests.pages.reading import text_of

pytestmark = pytest.mark.django_db


def amend(study, number=2):
    """An amendment that claims to be older than everything; its place in the ledger says otherwise."""
    protocol = study.protocols.get()
    Amendment(
        study=study, protocol=protocol, number=number, base_sha256=protocol.sha256, sha256="b" * 64,
        amended_at="2020-01-01T00:00:00Z", updates={"scoring": "resolved_subset_with_unscored_approvals"},
    ).save()  # fmt: skip
    return amendments.effects(study)[-1]


def test_before_the_first_launch_it_is_an_amendment(planned):
    assert amend(planned).word == "amendment"


def test_after_a_launch_without_outcome_it_is_an_amendment_after_launch(planned):
    make_attempt(planned.seedslots.first(), "unresolved")
    assert amend(planned).word == "amendment after launch"


@pytest.mark.parametrize(("outcome", "peak"), [("memory_failure", None), ("completed", 100.0)])
def test_after_an_outcome_it_is_a_deviation(planned, outcome, peak):
    make_attempt(planned.seedslots.first(), outcome, peak)
    assert amend(planned).word == "deviation"
    assert [change.word for change in amendments.effects(planned)] == ["amendment", "deviation"]


def test_each_amendment_shows_what_it_changed(sample_studies):
    (change,) = amendments.effects(Study.objects.get(slug="estimation"))
    assert change.word == "amendment"
    keys = {key.key: key for key in change.keys}
    assert sorted(keys) == ["component_regression", "feature_scope", "features", "scoring"]
    assert keys["features"].before[-1] == "actor_parameter_offload"
    assert keys["features"].after[-1] == "resident_actor_shards_gib"
    assert keys["scoring"].before is None
    assert keys["component_regression"].before_sentence != keys["component_regression"].after_sentence
    assert "startup guard" in keys["component_regression"].after_sentence


def test_the_effective_protocol_has_the_amended_features_and_our_sentences(sample_studies):
    study = Study.objects.get(slug="estimation")
    assert protocols.rules(study).require_fitting().features[-1] == "resident_actor_shards_gib"
    sentences = {rule.key: rule.sentence for rule in protocols.rule_list(study) if rule.sentence}
    assert "same GPU count comes first" in sentences["donor_rule"]
    assert "classifier.decision" in sentences


def test_both_real_seals_came_before_the_first_launch(sample_studies):
    for study in Study.objects.all():
        state = seal_state(study)
        assert (state.prospective, state.word) == (True, "sealed before the first launch")
        assert state.number < state.first_launch <= state.first_outcome


def test_predictions_added_after_the_seal_are_not_prospective(planned):
    prediction_set = planned.predictionsets.get(kind="panel")
    late = prediction_set.predictions.first()
    late.pk, late.method, late._state.adding = None, "a fourth", True
    late.save()
    state = seal_state(planned)
    assert (state.prospective, state.word) == (False, "sealed, but 1 predictions were added afterwards")


def slot_of(study):
    return study.seedslots.first()


def test_a_seal_binds_protocol_and_predictions(unsealed):
    assert seal_state(unsealed).word == "not sealed"
    seal = seal_predictions(unsealed.predictionsets.get())
    assert seal.protocol_sha256 == unsealed.protocols.get().sha256
    assert set(seal.output_sha256) == {"predictions"}
    assert len(seal.sha256) == 64
    assert seal_state(unsealed).prospective


def test_sealing_is_refused_after_the_first_outcome(unsealed):
    make_attempt(slot_of(unsealed), "memory_failure")
    with pytest.raises(ServiceError, match="cannot be sealed: an outcome of a target is recorded already"):
        seal_predictions(unsealed.predictionsets.get())
    assert Seal.objects.filter(study=unsealed).count() == 0


def test_sealing_after_a_launch_without_outcome_says_so(unsealed):
    make_attempt(slot_of(unsealed), "unresolved")
    seal_predictions(unsealed.predictionsets.get())
    state = seal_state(unsealed)
    assert state.prospective
    assert state.word == "sealed after the first launch and before the first outcome"


def test_a_second_seal_an_incomplete_set_and_a_fold_are_refused(unsealed):
    seal_predictions(unsealed.predictionsets.get())
    with pytest.raises(ServiceError, match="is sealed already"):
        seal_predictions(unsealed.predictionsets.get())
    other = make_study(slug="incomplete")
    make_protocol(other, document=unsealed.protocols.get().document)
    with pytest.raises(ServiceError, match="cannot be sealed"):
        seal_predictions(make_prediction_set(other))
    with pytest.raises(ServiceError, match="only a panel's predictions are sealed"):
        seal_predictions(make_prediction_set(other, kind="fold", fold="phi4"))


def test_a_seal_binds_plan_pool_protocol_and_code_by_digests_of_their_rows(unsealed):
    seal = seal_predictions(unsealed.predictionsets.get())
    rows = {row["name"]: row["rows"] for row in seal.bound["rows"]}
    assert (rows["configurations"], rows["slots and pairs"], rows["protocol"]) == (6, 18, 1)
    assert (rows["architectures"], rows["slots and pairs of the parent"]) == (4, 36)
    assert seal.bound["code"]["version"]
    assert [end["stream"] for end in seal.bound["heads"]] == [
        "study/unsealed", unsealed.pool.stream, "study/estimation",
    ]  # fmt: skip
    assert bindings.problems(seal) == []


def test_what_is_recorded_after_the_seal_breaks_nothing_of_it(unsealed):
    seal = seal_predictions(unsealed.predictionsets.get())
    make_attempt(slot_of(unsealed), "memory_failure")
    assert bindings.problems(seal) == []


@pytest.mark.parametrize("lie", ["rows", "heads"])
def test_a_seal_that_binds_something_else_is_found_out(unsealed, lie):
    seal = seal_predictions(unsealed.predictionsets.get())
    for item in seal.bound[lie]:
        item["sha256"] = "0" * 64
    found = bindings.problems(seal)
    assert found[0] == "the seal's own sha256 is not that of what it says"
    assert len(found) == 1 + len(seal.bound[lie])


def test_a_seal_over_an_incomplete_plan_is_refused_with_what_is_missing(unsealed, sample_studies):
    other = make_study(slug="incomplete", pool=unsealed.pool, parent=unsealed.parent)
    with pytest.raises(ServiceError, match="its protocol is not frozen yet"):
        seal_predictions(make_prediction_set(other))
    make_protocol(other, document=unsealed.protocols.get().document)
    with pytest.raises(ServiceError, match=r"plan is incomplete: target host-.* and 3 more: not recorded"):
        seal_predictions(make_prediction_set(other))


def test_an_earlier_seal_says_what_it_binds_and_no_more(sample_studies, client):
    assert Seal.objects.filter(bound__isnull=True).count() == 2
    page = text_of(client.get("/studies/estimation/"))
    assert "not the plan, the pool or the code" in page
