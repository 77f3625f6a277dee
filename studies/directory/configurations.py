"""`configurations.csv` and `pool.csv`: settings as rows of a table, read into recorded columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from studies.directory.csv_table import Row, read_table
from studies.directory.problems import Problems
from studies.estimation.errors import EstimationError
from studies.estimation.fields import boolean_in, number_in, whole_in
from studies.estimation.pool import PoolConfiguration
from studies.estimation.volumes import Architecture, Settings, startup_budget

NAME, POOL_NAME = "configurations.csv", "pool.csv"
SHAPE = (
    "gpu_count", "rollout_tp_size", "actor_micro_batch", "rollout_logprob_micro_batch",
    "ref_logprob_micro_batch", "max_prompt_length", "max_response_length", "max_model_len", "max_num_seqs",
    "rollout_n", "train_batch_size", "total_training_steps",
)  # fmt: skip
SWITCHES = ("parameter_offload", "optimizer_offload", "free_cache_engine")
REQUIRED = (
    "configuration_id", "model", "workload_id", "configuration_level", *SHAPE, "vllm_gpu_memory_utilization",
    *SWITCHES,
)  # fmt: skip
OPTIONAL_WHOLE = ("train_max_samples", "val_max_samples", "gpu_monitor_interval_ms", "save_freq", "test_freq",
                  "allocator_trace_sync", "max_actor_ckpt_to_keep")  # fmt: skip
OPTIONAL_SWITCHES = ("allocator_trace_enabled", "val_before_train")
LIMITS = ("device_capacity_mib", "margin_limit_mib")
OPTIONAL_TEXTS = (
    "source_study", "case_id", "model_name", "workload_name", "legacy_dataset_id", "algorithm", "adaptation",
    "condition", "resume_mode", "accelerator", "peak_measurement",
)  # fmt: skip
OPTIONAL = (*OPTIONAL_TEXTS, *OPTIONAL_WHOLE, *OPTIONAL_SWITCHES, *LIMITS)
OUTCOME_WHOLE = (
    "eligible_processes", "distinct_seeds", "completed_eligible_processes", "within_margin_processes",
    "above_margin_processes", "memory_failure_processes", "recorded_attempts",
    "documented_completed_attempts", "excluded_attempts",
)  # fmt: skip
OUTCOME_PEAKS = ("max_completed_run_peak_mib", "mean_completed_run_peak_mib")
OUTCOME = ("observed_state", *OUTCOME_WHOLE, *OUTCOME_PEAKS)
_SWITCH_WORDS = {"true": "True", "false": "False"}


@dataclass(frozen=True)
class Defaults:
    """What a row need not repeat: the study's own values."""

    source_study: str
    accelerator: str
    device_capacity_mib: int | None
    margin_limit_mib: int | None
    unreadable_models: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReadRow:
    """One configuration: its line, the columns to record, and what rules read of it."""

    line: int
    record: dict[str, object]
    settings: Settings


@dataclass(frozen=True)
class PoolRow(ReadRow):
    """A measured configuration, with its outcome's columns."""

    outcome: dict[str, object]


def read_configurations(
    folder: Path, models: Mapping[str, Architecture], defaults: Defaults, problems: Problems
) -> list[ReadRow]:
    """The planned configurations; `models` are architectures by what the column `model` may say."""
    rows = read_table(folder, NAME, problems, required=REQUIRED, optional=OPTIONAL, key="configuration_id")
    found = (_read(row, NAME, models, defaults, problems) for row in rows)
    return [row for row in found if row is not None]


def read_pool(
    folder: Path, models: Mapping[str, Architecture], defaults: Defaults, problems: Problems
) -> list[PoolRow]:
    """The measured configurations with their outcomes."""
    rows = read_table(
        folder, POOL_NAME, problems,
        required=(*REQUIRED, *OUTCOME), optional=(*OPTIONAL, "label_scope"), key="configuration_id",
    )  # fmt: skip
    found = []
    for row in rows:
        read = _read(row, POOL_NAME, models, defaults, problems)
        if read is not None and (outcome := _outcome(row, read, models, problems)) is not None:
            found.append(PoolRow(read.line, read.record, read.settings, outcome))
    return found


