"""The words for what ended an invocation, and which of them are outcomes of GPU memory.

Names are the study's own where it has one. It has one word, `rollout_init_memory`, for everything that
keeps the generation engine from starting; here a key-value cache without room is a word of its own, because
it has another remedy. `study_kind` leads back to the study's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What an invocation established."""

    COMPLETED = "completed"
    MEMORY_FAILURE = "memory_failure"
    UNRESOLVED = "unresolved"


class Diagnosis(StrEnum):
    """What ended an invocation, or what is missing to say so."""

    # Outcomes of GPU memory.
    CUDA_OOM = "cuda_oom"
    WEIGHT_SYNC_OOM = "weight_sync_oom"
    ROLLOUT_INIT_MEMORY = "rollout_init_memory"
    KV_CACHE_MEMORY = "kv_cache_memory"
    CUDA_LIBRARY_ALLOCATION = "cuda_library_allocation"
    # Everything below leaves the slot unresolved.
    HOST_MEMORY = "host_memory"
    EXECUTOR_FAILURE = "vllm_executor_failure"
    CONFIGURATION = "configuration"
    ENVIRONMENT = "environment"
    RUNTIME = "runtime"
    DEVICE_FAULT = "device_fault"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    INSUFFICIENT_GPUS = "insufficient_allocated_gpus"
    PORT_COLLISION = "distributed_port_collision"
    EMPTY_DATALOADER = "empty_dataloader"
    HF_RATE_LIMIT = "hf_rate_limit"
    KILLED_UNKNOWN_CAUSE = "killed_unknown_cause"
    CONTAMINATION = "contamination"
    MISSING_COMPLETION_EVIDENCE = "missing_completion_evidence"
    MISSING_EVIDENCE = "missing_evidence"

    @property
    def is_gpu_memory(self) -> bool:
        """Whether an invocation that ended so is a memory failure. All others leave the slot unresolved."""
        return self in _FACTS and _FACTS[self].gpu_memory

    @property
    def in_words(self) -> str:
        """The diagnosis in words, for a person."""
        return _FACTS[self].in_words

    @property
    def study_kind(self) -> str | None:
        """The study's own `failure_kind` for it, or None where the study has no such word."""
        return _FACTS[self].study_kind


@dataclass(frozen=True)
class _Facts:
    in_words: str
    study_kind: str | None
    gpu_memory: bool = False


_FACTS: dict[Diagnosis, _Facts] = {
    Diagnosis.CUDA_OOM: _Facts("device out of memory in training", "cuda_oom", True),
    Diagnosis.WEIGHT_SYNC_OOM: _Facts("device out of memory during weight sync", "weight_sync_oom", True),
    Diagnosis.ROLLOUT_INIT_MEMORY: _Facts(
        "generation engine could not start for lack of device memory", "rollout_init_memory", True
    ),
    Diagnosis.KV_CACHE_MEMORY: _Facts("no room for the key-value cache", "rollout_init_memory", True),
    Diagnosis.CUDA_LIBRARY_ALLOCATION: _Facts("allocation failed inside a CUDA library", "cuda_oom", True),
    Diagnosis.HOST_MEMORY: _Facts("host memory exhausted", None),
    Diagnosis.EXECUTOR_FAILURE: _Facts("executor lost", "vllm_executor_failure"),
    Diagnosis.CONFIGURATION: _Facts("configuration refused", "configuration"),
    Diagnosis.ENVIRONMENT: _Facts("software or system environment broken", "environment"),
    Diagnosis.RUNTIME: _Facts("software error", "runtime"),
    Diagnosis.DEVICE_FAULT: _Facts("device or kernel fault, not exhaustion", None),
    Diagnosis.TIMEOUT: _Facts("time limit reached", "timeout"),
    Diagnosis.CANCELLED: _Facts("cancelled", None),
    Diagnosis.PREEMPTED: _Facts("preempted: others went before it on the same machines", None),
    Diagnosis.EVICTED: _Facts("evicted by its node", None),
    Diagnosis.INSUFFICIENT_GPUS: _Facts("fewer devices than required", "insufficient_allocated_gpus"),
    Diagnosis.PORT_COLLISION: _Facts("network port already taken", "distributed_port_collision"),
    Diagnosis.EMPTY_DATALOADER: _Facts("no training data", "empty_dataloader"),
    Diagnosis.HF_RATE_LIMIT: _Facts("refused by the model hub's rate limit", "hf_rate_limit"),
    Diagnosis.KILLED_UNKNOWN_CAUSE: _Facts("killed, cause not known", None),
    Diagnosis.CONTAMINATION: _Facts("another process used the device", None),
    Diagnosis.MISSING_COMPLETION_EVIDENCE: _Facts("exit 0 without the required final step record", None),
    Diagnosis.MISSING_EVIDENCE: _Facts("nothing proves how it ended", None),
}
