"""The columns of an archive's tables. A table with another set of columns is not read."""

from __future__ import annotations

CONFIGURATIONS = (
    "configuration_id", "case_id", "study", "model_family", "model_name", "model_id", "workload_id",
    "workload_name", "legacy_dataset_id", "algorithm", "adaptation", "configuration_level", "condition",
    "gpu_count", "rollout_tp_size", "actor_micro_batch", "rollout_logprob_micro_batch",
    "ref_logprob_micro_batch", "vllm_gpu_memory_utilization", "parameter_offload", "optimizer_offload",
    "free_cache_engine", "max_prompt_length", "max_response_length", "max_model_len", "max_num_seqs",
    "rollout_n", "train_batch_size", "train_max_samples", "val_max_samples", "total_training_steps",
    "gpu_monitor_interval_ms", "allocator_trace_enabled", "allocator_trace_sync", "save_freq",
    "test_freq", "val_before_train", "resume_mode", "max_actor_ckpt_to_keep", "accelerator",
    "device_capacity_mib", "margin_limit_mib", "peak_measurement",
)  # fmt: skip

OUTCOMES = (
    "configuration_id", "observed_state", "eligible_processes", "distinct_seeds",
    "completed_eligible_processes", "within_margin_processes", "above_margin_processes",
    "memory_failure_processes", "max_completed_run_peak_mib", "mean_completed_run_peak_mib",
    "recorded_attempts", "documented_completed_attempts", "excluded_attempts", "label_scope",
)  # fmt: skip

QUERIES = (
    "query_id", "task_id", "track", "source_configuration_id", "target_configuration_id", "source_case_id",
    "target_case_id",
)  # fmt: skip

MATRIX = (
    "experiment_id", "run_group", "study_stage", "configuration_level", "model_family", "algorithm",
    "dataset", "model", "data_dir", "gpu_count", "rollout_tp_size", "actor_micro_batch",
    "rollout_logprob_micro_batch", "ref_logprob_micro_batch", "vllm_gpu_memory_utilization",
    "parameter_offload", "optimizer_offload", "free_cache_engine", "max_prompt_length",
    "max_response_length", "max_model_len", "max_num_seqs", "rollout_n", "train_batch_size",
    "train_max_samples", "val_max_samples", "training_seed", "total_training_steps",
    "gpu_monitor_interval_ms", "workload_name", "custom_reward_function_path",
    "custom_reward_function_name", "revision_study", "pair_id", "period", "condition",
    "configuration_id", "case_id", "gpu_subset_ordinals", "allocator_trace_enabled",
    "allocator_trace_sync", "save_freq", "test_freq", "val_before_train", "resume_mode",
    "max_actor_ckpt_to_keep", "per_process_timeout_seconds",
)  # fmt: skip

PROCESSES = (
    "allocation_gpu_count", "artifact_path", "completed", "completed_peak_mib", "configuration_id",
    "configuration_level", "dataset", "dispatched", "durable_terminal_record_present", "eligible",
    "expected_execution_commit", "experiment_id", "failure_kind", "failure_stage",
    "invocation_elapsed_seconds", "invocation_id", "invocation_reservation_gpu_seconds", "job_id",
    "known_margin_exceedance", "known_memory_failure", "launched", "observed_task_peak_mib",
    "online_status", "pair_id", "period", "state", "task_gpu_count", "task_gpu_seconds",
    "task_runtime_seconds", "training_seed", "validation_errors", "worker_initialization",
)  # fmt: skip
# Only a panel with slots that were never launched has a reason to give.
PROCESSES_OPTIONAL = ("reason",)

SHARED_WITH_TARGETS = tuple(column for column in MATRIX if column in CONFIGURATIONS and column not in (
    "algorithm", "condition", "model_family", "configuration_id", "workload_name",
))  # fmt: skip
"""Columns in which a scheduled slot must say what its configuration says."""
