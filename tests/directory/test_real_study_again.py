"""The published study through the door of a folder: its freeze, amendment, fit, seal and evaluation come out
as they were published.

Its files are made from what is recorded of it, and recorded again under another name.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from studies.checkpoints.architecture import read_model
from studies.directory.configurations import LIMITS, OPTIONAL, OUTCOME, REQUIRED
from studies.estimation.compare import compare
from studies.estimation.refit_worker import refit
from studies.models import ModelArchitecture, SeedSlot, Study
from studies.services.plan import protocols
from studies.services.plan.amendments import preview_amendment, record_amendment
from studies.services.plan.creating import create
from studies.services.predictions.recorded import method_predictions, panel_set
from studies.services.predictions.refits import refit_payload
from studies.services.predictions.seals import predict_and_seal
from studies.services.scores.evaluation import evaluation_document
from tests.factories import make_attempt

KINDS = {"Qwen": "qwen2", "ibm-granite": "granite", "microsoft": "phi3"}
SHAPE = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "head_dim", "vocab_size", "tie_word_embeddings")  # fmt: skip
DERIVED = [
    "floating_checkpoint_elements", "floating_checkpoint_bytes", "all_linear_layer_adapter_elements",
    "largest_transformer_layer_elements", "largest_weight_tensor_elements",
    "non_transformer_layer_elements", "tensor_count", *SHAPE,
]  # fmt: skip


@pytest.fixture
def published(sample_studies) -> Study:
    return Study.objects.get(slug="estimation")


def table(path: Path, columns, rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)


def columns_of(row: Any) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in row._meta.concrete_fields} | {
        "model": getattr(row, "model_id", "")
    }


def folder_of(study: Study, folder: Path) -> None:
    """The study's files, from its records."""
    settings = [*REQUIRED, *(name for name in OPTIONAL if name not in REQUIRED)]
    protocol = study.protocols.get()
    assert set(LIMITS) <= set(settings)
    sources = study.pool.configurations.filter(
        configuration_id__in=protocol.document["source_configuration_ids"]
    ).select_related("pool_outcome")
    table(
        folder / "pool.csv",
        [*settings, *OUTCOME, "label_scope"],
        [columns_of(row.pool_outcome) | columns_of(row) for row in sources],
    )
    planned = {row.configuration_id: row for row in study.configurations.all()}
    order = protocol.document["target_configuration_ids"]
    table(folder / "configurations.csv", settings, [columns_of(planned[name]) for name in order])
    slots = SeedSlot.objects.filter(study=study).select_related("configuration").order_by("position")
    table(
        folder / "schedule.csv",
        ["experiment_id", "configuration_id", "seed", "pair_id", "period", "device_ordinals",
         "timeout_seconds"],
        [
            columns_of(slot) | {
                "configuration_id": slot.configuration.configuration_id,
                "device_ordinals": ";".join(map(str, slot.device_ordinals or [])),
            }
            for slot in slots
        ],
    )  # fmt: skip
    models = {}
    for number, model in enumerate(study.pool.architectures.all()):
        kind = next(kind for start, kind in KINDS.items() if model.model_id.startswith(start))
        place = folder / "models" / f"model-{number}"
        place.mkdir(parents=True)
        config = {name: getattr(model, name) for name in SHAPE}
        (place / "config.json").write_text(
            json.dumps(config | {"model_type": kind, "torch_dtype": "bfloat16"})
        )
        models[place.name] = {
            "model_id": model.model_id, "family": families(study)[model.model_id],
            "revision": model.revision, "lora_rank": model.lora_rank,
        }  # fmt: skip
    (folder / "protocol.yaml").write_text(yaml.safe_dump(protocol.document, sort_keys=False))
    (folder / "study.yaml").write_text(
        yaml.safe_dump(
            {
                "slug": "again", "title": study.title, "question": study.question, "pool": "again",
                "accelerator": "NVIDIA A100-SXM4-40GB", "models": models,
            }
        )
    )  # fmt: skip


def families(study: Study) -> dict[str, str]:
    from studies.services.plan.pools import architectures

    return {name: model.family for name, model in architectures(study.pool).items()}


def test_the_four_models_come_out_of_their_configuration_field_by_field(published, tmp_path):
    folder_of(published, tmp_path)
    files = {
        json.loads((path / "config.json").read_text())["vocab_size"]: read_model(path, lora_rank=64)
        for path in (tmp_path / "models").iterdir()
    }
    for model in ModelArchitecture.objects.filter(pool=published.pool):
        record = files[model.vocab_size].to_record()
        assert {name: record[name] for name in DERIVED} == {name: getattr(model, name) for name in DERIVED}


def test_freeze_amendment_fit_seal_and_evaluation_give_what_was_published(published, tmp_path):
    folder_of(published, tmp_path)
    again = create(tmp_path)
    amendment = published.amendments.get()
    updates = amendment.updates
    preview = preview_amendment(again, updates)
    record_amendment(again, updates, reason=amendment.reason, amended_at=None, confirmed=preview.head.sha256)
    assert protocols.effective_protocol(again) == protocols.effective_protocol(published)
    panel, _ = predict_and_seal(again, refit(refit_payload(again)))
    stored = [item.to_record() for item in method_predictions(panel_set(published))]
    found = [item.to_record() for item in method_predictions(panel)]
    assert compare(stored, found).mismatches == []
    for slot in SeedSlot.objects.filter(study=published).select_related("configuration"):
        for attempt in slot.attempts.order_by("pk"):
            new = SeedSlot.objects.get(study=again, experiment_id=slot.experiment_id)
            make_attempt(new, attempt.outcome, attempt.peak_mib, diagnosis=attempt.diagnosis)
    assert again.seedslots.count() == 36
    theirs, ours = evaluation_document(published), evaluation_document(again)
    assert compare(theirs["evaluation"], ours["evaluation"]).mismatches == []
    assert compare(theirs["folds"], ours["folds"]).mismatches == []
