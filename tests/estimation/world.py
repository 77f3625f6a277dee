"""Small made-up configurations for tests that need no published figure."""

from __future__ import annotations

from typing import Any

from studies.estimation.families import family_of
from studies.estimation.labels import Label
from studies.estimation.methods.base import Prediction
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.protocol import parse_rules
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture, Settings, StartupBasis, StartupBudget

QWEN_3B, QWEN_7B = "Qwen/Qwen2.5-3B-Instruct", "Qwen/Qwen2.5-7B-Instruct"
PHI, GRANITE = "microsoft/Phi-4-mini-instruct", "ibm-granite/granite-3.3-2b-instruct"
GIB = 2**30
CAPACITY, MARGIN = 40_960, 38_912

SILENT = StartupBudget(StartupBasis.OFFLOADED_ACTOR, None, None)


def row(**changes: str) -> dict[str, str]:
    """A row of a configurations table, as texts."""
    return {
        "configuration_id": "cfg-a",
        "study": "boundary",
        "model_id": QWEN_3B,
        "workload_id": "math",
        "configuration_level": "c2",
        "gpu_count": "2",
        "rollout_tp_size": "1",
        "actor_micro_batch": "8",
        "rollout_logprob_micro_batch": "4",
        "ref_logprob_micro_batch": "4",
        "vllm_gpu_memory_utilization": "0.5",
        "parameter_offload": "False",
        "optimizer_offload": "False",
        "free_cache_engine": "True",
        "max_prompt_length": "512",
        "max_response_length": "512",
        "max_model_len": "1024",
        "rollout_n": "2",
        "train_batch_size": "32",
        "device_capacity_mib": str(CAPACITY),
        "margin_limit_mib": str(MARGIN),
    } | changes


def settings(**changes: Any) -> Settings:
    """Typed settings."""
    plain = Settings.from_row(row())
    return Settings(**{**vars(plain), **changes})


def architecture(model_id: str = QWEN_3B, **changes: Any) -> Architecture:
    """Round numbers: P = 3 Gi elements and R = 1 Gi elements unless changed."""
    values: dict[str, Any] = {
        "model_id": model_id,
        "floating_checkpoint_elements": 3 * GIB,
        "all_linear_layer_adapter_elements": GIB,
        "largest_transformer_layer_elements": GIB // 8,
        "non_transformer_layer_elements": GIB // 4,
        "largest_weight_tensor_elements": GIB // 2,
        "num_hidden_layers": 31,
        "hidden_size": 2048,
        "vocab_size": 65_536,
        "family": family_of(model_id),
    }
    return Architecture(**(values | changes))


def target(configuration_id: str = "target", model_id: str = QWEN_7B, **changes: Any) -> Target:
    """A target outside every pool here."""
    return Target(
        settings(configuration_id=configuration_id, model_id=model_id, **changes), architecture(model_id)
    )


def pool_configuration(
    configuration_id: str,
    label: Label = Label.WITHIN_MARGIN,
    *,
    model_id: str = QWEN_3B,
    peak: float | None = None,
    elements: int = 3 * GIB,
    attempts: int = 3,
    family: str | None = None,
    **changes: Any,
) -> PoolConfiguration:
    """A pool configuration; its peak fits the label unless given."""
    usual = {Label.WITHIN_MARGIN: 30_000.0, Label.ABOVE_MARGIN: 39_500.0, Label.MEMORY_FAILURE: None}
    return PoolConfiguration(
        settings=settings(configuration_id=configuration_id, model_id=model_id, **changes),
        architecture=architecture(
            model_id, floating_checkpoint_elements=elements, family=family_of(model_id, family)
        ),
        label=label,
        completed_peak_mib=usual[label] if peak is None else peak,
        eligible_processes=3,
        recorded_attempts=attempts,
    )


def small_pool() -> Pool:
    """Three families × two levels × three labels, in which larger micro-batches fail."""
    labels = (Label.WITHIN_MARGIN, Label.ABOVE_MARGIN, Label.MEMORY_FAILURE)
    return Pool.of(
        pool_configuration(
            f"cfg-{family}-{level}-{place}",
            label,
            model_id=model,
            configuration_level=level,
            actor_micro_batch=4 * 2**place,
            vllm_gpu_memory_utilization=0.3 + 0.1 * place,
            elements=size,
            peak=None if label is Label.MEMORY_FAILURE else 30_000.0 + 8_950.0 * place + size / GIB,
        )
        for family, model, size in (
            ("qwen", QWEN_3B, 3 * GIB),
            ("phi", PHI, 4 * GIB),
            ("granite", GRANITE, 2 * GIB),
        )
        for level in ("c1", "c2")
        for place, label in enumerate(labels)
    )


def protocol_document(**changes: Any) -> dict[str, Any]:
    """A protocol that fits, in our own words, for `small_pool` and two targets."""
    return {
        "protocol_version": "small-1.0",
        "device_capacity_mib": CAPACITY,
        "memory_margin_limit_mib": MARGIN,
        "evaluation_seeds": [1, 2, 3],
        "outcome_rule": "three_eligible_outcomes",
        "features": ["actor_shards_gib", "generation_budget_gib", "checkpoint_boundary_volume_gib"],
        "feature_scope": "architecture_and_shape_with_resident_shards",
        "donor_rule": "same_workload_and_level_then_gpus_family_size_id",
        "component_regression": "nonnegative_least_squares_with_startup_guard",
        "label_mapping": "startup_guard_then_capacity_then_margin",
        "startup_check": "resident_actor_shards_plus_generation_budget",
        "classifier": {
            "C": 1.0,
            "class_weight": "balanced",
            "convergence": "warning_or_nonfinite_is_failure",
            "decision": "argmax_uncalibrated",
            "implementation": "sklearn.linear_model.LogisticRegression",
            "max_iter": 10_000,
            "multi_class": "multinomial",
            "penalty": "l2",
            "random_state": 7,
            "scaling": "standardised_on_training_fold",
            "solver": "lbfgs",
        },
        "source_studies": ["boundary"],
        "source_configuration_ids": small_pool().configuration_ids,
        "source_configurations": 18,
        "target_configuration_ids": ["target-1", "target-2"],
        "target_configurations": 2,
        "planned_processes": 6,
        "planned_pairs": 3,
    } | changes


def follow_up_document(**changes: Any) -> dict[str, Any]:
    """A protocol that inherits, in our own words."""
    return {
        "protocol_version": "small-follow-up-1.0",
        "device_capacity_mib": CAPACITY,
        "memory_margin_limit_mib": MARGIN,
        "evaluation_seeds": [4, 5, 6],
        "outcome_rule": "three_eligible_outcomes",
        "estimators": "inherited_unchanged",
        "prediction_origins": {"again-2": "target-2", "again-1": "target-1"},
        "original_protocol_sha256": "a" * 64,
        "original_prediction_seal_sha256": "b" * 64,
        "target_configurations": 2,
        "planned_processes": 6,
        "planned_pairs": 3,
    } | changes


def rules(**changes: Any) -> ProtocolRules:
    """Parsed rules of `protocol_document`."""
    return parse_rules(protocol_document(**changes))


def targets() -> list[Target]:
    """The two targets of `protocol_document`."""
    return [target("target-1"), target("target-2", gpu_count=4)]


def prediction(configuration_id: str, label: Label, method: str = "donor_copy", **changes: Any) -> Prediction:
    """A bare prediction."""
    return Prediction(configuration_id, method, label, SILENT, **changes)
