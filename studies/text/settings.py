"""A configuration's settings in words, and in what two configurations differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rlvram_site.templatetags.display import NOTHING
from studies.models import Configuration

# In reading order. A unit in brackets is part of the name; blanks are shown as a dash, never as zero.
NAMES: dict[str, str] = {
    "model_name": "Model",
    "model_id": "Model id",
    "model_family": "Model family",
    "workload_name": "Workload",
    "workload_id": "Workload id",
    "legacy_dataset_id": "Data set",
    "configuration_level": "Compound level",
    "condition": "Condition",
    "gpu_count": "GPUs",
    "rollout_tp_size": "Tensor-parallel size of generation",
    "actor_micro_batch": "Actor micro-batch (samples)",
    "rollout_logprob_micro_batch": "Rollout log-probability micro-batch (samples)",
    "ref_logprob_micro_batch": "Reference log-probability micro-batch (samples)",
    "vllm_gpu_memory_utilization": "Generation engine's share of device memory",
    "parameter_offload": "Actor parameters offloaded",
    "optimizer_offload": "Optimizer offloaded",
    "free_cache_engine": "Cache engine freed after generation",
    "max_prompt_length": "Longest prompt (tokens)",
    "max_response_length": "Longest response (tokens)",
    "max_model_len": "Longest sequence (tokens)",
    "max_num_seqs": "Sequences at once",
    "rollout_n": "Rollouts per prompt",
    "train_batch_size": "Training batch (prompts)",
    "train_max_samples": "Training samples",
    "val_max_samples": "Validation samples",
    "total_training_steps": "Training steps",
    "algorithm": "Algorithm",
    "adaptation": "Adaptation",
    "gpu_monitor_interval_ms": "Memory sampling interval (ms)",
    "allocator_trace_enabled": "Allocator trace",
    "allocator_trace_sync": "Allocator trace synchronised",
    "save_freq": "Save every (steps)",
    "test_freq": "Test every (steps)",
    "val_before_train": "Validation before training",
    "resume_mode": "Resume mode",
    "max_actor_ckpt_to_keep": "Actor checkpoints kept",
    "accelerator": "Accelerator",
    "device_capacity_mib": "Device capacity (MiB)",
    "margin_limit_mib": "Margin (MiB)",
    "peak_measurement": "Peak measurement",
    "source_study": "Measured or planned in",
    "case_id": "Case",
}


@dataclass(frozen=True)
class SettingRow:
    """One setting: its name in words, its column, its value, and the other values it was compared with."""

    name: str
    column: str
    value: str
    others: Sequence[str] = ()


def written(value: Any) -> str:
    """A setting as a page shows it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def settings_rows(
    configuration: Configuration, others: Iterable[Configuration]
) -> tuple[list[SettingRow], list[SettingRow]]:
    """Settings in which ``configuration`` differs from any of ``others``, and all other settings."""
    compared = list(others)
    differing: list[SettingRow] = []
    same: list[SettingRow] = []
    for column, name in NAMES.items():
        own = getattr(configuration, column)
        values = {getattr(other, column) for other in compared}
        row = SettingRow(
            name,
            column,
            written(own),
            [written(value) for value in sorted(values - {own}, key=_order)],
        )
        (differing if row.others else same).append(row)
    return differing, same


def _order(value: Any) -> tuple:
    """Numbers by size, texts by letter, blanks last. A column has values of one kind."""
    return (value is None or value == "", value if isinstance(value, int | float) else 0, str(value))


def differences(target: Configuration, donor: Configuration) -> list[SettingRow]:
    """Settings in which two configurations differ; ``others`` holds the donor's single value."""
    return settings_rows(target, [donor])[0]
