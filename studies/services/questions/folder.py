"""A question as the files of a study's folder, so that what was asked can be planned and measured."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import yaml

from studies.directory.configurations import REQUIRED, SHAPE
from studies.estimation.methods import method_classes
from studies.estimation.wording import in_own_words
from studies.models import Configuration, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.questions.reading import Question

OWN_FOLDER = "own-model"
TARGET = "target"
_KEPT = (
    "device_capacity_mib", "memory_margin_limit_mib", "evaluation_seeds", "outcome_rule", "resource_cap",
    "launches_per_slot", "source_studies", "source_configuration_ids", "features", "feature_scope",
    "label_mapping", "startup_check", "scoring",
)  # fmt: skip
_HEADER = (
    "# Made from an answered question. Settings that the question does not have (max_num_seqs,\n"
    "# total_training_steps) are those of {source}; see what else should be other.\n"
)


def study_files(study: Study, question: Question) -> dict[str, str]:
    """Texts by path. ``check_study`` accepts them where the study's pool is recorded.

    Raises ``ServiceError`` for limits other than the study's, under which its pool was not measured.
    """
    rules = protocols.rules(study)
    own = (rules.device_capacity_mib, rules.memory_margin_limit_mib)
    asked = (question.capacity_mib or own[0], question.margin_mib or own[1])
    if own != asked:
        raise ServiceError(
            f"the pool was measured at {own[1]:,} of {own[0]:,} MiB; a study at {asked[1]:,} of {asked[0]:,} "
            "MiB needs a pool of its own"
        )
    template = study.configurations.first() or Configuration.objects.filter(pool=study.pool).first()
    if template is None or study.pool is None:
        raise ServiceError(f"study {study.slug} has no configuration to take the other settings from")
    files = {
        "study.yaml": _HEADER.format(source=template.configuration_id)
        + _yaml(_study(study, question, template)),
        "protocol.yaml": _yaml(_protocol(study)),
        "configurations.csv": _configurations(question, template),
    }
    if question.config:
        files[f"models/{OWN_FOLDER}/config.json"] = question.config.decode("utf-8", "replace")
    return files


def _study(study: Study, question: Question, template: Configuration) -> dict[str, Any]:
    pool = study.pool
    assert pool is not None
    document: dict[str, Any] = {
        "slug": f"{study.slug[:80]}-question",
        "title": f"Does {question.model.model_id} fit?"[:200],
        "question": "Does this setting stay within the margin, as the methods say?",
        "pool": pool.slug,
        "accelerator": template.accelerator,
    }
    if question.config:
        document["models"] = {
            OWN_FOLDER: {
                "model_id": question.model.model_id,
                "family": question.model.family,
                "lora_rank": question.lora_rank,
            }
        }
    return document | {"schedule": {"order_seed": 1, "devices": int(question.values["gpu_count"])}}


def _protocol(study: Study) -> dict[str, Any]:
    effective = in_own_words(protocols.effective_protocol(study))
    kept = (*_KEPT, *(method.protocol_key for method in method_classes()))
    document: dict[str, Any] = {"protocol_version": "question-1.0"}
    document |= {key: effective[key] for key in kept if key in effective}
    cap = document.pop("resource_cap", None)
    if isinstance(cap, Mapping) and (
        rules := {key: cap[key] for key in ("retries", "requeue") if key in cap}
    ):
        document["resource_cap"] = rules
    return document


def _configurations(question: Question, template: Configuration) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(REQUIRED)
    values = {name: str(getattr(template, name)) for name in SHAPE} | dict(question.values)
    name = question.model.model_id.rpartition("/")[2].lower().replace(" ", "-")
    values |= {
        "configuration_id": f"{name}-{TARGET}",
        "model": OWN_FOLDER if question.config else question.model.model_id,
    }
    writer.writerow([values[name] for name in REQUIRED])
    return out.getvalue()


class _Dumper(yaml.SafeDumper):
    """Writes every value out: the reader takes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
