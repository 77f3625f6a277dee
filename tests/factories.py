"""The smallest worlds that tests need. Everything goes through the ledger, as in real use."""

from __future__ import annotations

from itertools import count

from studies.models import (
    Attempt,
    Configuration,
    EvidenceBlob,
    Pool,
    PredictionSet,
    Protocol,
    SeedSlot,
    Study,
)
from studies.services.outcomes import evidence_store

_numbers = count(1)

SETTINGS = {
    "source_study": "panel",
    "model_family": "qwen",
    "model_name": "Qwen2.5 7B",
    "model_id": "Qwen/Qwen2.5-7B-Instruct",
    "workload_id": "math",
    "workload_name": "Math",
    "legacy_dataset_id": "math",
    "algorithm": "grpo",
    "adaptation": "lora",
    "configuration_level": "c1",
    "gpu_count": 2,
    "rollout_tp_size": 1,
    "actor_micro_batch": 1,
    "rollout_logprob_micro_batch": 1,
    "ref_logprob_micro_batch": 1,
    "vllm_gpu_memory_utilization": 0.5,
    "parameter_offload": False,
    "optimizer_offload": False,
    "free_cache_engine": True,
    "max_prompt_length": 512,
    "max_response_length": 512,
    "max_model_len": 1024,
    "max_num_seqs": 16,
    "rollout_n": 4,
    "train_batch_size": 8,
    "total_training_steps": 1,
    "accelerator": "NVIDIA L40S",
    "device_capacity_mib": 46068,
    "margin_limit_mib": 38912,
    "peak_measurement": "external_sampling",
}


def make_pool(**fields) -> Pool:
    """A pool without configurations."""
    pool = Pool(**{"slug": f"pool-{next(_numbers)}", "title": "Pool", **fields})
    pool.save()
    return pool


def make_study(**fields) -> Study:
    """A study without anything planned."""
    study = Study(
        **{"slug": f"study-{next(_numbers)}", "title": "Study", "question": "Does it fit?", **fields}
    )
    study.save()
    return study


def make_protocol(study: Study, **fields) -> Protocol:
    """The base protocol of ``study``, with three seeds and the margin of ``SETTINGS``."""
    protocol = Protocol(
        **{
            "study": study,
            "version": "test",
            "sha256": "a" * 64,
            "source_path": "protocol.json",
            "frozen_at": "2026-09-01T00:00:00Z",
            "document": {"training_seeds": [1, 2, 3], "margin_limit_mib": SETTINGS["margin_limit_mib"]},
            **fields,
        }
    )
    protocol.save()
    return protocol


def make_configuration(owner: Study | Pool, **fields) -> Configuration:
    """A configuration of a study (planned) or a pool (measured earlier)."""
    name = f"configuration-{next(_numbers)}"
    place = {"study": owner} if isinstance(owner, Study) else {"pool": owner}
    configuration = Configuration(
        **{"configuration_id": name, "case_id": name, **SETTINGS, **place, **fields}
    )
    configuration.save()
    return configuration


def make_slots(configuration: Configuration, seeds=(1, 2, 3)) -> list[SeedSlot]:
    """One slot per seed."""
    slots = []
    for seed in seeds:
        position = SeedSlot.objects.filter(study=configuration.study).count()
        slot = SeedSlot(
            study=configuration.study,
            configuration=configuration,
            seed=seed,
            position=position,
            experiment_id=f"{configuration.configuration_id}-seed{seed}",
        )
        slot.save()
        slots.append(slot)
    return slots


def make_attempt(slot: SeedSlot, outcome: str, peak_mib: float | None = None, **fields) -> Attempt:
    """A declared attempt of ``slot`` with ``outcome`` (``completed``, ``memory_failure``, ``unresolved``)."""
    attempt = Attempt(
        **{
            "study": slot.study,
            "slot": slot,
            "invocation_id": f"invocation-{next(_numbers)}",
            "outcome": outcome,
            "origin": Attempt.Origin.DECLARED,
            "source": "test",
            "peak_mib": peak_mib,
            **fields,
        }
    )
    attempt.save()
    return attempt


def make_blob(study: Study, content: bytes) -> EvidenceBlob:
    """Bytes that the study has, in the store and in the ledger, as an attempt would have brought them."""
    stored = evidence_store.store([content], "log")
    blob = EvidenceBlob(study=study, sha256=stored.sha256, size_bytes=stored.size_bytes)
    blob.save()
    return blob


def make_prediction_set(study: Study, **fields) -> PredictionSet:
    """The panel's prediction set, still empty."""
    prediction_set = PredictionSet(**{"study": study, "kind": PredictionSet.Kind.PANEL, **fields})
    prediction_set.save()
    return prediction_set


def make_small_study(**fields) -> Study:
    """One study with its protocol, two configurations and three slots each; nothing has run."""
    study = make_study(**fields)
    make_protocol(study)
    for level in ("c1", "c2"):
        make_slots(make_configuration(study, configuration_level=level))
    return study