def _read(
    row: Row, name: str, models: Mapping[str, Architecture], defaults: Defaults, problems: Problems
) -> ReadRow | None:
    cells = dict(row.cells)
    model = models.get(cells["model"])
    if model is None and cells["model"] in defaults.unreadable_models:
        return None  # the model's own problem says enough
    if model is None:
        expected = "one of " + ", ".join(sorted(models)) if models else "a model of study.yaml or of the pool"
        problems.add(name, row.line, "model", cells["model"], expected)
        return None
    record = _record(cells, model, defaults, name, row.line, problems)
    if record is None:
        return None
    try:
        texts = {key: "" if value is None else str(value) for key, value in record.items()}
        settings = Settings.from_row(texts | {"study": texts["source_study"]})
        startup_budget(settings, model)
        if not settings.margin_limit_mib <= settings.device_capacity_mib:
            raise EstimationError(
                settings.configuration_id, "margin_limit_mib", settings.margin_limit_mib,
                f"at most the device capacity {settings.device_capacity_mib}",
            )  # fmt: skip
    except EstimationError as error:
        problems.add_error(name, row.line, error)
        return None
    return ReadRow(row.line, record, settings)


def _record(
    cells: dict[str, str], model: Architecture, defaults: Defaults, name: str, line: int, problems: Problems
) -> dict[str, object] | None:
    before = problems.number
    record: dict[str, object] = {}

    def read(field: str, how: Callable[..., object], *, blank: object = ...) -> None:
        text = cells.get(field, "")
        if text == "" and blank is not ...:
            record[field] = blank
            return
        try:
            record[field] = how(cells, field, cells["configuration_id"])
        except EstimationError as error:
            problems.add_error(name, line, error)

    for field in (*SWITCHES, *OPTIONAL_SWITCHES):
        cells[field] = _SWITCH_WORDS.get(cells.get(field, "").lower(), cells.get(field, ""))
    for field in SHAPE:
        read(field, whole_in)
    for field in SWITCHES:
        read(field, boolean_in)
    read("vllm_gpu_memory_utilization", number_in)
    for field in OPTIONAL_WHOLE:
        read(field, whole_in, blank=None)
    for field in OPTIONAL_SWITCHES:
        read(field, boolean_in, blank=None)
    for field in LIMITS:
        read(field, whole_in, blank=getattr(defaults, field))
    for field in ("workload_id", "configuration_level"):
        if not cells[field].strip():
            problems.add(name, line, field, cells[field], "a text that is not blank")
        record[field] = cells[field]
    record["configuration_id"] = cells["configuration_id"]
    record |= _texts(cells, model, defaults, record)
    for field in LIMITS:
        if record.get(field, 0) is None:
            problems.add(name, line, field, None, "a number of MiB here or in protocol.yaml")
    return record if problems.number == before else None


def _texts(
    cells: Mapping[str, str], model: Architecture, defaults: Defaults, record: Mapping[str, object]
) -> dict[str, object]:
    own = {
        "source_study": defaults.source_study,
        "model_name": model.model_id.rpartition("/")[2],
        "workload_name": cells["workload_id"],
        "legacy_dataset_id": cells["workload_id"],
        "accelerator": defaults.accelerator,
        "peak_measurement": "largest sampled memory of one device",
        "algorithm": "not stated",
        "adaptation": "not stated",
        "condition": "",
        "resume_mode": "",
        "case_id": "--".join(
            (defaults.source_study, model.model_id, cells["workload_id"], f"{record.get('gpu_count')}gpu")
        ),
    }
    return {
        "model_id": model.model_id,
        "model_family": model.family,
        **{field: cells.get(field, "") or own[field] for field in OPTIONAL_TEXTS},
    }


def _outcome(
    row: Row, read: ReadRow, models: Mapping[str, Architecture], problems: Problems
) -> dict[str, object] | None:
    cells = row.cells
    try:
        known = {model.model_id: model for model in models.values()}
        texts = {key: "" if value is None else str(value) for key, value in read.record.items()}
        PoolConfiguration.from_rows(texts | {"study": texts["source_study"]}, cells, known)
        outcome: dict[str, object] = {"observed_state": cells["observed_state"]}
        for field in OUTCOME_WHOLE:
            outcome[field] = whole_in(cells, field, cells["configuration_id"])
        for field in OUTCOME_PEAKS:
            blank = cells[field] == ""
            outcome[field] = None if blank else number_in(cells, field, cells["configuration_id"])
    except EstimationError as error:
        problems.add_error(POOL_NAME, row.line, error)
        return None
    return outcome | {"label_scope": cells.get("label_scope", "") or "repeated label"}
