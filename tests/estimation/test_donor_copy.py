"""Donor copy takes the first donor in the study's order and never looks at a target's outcome."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from studies.estimation.methods.donor_copy import DonorCopy
from studies.estimation.pool import Pool
from studies.estimation.reasons import Ref
from tests.estimation.world import GIB, GRANITE, PHI, QWEN_3B, QWEN_7B, pool_configuration, target


def chosen(*donors, wanted=None):
    [prediction] = DonorCopy().fit(Pool.of(donors)).predict([wanted or target()])
    return prediction


def test_label_and_peak_are_the_donors():
    found = chosen(pool_configuration("cfg-a", Label.ABOVE_MARGIN, peak=39_000.0))
    assert (found.predicted_state, found.predicted_peak_mib) == (Label.ABOVE_MARGIN, 39_000.0)
    assert (found.donor_configuration_id, found.donor_gpu_count_matches) == ("cfg-a", True)
    assert (found.peak_only_predicted_state, found.startup_guard_changed_state) == (None, None)


def test_a_failed_donor_gives_no_peak():
    found = chosen(pool_configuration("cfg-a", Label.MEMORY_FAILURE))
    assert (found.predicted_state, found.predicted_peak_mib) == (Label.MEMORY_FAILURE, None)


def test_same_gpu_count_comes_before_family_and_size():
    found = chosen(
        pool_configuration("cfg-a", model_id=QWEN_3B, gpu_count=4, elements=3 * GIB),
        pool_configuration("cfg-z", model_id=PHI, gpu_count=2, elements=9 * GIB),
    )
    assert found.donor_configuration_id == "cfg-z"


def test_another_gpu_count_is_disclosed():
    found = chosen(pool_configuration("cfg-a", gpu_count=4))
    assert found.donor_gpu_count_matches is False


def test_same_family_comes_before_size():
    found = chosen(
        pool_configuration("cfg-a", model_id=PHI, elements=3 * GIB),
        pool_configuration("cfg-z", model_id=QWEN_3B, elements=30 * GIB),
    )
    assert found.donor_configuration_id == "cfg-z"


def test_size_is_compared_on_a_log_scale():
    """Beside a target of 3 Gi, 1.6 Gi is nearer by difference and 5.5 Gi by ratio."""
    found = chosen(
        pool_configuration("cfg-a", elements=int(1.6 * GIB)),
        pool_configuration("cfg-z", elements=int(5.5 * GIB)),
    )
    assert found.donor_configuration_id == "cfg-z"


def test_the_smallest_id_breaks_a_tie():
    found = chosen(pool_configuration("cfg-b"), pool_configuration("cfg-a", Label.MEMORY_FAILURE))
    assert found.donor_configuration_id == "cfg-a"


@pytest.mark.parametrize("changes", [{"workload_id": "code"}, {"configuration_level": "c5"}])
def test_workload_and_level_must_be_the_targets(changes):
    with pytest.raises(EstimationError) as refusal:
        chosen(pool_configuration("cfg-a", **changes))
    assert str(refusal.value) == (
        "target: donor is None, expected a fitting configuration with workload math and level c2"
    )


descriptions = st.tuples(
    st.sampled_from([2, 4]),
    st.sampled_from([QWEN_3B, PHI, GRANITE]),
    st.integers(GIB, 16 * GIB),
    st.sampled_from(list(Label)),
)


@given(st.lists(descriptions, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_order_of_donors_is_gpu_count_family_size_id(found, random):
    donors = [
        pool_configuration(f"cfg-{place:02}", label, model_id=model, gpu_count=gpus, elements=elements)
        for place, (gpus, model, elements, label) in enumerate(found)
    ]
    wanted = target()
    shuffled = donors[:]
    random.shuffle(shuffled)
    candidates = DonorCopy().fit(Pool.of(shuffled)).candidates(wanted)
    keys = [
        (not item.gpu_count_matches, not item.family_matches, item.log_parameter_ratio, item.configuration_id)
        for item in candidates
    ]
    assert keys == sorted(keys)
    assert {item.configuration_id for item in candidates} == {item.configuration_id for item in donors}
    for item in candidates:
        donor = next(donor for donor in donors if donor.configuration_id == item.configuration_id)
        assert item.gpu_count_matches == (donor.settings.gpu_count == 2)
        assert item.family_matches == (donor.settings.model_id == QWEN_3B)
        ratio = (
            donor.architecture.floating_checkpoint_elements / wanted.architecture.floating_checkpoint_elements
        )
        assert item.log_parameter_ratio == pytest.approx(abs(math.log(ratio)))
    assert chosen(*donors, wanted=wanted).donor_configuration_id == candidates[0].configuration_id


@given(st.lists(st.sampled_from(list(Label)), min_size=3, max_size=3))
def test_outcomes_never_decide_which_donor_is_taken(labels):
    donors = [
        pool_configuration(f"cfg-{place}", label, elements=(3 + place) * GIB)
        for place, label in enumerate(labels)
    ]
    assert chosen(*donors).donor_configuration_id == "cfg-0"


def test_explanation_lists_all_candidates_best_first():
    method = DonorCopy().fit(Pool.of([pool_configuration("cfg-a", gpu_count=4), pool_configuration("cfg-b")]))
    [table] = method.explain(target()).tables
    assert [row[0] for row in table.rows] == [Ref("cfg-b"), Ref("cfg-a")]
    assert method.explain(target()).sentences[0].startswith("Copied from cfg-b: same GPU count")


def test_published_donors(archive):
    """The twelve targets copy ten distinct configurations, one of them across GPU counts."""
    predictions = DonorCopy().fit(archive.pool).predict(archive.targets)
    assert len({item.donor_configuration_id for item in predictions}) == 10
    published = {
        item["configuration_id"]: item["donor_configuration_id"]
        for item in archive["estimation/predictions.json"]
        if item["method"] == "donor_copy"
    }
    assert {item.configuration_id: item.donor_configuration_id for item in predictions} == published
    assert all(item.settings.model_id == QWEN_7B for item in archive.targets)
