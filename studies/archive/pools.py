"""The pool's tables and the planned targets, read into records."""

from __future__ import annotations

from typing import Any

from studies.archive import columns
from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.layout import (
    CONFIGURATIONS,
    OUTCOMES,
    POOL_SLUG,
    SOURCE_AUTHORS,
    SOURCE_LICENCE,
    SOURCE_NAME,
)
from studies.archive.queries import read_queries
from studies.archive.records import Record, Stream
from studies.archive.tables import Row, read_table
from studies.estimation.errors import EstimationError
from studies.estimation.families import PUBLISHED
from studies.estimation.labels import Label
from studies.estimation.volumes import Settings

NOT_REPEATED = "not_repeated"
_TEXTS = ("configuration_id", "case_id", "model_family", "model_name", "model_id", "workload_id",
          "workload_name", "legacy_dataset_id", "algorithm", "adaptation", "configuration_level",
          "accelerator", "peak_measurement")  # fmt: skip
_BLANK_TEXTS = ("condition", "resume_mode")
_WHOLE = ("gpu_count", "rollout_tp_size", "actor_micro_batch", "rollout_logprob_micro_batch",
          "ref_logprob_micro_batch", "max_prompt_length", "max_response_length", "max_model_len",
          "max_num_seqs", "rollout_n", "train_batch_size", "total_training_steps", "device_capacity_mib",
          "margin_limit_mib")  # fmt: skip
_BLANK_WHOLE = ("train_max_samples", "val_max_samples", "gpu_monitor_interval_ms", "allocator_trace_sync",
                "save_freq", "test_freq", "max_actor_ckpt_to_keep")  # fmt: skip
_BOOLEAN = ("parameter_offload", "optimizer_offload", "free_cache_engine")
_BLANK_BOOLEAN = ("allocator_trace_enabled", "val_before_train")

_ARCHITECTURE_WHOLE = (
    "floating_checkpoint_elements", "floating_checkpoint_bytes", "all_linear_layer_adapter_elements",
    "lora_rank", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "vocab_size", "tensor_count", "largest_transformer_layer_elements",
    "largest_weight_tensor_elements", "non_transformer_layer_elements",
)  # fmt: skip


def read_configurations(root: Root, path: str) -> list[Row]:
    """The rows of a configurations table, each checked as settings that the rules can read."""
    rows = read_table(root.read(path), path, columns.CONFIGURATIONS, key="configuration_id")
    for row in rows:
        try:
            Settings.from_row(row.cells)
        except EstimationError as error:
            raise row.fail(error.field, error.value, error.expected) from None
    return rows


def configuration_record(row: Row) -> Record:
    """A configuration with every column of its row."""
    fields: dict[str, Any] = {"source_study": row.text("study")}
    fields |= {name: row.text(name) for name in _TEXTS}
    fields |= {name: row.text_or_blank(name) for name in _BLANK_TEXTS}
    fields |= {name: row.whole(name) for name in _WHOLE}
    fields |= {name: row.whole_or_none(name) for name in _BLANK_WHOLE}
    fields |= {name: row.boolean(name) for name in _BOOLEAN}
    fields |= {name: row.boolean_or_none(name) for name in _BLANK_BOOLEAN}
    fields["vllm_gpu_memory_utilization"] = row.number("vllm_gpu_memory_utilization")
    return Record("configuration", fields)


def read_pool_rows(root: Root) -> tuple[list[Row], dict[str, Row]]:
    """The pool's configurations, and each one's outcome by its id.

    Raises ``ArchiveError`` for a configuration without an outcome or an outcome without a configuration.
    """
    configurations = read_configurations(root, CONFIGURATIONS)
    outcomes = {
        row.cells["configuration_id"]: row
        for row in read_table(root.read(OUTCOMES), OUTCOMES, columns.OUTCOMES, key="configuration_id")
    }
    known = {row.cells["configuration_id"] for row in configurations}
    for name, row in outcomes.items():
        if name not in known:
            raise row.fail("configuration_id", name, f"a configuration of {CONFIGURATIONS}")
    for row in configurations:
        if row.cells["configuration_id"] not in outcomes:
            raise row.fail("configuration_id", row.cells["configuration_id"], f"a row in {OUTCOMES}")
    return configurations, outcomes


def read_pool(root: Root, metadata: Document) -> Stream:
    """The whole pool: configurations with their outcomes, the models' architectures, the transfer suite."""
    configurations, outcomes = read_pool_rows(root)
    cases = {row.text("configuration_id"): row.text("case_id") for row in configurations}
    head = Record(
        "pool",
        {
            "slug": POOL_SLUG,
            "title": "Configurations measured earlier",
            "source_name": SOURCE_NAME,
            "source_authors": SOURCE_AUTHORS,
            "source_licence": SOURCE_LICENCE,
        },
    )
    return Stream(
        POOL_SLUG,
        [
            head,
            *(configuration_record(row) for row in configurations),
            *(_outcome(outcomes[row.cells["configuration_id"]]) for row in configurations),
            *(architecture_record(metadata, model_id) for model_id in metadata.values),
            *read_queries(root, cases),
        ],
    )


def _outcome(row: Row) -> Record:
    counts = (
        "eligible_processes", "distinct_seeds", "completed_eligible_processes", "within_margin_processes",
        "above_margin_processes", "memory_failure_processes", "recorded_attempts",
        "documented_completed_attempts", "excluded_attempts",
    )  # fmt: skip
    fields: dict[str, Any] = {
        "configuration": row.text("configuration_id"),
        "observed_state": row.one_of("observed_state", (*Label, NOT_REPEATED)),
        "label_scope": row.text("label_scope"),
    }
    fields |= {name: row.whole(name) for name in counts}
    for name in ("max_completed_run_peak_mib", "mean_completed_run_peak_mib"):
        fields[name] = row.number_or_none(name)
    return Record("outcome", fields)


def architecture_record(metadata: Document, model_id: str) -> Record:
    """One model's architecture, every number of it.

    Its family is left out only for the published study's models, whose metadata has none.
    """
    model = metadata.sub(model_id)
    if model.text("model_id") != model_id:
        raise model.fail("model_id", model.values["model_id"], f"{model_id}, the key that it stands under")
    fields: dict[str, Any] = {name: model.whole(name) for name in _ARCHITECTURE_WHOLE}
    fields["model_id"] = model_id
    fields["revision"] = model.text("revision")
    fields["config_sha256"] = model.text("config_sha256")
    fields["tie_word_embeddings"] = model.get("tie_word_embeddings", bool, "true or false")
    fields["shard_header_sha256"] = model.mapping("shard_header_sha256")
    if "family" in model.values or model_id not in PUBLISHED:
        fields["family"] = model.text("family")
    unknown = set(model.values) - set(fields) - {"scope"}
    if unknown:
        raise ArchiveError(
            f"{model.path} {sorted(unknown)[0]}: unknown key, expected {', '.join(sorted(fields))}"
        )
    return Record("architecture", fields)
