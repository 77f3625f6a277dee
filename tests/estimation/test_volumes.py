"""Component volumes follow the formulas, and shapes that can't exist are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.volumes import (
    VOLUMES,
    Architecture,
    Settings,
    StartupBudget,
    component_volumes,
    startup_budget,
)
from tests.estimation.world import GIB, PHI, QWEN_3B, architecture, row, settings

ALL = tuple(VOLUMES)


def volumes(names=ALL, shape=None, model=None):
    found = component_volumes(shape or settings(), model or architecture(), names)
    return dict(zip(names, found, strict=True))


def test_each_volume_by_hand():
    """P + R = 4 Gi, G = 2, TP = 1, u·C = 20 GiB, 32 sequences a rank, 1,024 tokens a sequence."""
    assert volumes() == {
        "actor_shards_gib": 4 * 4 / 2,
        "adapter_optimizer_gib": 8 * 1 / 2,
        "generation_budget_gib": 20.0,
        "generation_replica_gib": 2 * 4,
        "largest_unit_proxy_gib": 4 * 0.5,
        "checkpoint_boundary_volume_gib": 2 * (8 * 1024) * 32 * 2048 / GIB,
        "vocabulary_output_volume_gib": 2 * (8 * 1024) * 65_536 / GIB,
        "resident_actor_shards_gib": 4 * 4 / 2,
        "actor_parameter_offload": 0.0,
    }


def test_offloading_the_actor_empties_only_its_resident_shards():
    kept, offloaded = volumes(), volumes(shape=settings(parameter_offload=True))
    assert offloaded["resident_actor_shards_gib"] == 0
    assert offloaded["actor_parameter_offload"] == 1
    assert offloaded["actor_shards_gib"] == kept["actor_shards_gib"]


def test_offloading_the_optimizer_empties_its_volume():
    assert volumes(shape=settings(optimizer_offload=True))["adapter_optimizer_gib"] == 0


@pytest.mark.parametrize("field", ["rollout_logprob_micro_batch", "ref_logprob_micro_batch"])
def test_the_larger_scoring_batch_decides_the_vocabulary_output(field):
    found = volumes(shape=settings(**{field: 16}))["vocabulary_output_volume_gib"]
    assert found == 2 * 16 * 1024 * 65_536 / GIB


def test_micro_batches_are_limited_to_the_sequences_of_a_rank():
    """32·2 sequences over 2 ranks are 32 a rank."""
    names = ("checkpoint_boundary_volume_gib", "vocabulary_output_volume_gib")
    wide = volumes(names, settings(actor_micro_batch=1_000, ref_logprob_micro_batch=1_000))
    assert wide == volumes(names, settings(actor_micro_batch=32))


def test_sequences_are_limited_by_the_model_length():
    names = ("checkpoint_boundary_volume_gib",)
    assert volumes(names, settings(max_prompt_length=5_000)) == volumes(names)


def test_volumes_come_in_the_order_asked_for():
    assert component_volumes(settings(), architecture(), ("generation_budget_gib", "actor_shards_gib")) == (
        20,
        8,
    )


@given(st.integers(1, 64), st.integers(1, 64), st.integers(0, 4096))
def test_activation_volumes_grow_with_batch_and_length(batch, more, tokens):
    names = ("checkpoint_boundary_volume_gib", "vocabulary_output_volume_gib")
    small = volumes(names, settings(actor_micro_batch=batch, max_response_length=tokens, max_model_len=8192))
    large = volumes(
        names,
        settings(actor_micro_batch=batch + more, max_response_length=tokens + more, max_model_len=8192),
    )
    assert all(large[name] >= small[name] for name in names)


@given(st.integers(1, 2**40), st.integers(0, 2**36), st.sampled_from([1, 2, 4, 8]))
def test_weights_grow_with_the_model_and_shrink_with_gpus(elements, adapter, gpus):
    model = architecture(floating_checkpoint_elements=elements, all_linear_layer_adapter_elements=adapter)
    larger = architecture(
        floating_checkpoint_elements=elements + 1, all_linear_layer_adapter_elements=adapter + 1
    )
    found = volumes(shape=settings(gpu_count=gpus), model=model)
    assert all(math.isfinite(value) and value >= 0 for value in found.values())
    assert (
        found["actor_shards_gib"] <= volumes(shape=settings(gpu_count=gpus), model=larger)["actor_shards_gib"]
    )
    halved = volumes(shape=settings(gpu_count=2 * gpus), model=model)
    assert halved["actor_shards_gib"] * 2 == found["actor_shards_gib"]
    assert halved["generation_replica_gib"] == found["generation_replica_gib"]


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_generation_budget_is_a_share_of_the_device(share):
    found = volumes(("generation_budget_gib",), settings(vllm_gpu_memory_utilization=share))
    assert found["generation_budget_gib"] == pytest.approx(40 * share)


def test_startup_budget_adds_shards_and_generation_share():
    budget = startup_budget(settings(), architecture())
    assert budget.budget_plus_actor_mib == 8 * 1024 + 0.5 * 40_960
    assert budget.predicts_failure is False
    assert budget.to_record()["applicable"] is True


def test_startup_budget_predicts_failure_only_above_the_capacity():
    """8 GiB of shards leave a share of 32 of 40 GiB exactly."""
    exact = startup_budget(settings(vllm_gpu_memory_utilization=0.8), architecture())
    over = startup_budget(settings(vllm_gpu_memory_utilization=0.81), architecture())
    assert (exact.predicts_failure, over.predicts_failure) == (False, True)


def test_startup_budget_says_nothing_about_an_offloaded_actor():
    budget = startup_budget(settings(parameter_offload=True), architecture())
    assert (budget.applicable, budget.budget_plus_actor_mib, budget.predicts_failure) == (False, None, None)
    assert budget.to_record() == {
        "applicable": False,
        "reason": "actor parameters are offloaded, so the check says nothing",
        "budget_plus_actor_mib": None,
        "predicted_startup_budget_failure": None,
    }


@pytest.mark.parametrize("offloaded", [True, False])
def test_startup_budget_survives_its_record(offloaded):
    budget = startup_budget(settings(parameter_offload=offloaded), architecture())
    assert StartupBudget.from_record(budget.to_record(), "x") == budget


def test_startup_record_that_contradicts_itself_is_refused():
    record = {"applicable": False, "budget_plus_actor_mib": 1.0, "predicted_startup_budget_failure": None}
    with pytest.raises(EstimationError, match="expected null results where the check doesn't apply"):
        StartupBudget.from_record(record, "x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpu_count": 0}, "cfg-a: gpu_count is 0, expected a whole number above zero"),
        ({"gpu_count": -2}, "cfg-a: gpu_count is -2, expected a whole number above zero"),
        ({"rollout_tp_size": 0}, "cfg-a: rollout_tp_size is 0, expected a whole number above zero"),
        ({"rollout_tp_size": 3}, "cfg-a: gpu_count is 2, expected a multiple of rollout_tp_size 3"),
        (
            {"vllm_gpu_memory_utilization": 0.0},
            "vllm_gpu_memory_utilization is 0.0, expected a share between 0 and 1",
        ),
        (
            {"vllm_gpu_memory_utilization": 1.0},
            "vllm_gpu_memory_utilization is 1.0, expected a share between 0 and 1",
        ),
        (
            {"train_batch_size": 1, "rollout_n": 1},
            "train_batch_size × rollout_n is 1, expected a multiple of gpu_count",
        ),
        ({"train_batch_size": 0}, "train_batch_size is 0, expected a whole number above zero"),
        (
            {"max_prompt_length": 0, "max_response_length": 0},
            "max_response_length is 0, expected a sequence of at least",
        ),
        ({"max_prompt_length": -600}, "is -88, expected a sequence of at least one token"),
        ({"actor_micro_batch": 0}, "actor_micro_batch is 0, expected a whole number above zero"),
        ({"device_capacity_mib": 0}, "device_capacity_mib is 0, expected a whole number above zero"),
    ],
)
def test_a_shape_that_cannot_exist_is_refused(changes, message):
    for compute in (lambda s, a: component_volumes(s, a, ALL), startup_budget):
        with pytest.raises(EstimationError) as refusal:
            compute(settings(**changes), architecture())
        assert message in str(refusal.value)


def test_another_models_architecture_is_refused():
    with pytest.raises(
        EstimationError, match=f"cfg-a: model_id is '{QWEN_3B}', expected the architecture's {PHI}"
    ):
        component_volumes(settings(), architecture(PHI), ALL)


def test_a_volume_that_is_not_finite_is_refused():
    enormous = architecture(vocab_size=10**400)
    with pytest.raises(
        EstimationError, match="cfg-a: vocabulary_output_volume_gib is inf, expected a finite volume"
    ):
        component_volumes(settings(), enormous, ("vocabulary_output_volume_gib",))


def test_an_unknown_volume_is_refused():
    with pytest.raises(
        EstimationError, match="cfg-a: feature is 'moon_gib', expected one of actor_shards_gib"
    ):
        component_volumes(settings(), architecture(), ("moon_gib",))


def test_a_row_is_read_as_typed_settings():
    assert Settings.from_row(row()) == settings()
    assert Settings.from_row(row(parameter_offload="True")).parameter_offload is True


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("parameter_offload", "", "True or False"),
        ("optimizer_offload", "", "True or False"),
        ("parameter_offload", "yes", "True or False"),
        ("parameter_offload", "true", "True or False"),
        ("gpu_count", "", "a whole number"),
        ("gpu_count", "2.0", "a whole number"),
        ("gpu_count", " 2", "a whole number"),
        ("gpu_count", "two", "a whole number"),
        ("gpu_count", "1_0", "a whole number"),
        ("gpu_count", "٢", "a whole number"),
        ("vllm_gpu_memory_utilization", "", "a finite number"),
        ("vllm_gpu_memory_utilization", "nan", "a finite number"),
        ("vllm_gpu_memory_utilization", "inf", "a finite number"),
        ("vllm_gpu_memory_utilization", "1_0", "a finite number"),
        ("workload_id", "  ", "a text that is not blank"),
    ],
)
def test_a_bad_cell_is_refused_with_row_and_column(field, value, expected):
    with pytest.raises(EstimationError) as refusal:
        Settings.from_row(row(**{field: value}))
    assert str(refusal.value) == f"cfg-a: {field} is {value!r}, expected {expected}"


def test_a_missing_column_is_named():
    cells = row()
    del cells["gpu_count"]
    with pytest.raises(
        EstimationError, match=r"cfg-a: gpu_count is None, expected .*\(the column is missing\)"
    ):
        Settings.from_row(cells)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("parameter_offload", None, "true or false"),
        ("parameter_offload", 1, "true or false"),
        ("gpu_count", True, "a whole number"),
        ("gpu_count", 2.0, "a whole number"),
        ("vllm_gpu_memory_utilization", math.nan, "a finite number"),
        ("study", "", "a text that is not blank"),
    ],
)
def test_typed_settings_are_checked_too(field, value, expected):
    with pytest.raises(EstimationError, match=f"cfg-a: {field} is .*, expected {expected}"):
        settings(**{field: value})


def test_architecture_needs_every_count():
    with pytest.raises(
        EstimationError, match="num_hidden_layers is None, expected the field in the model metadata"
    ):
        Architecture.from_metadata(
            {key: value for key, value in vars(architecture()).items() if key != "num_hidden_layers"}
        )


@pytest.mark.parametrize("value", [0, -1, 1.5, "7", None, True])
def test_architecture_counts_are_whole_and_positive(value):
    with pytest.raises(EstimationError, match=f"{QWEN_3B}: hidden_size is .*, expected a whole number"):
        architecture(hidden_size=value)


def metadata(**changes):
    return {key: value for key, value in vars(architecture()).items() if key != "family"} | changes


@pytest.mark.parametrize(
    ("entry", "family"),
    [
        ({}, "qwen25"),
        ({"model_id": "acme/one", "family": "acme"}, "acme"),
        ({"model_id": "acme/one"}, "acme/one"),
    ],
)
def test_the_family_comes_with_the_architecture(entry, family):
    assert Architecture.from_metadata(metadata(**entry)).family == family


@pytest.mark.parametrize("family", ["", " ", 7])
def test_a_family_is_a_word(family):
    with pytest.raises(EstimationError, match=f"{QWEN_3B}: family is .*, expected a text that is not blank"):
        Architecture.from_metadata(metadata(family=family))


@pytest.mark.parametrize("number", range(8))
def test_published_feature_statistics(archive, number):
    """Mean of each feature over the pool, as the published scaler has it."""
    names = archive["estimation/fitted_model.json"]["feature_names"]
    column = [component_volumes(item.settings, item.architecture, names)[number] for item in archive.pool]
    published = archive["estimation/fitted_model.json"]["scaler_mean"][number]
    assert math.fsum(column) / len(column) == pytest.approx(published, rel=1e-12)
