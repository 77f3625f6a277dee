"""Writes the bundled facts in the layout of a study archive, with hashes that hold.

Tests need archives that can be damaged and that are there in a plain clone. The numbers are the bundle's; the
documents are ours, so their hashes are other ones than the original's.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from studies.archive import columns
from studies.archive.bundle import read_bundle
from studies.archive.records import Stream
from tests.databases import STUDIES

SAMPLE = STUDIES
ESTIMATION, HOST = "benchmark/estimation", "benchmark/host_capacity"


class Archive:
    """An archive on the disk that can be changed and given fitting hashes again."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __fspath__(self) -> str:
        return str(self.root)

    def path(self, name: str) -> Path:
        return self.root / name

    def text(self, name: str) -> str:
        return self.path(name).read_text(encoding="utf-8")

    def replace(self, name: str, old: str, new: str, count: int = 1) -> None:
        """Change a text that must be there."""
        text = self.text(name)
        assert old in text, f"{name} has no {old!r}"
        self.path(name).write_bytes(text.replace(old, new, count).encode())

    def edit_json(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change a document in place; what ``change`` returns replaces it, unless that is None."""
        document = json.loads(self.text(name))
        changed = change(document)
        _write_json(self.path(name), document if changed is None else changed)

    def edit_table(self, name: str, change: Callable[[list[dict[str, str]]], Any]) -> None:
        """Change a table's rows in place; what ``change`` returns replaces them, unless that is None."""
        with self.path(name).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        changed = change(rows)
        rows = rows if changed is None else changed
        _write_table(self.path(name), list(rows[0]), rows)

    def sha256(self, name: str) -> str:
        return hashlib.sha256(self.path(name).read_bytes()).hexdigest()

    def rehash(self) -> Archive:
        """Let every document name the hashes of what is there now."""
        for folder, seal in ((ESTIMATION, "prediction_freeze.json"), (HOST, "study_freeze.json")):
            if not self.path(folder).is_dir():
                continue
            self._rehash_plan(folder)
            self._rehash_seal(f"{folder}/{seal}", folder)
            self._rehash_history(folder, seal)
            self._rehash_manifest(folder)
        return self

    def _named(self, document: dict[str, Any], key: str, folder: str = "") -> None:
        for name in document.get(key, {}):
            if self.path(folder + name).is_file():
                document[key][name] = self.sha256(folder + name)

    def _single(self, document: dict[str, Any], key: str, name: str) -> None:
        if key in document and self.path(name).is_file():
            document[key] = self.sha256(name)

    def _parents(self, document: dict[str, Any]) -> None:
        self._single(document, "original_protocol_sha256", f"{ESTIMATION}/protocol.json")
        self._single(document, "original_prediction_seal_sha256", f"{ESTIMATION}/prediction_freeze.json")

    def _rehash_plan(self, folder: str) -> None:
        def protocol(document):
            self._named(document, "input_sha256")
            self._parents(document)

        def amendment(document):
            self._single(document, "base_protocol_sha256", f"{folder}/protocol.json")
            self._named(document, "unchanged_inputs_verified_sha256")

        self.edit_json(f"{folder}/protocol.json", protocol)
        for path in sorted(self.path(folder).glob("amendment-*.json")):
            self.edit_json(f"{folder}/{path.name}", amendment)

    def _rehash_seal(self, name: str, folder: str) -> None:
        def seal(document):
            self._single(document, "protocol_sha256", f"{folder}/protocol.json")
            self._named(document, "effective_input_sha256")
            self._named(document, "amendments_sha256", f"{folder}/")
            self._named(document, "files_sha256", f"{folder}/")
            self._parents(document)

        self.edit_json(name, seal)

    def _rehash_history(self, folder: str, seal: str) -> None:
        def history(document):
            self._parents(document)
            for key, name in (
                ("prediction_seal_sha256", seal), ("study_freeze_sha256", seal),
                ("protocol_sha256", "protocol.json"), ("matrix_sha256", "matrix.csv"),
            ):  # fmt: skip
                self._single(document, key, f"{folder}/{name}")

        self.edit_json(f"{folder}/execution_history.json", history)

    def _rehash_manifest(self, folder: str) -> None:
        results = self.path(f"{folder}/results")
        entries = {
            path.name: {
                "sha256": self.sha256(f"{folder}/results/{path.name}"),
                "size_bytes": path.stat().st_size,
            }
            for path in sorted(results.iterdir())
            if path.name != "output_manifest.json"
        }
        _write_json(results / "output_manifest.json", entries)


def write_archive(root: Path) -> Archive:
    """The bundled pool and both studies as an archive under ``root``."""
    streams = {stream.slug: stream for stream in read_bundle(SAMPLE)}
    archive = Archive(root)
    _write_pool(archive, streams["rlvrambench"])
    _write_study(archive, streams["estimation"], ESTIMATION)
    _write_study(archive, streams["host-capacity"], HOST)
    return archive.rehash()


def fields_of(stream: Stream, kind: str) -> list[dict[str, Any]]:
    """The fields of all records of one kind."""
    return [record.fields for record in stream.records if record.kind == kind]


def _write_pool(archive: Archive, pool: Stream) -> None:
    _write_table(archive.path("benchmark/configurations.csv"), columns.CONFIGURATIONS,
                 map(_configuration, fields_of(pool, "configuration")))  # fmt: skip
    outcomes = [{**item, "configuration_id": item["configuration"]} for item in fields_of(pool, "outcome")]
    _write_table(archive.path("benchmark/outcomes.csv"), columns.OUTCOMES, outcomes)
    models = {item["model_id"]: item for item in fields_of(pool, "architecture")}
    _write_json(archive.path(f"{ESTIMATION}/model_metadata.json"), models)


def _configuration(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "study": fields["source_study"]}


def _write_study(archive: Archive, study: Stream, folder: str) -> None:
    def at(name: str) -> Path:
        return archive.path(f"{folder}/{name}")

    slots = [item["settings"] for item in fields_of(study, "slot")]
    _write_table(
        at("targets.csv"), columns.CONFIGURATIONS, map(_configuration, fields_of(study, "configuration"))
    )
    _write_table(at("matrix.csv"), columns.MATRIX, slots)
    _write_json(at("protocol.json"), fields_of(study, "protocol")[0]["document"])
    for item in fields_of(study, "amendment"):
        document = {
            **item["document"], "base_protocol_sha256": item["base_sha256"],
            "amended_at_utc": item["amended_at"],
            "updates": item["updates"], "reason": "An own reason.",
        }  # fmt: skip
        _write_json(at(f"amendment-{item['number']:02d}.json"), document)
    _write_predictions(at, study)
    _write_history(at, study)
    _write_results(at, study, slots)


def _write_predictions(at: Callable[[str], Path], study: Stream) -> None:
    sets: dict[str, list[dict[str, Any]]] = {}
    for item in fields_of(study, "prediction"):
        sets.setdefault(item["prediction_set"], []).append(_prediction(item))
    _write_json(at("predictions.json"), sets["panel"])
    folds: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    for item in fields_of(study, "fitted_model"):
        parameters, environment = dict(item["parameters"]), item["environment"]
        cost = parameters.pop("source_cost")
        if item["fold"]:
            folds[item["fold"]] = {
                "model": parameters,
                "predictions": sets[item["fold"]],
                "source_cost": cost,
            }
        else:
            _write_json(
                at("fitted_model.json"),
                {**parameters, "source_cost": cost, "numerical_environment": environment},
            )
    if folds:
        for item in fields_of(study, "evaluation"):
            if item["prediction_set"] in folds:
                folds[item["prediction_set"]]["scores"] = item["result"]["scores"]
        _write_json(at("retrospective.json"), {"folds": folds, "numerical_environment": environment})
    seal = fields_of(study, "seal")[0]
    document = {
        "frozen_at_utc": seal["sealed_at"], "protocol_sha256": seal["protocol_sha256"],
        "files_sha256": seal["output_sha256"], "amendments_sha256": seal["amendments_sha256"],
        "effective_input_sha256": seal["input_sha256"], "numerical_environment": seal["environment"],
        "fit_and_predict_cpu_wall_seconds": seal["fit_seconds"],
    }  # fmt: skip
    if seal["parent_seal_sha256"]:
        document["original_prediction_seal_sha256"] = seal["parent_seal_sha256"]
    _write_json(at(seal["source_path"].rsplit("/", 1)[1]), document)


def _prediction(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "configuration_id": item["configuration"].removeprefix("pool:"),
        "donor_configuration_id": item["donor"].removeprefix("pool:") if item["donor"] else None,
        "donor_gpu_count_matches": item["donor_gpu_count_matches"],
        "method": item["method"],
        "peak_only_predicted_state": item["peak_only_label"] or None,
        "predicted_peak_mib": item["peak_mib"],
        "predicted_state": item["label"],
        "startup_budget_diagnostic": {
            "applicable": item["guard_applicable"],
            "budget_plus_actor_mib": item["guard_sum_mib"],
            "predicted_startup_budget_failure": item["guard_predicts_failure"],
        },
        "startup_guard_changed_state": item["guard_changed_label"],
    }


def _write_history(at: Callable[[str], Path], study: Stream) -> None:
    events = {item["kind"]: item["facts"] for item in fields_of(study, "event")}
    document: dict[str, Any] = {"schema_version": 1, "final_outcomes": events["panel_closed"]}
    if "preflight" in events:
        document |= {
            "protocol_sha256": "0" * 64, "matrix_sha256": "0" * 64, "study_freeze_sha256": "0" * 64,
            "original_prediction_seal_sha256": "0" * 64, "preflight": events["preflight"],
            "study_array": events["study_array"], "runtime_change": "The look-up was made exact.",
        }  # fmt: skip
    else:
        document |= {
            "prediction_seal_sha256": "0" * 64, "original_protocol_sha256": "0" * 64,
            "events": [
                _event(item["facts"])
                for item in fields_of(study, "event")
                if item["kind"] not in ("runtime_repair", "panel_closed")
            ],
        }  # fmt: skip
    _write_json(at("execution_history.json"), document)
    commits = {}
    pairs = {item["experiment_id"]: item["pair_id"] for item in fields_of(study, "slot")}
    for item in fields_of(study, "attempt"):
        commits[pairs[item["slot"]]] = item["execution_commit"]
    for item in fields_of(study, "non_launch"):
        commits.setdefault(pairs[item["slot"]], "d" * 40)
    _write_json(at("execution_commits.json"), commits)


def _event(facts: dict[str, Any]) -> dict[str, Any]:
    # A text that is only known by its hash stands for some text.
    return {key: "A text." if isinstance(value, dict) and "text_sha256" in value else value
            for key, value in facts.items()}  # fmt: skip


def _write_results(at: Callable[[str], Path], study: Stream, slots: list[dict[str, str]]) -> None:
    planned = {row["experiment_id"]: row for row in slots}
    commits = json.loads(at("execution_commits.json").read_text())
    rows = [_process(item, planned[item["slot"]], commits, True) for item in fields_of(study, "attempt")]
    rows += [_process(item, planned[item["slot"]], commits, False) for item in fields_of(study, "non_launch")]
    _write_table(at("results/processes.csv"), (*columns.PROCESSES, *columns.PROCESSES_OPTIONAL), rows)
    names = {"gpu_count": "allocation_gpu_count", "whole_gpu_seconds": "whole_allocation_gpu_seconds",
             "batch_gpu_seconds": "batch_step_gpu_seconds",
             "observed_gpu_seconds": "observed_allocation_gpu_seconds",
             "pair_id": "pair_id", "job_id": "job_id", "scheduler_state": "scheduler_state"}  # fmt: skip
    costs: dict[str, Any] = {
        "allocations": [
            {**item["facts"], **{name: item[field] for field, name in names.items()}}
            for item in fields_of(study, "allocation")
        ]
    }
    for item in fields_of(study, "cost_total"):
        costs[item["scope"]] = {
            key: value for key, value in item.items() if key not in ("scope", "source_sha256")
        }
    _write_json(at("results/costs.json"), costs)


def _process(
    item: dict[str, Any], slot: dict[str, str], commits: dict[str, str], launched: bool
) -> dict[str, Any]:
    failed = item.get("outcome") == "memory_failure"
    row = {name: slot.get(name, "") for name in columns.PROCESSES}
    facts = {key: value for key, value in item["facts"].items() if key in columns.PROCESSES}
    return row | facts | {
        "completed": False, "eligible": failed, "launched": launched,
        "state": item.get("outcome", "unresolved"),
        "expected_execution_commit": commits[slot["pair_id"]], "task_gpu_count": slot["gpu_count"],
        "known_memory_failure": failed, "known_margin_exceedance": False, "reason": "",
        "failure_stage": item.get("stage", "not_started"),
        "failure_kind": item["diagnosis"] if failed else item["facts"].get("failure_kind", ""),
        "validation_errors": "[]",
        "invocation_id": item.get("invocation_id", ""), "job_id": item.get("job_id", ""),
        "observed_task_peak_mib": item.get("observed_peak_mib"),
        "invocation_elapsed_seconds": item.get("elapsed_seconds"),
        "task_runtime_seconds": item.get("runtime_seconds"),
        "task_gpu_seconds": item.get("task_gpu_seconds", item["facts"].get("task_gpu_seconds")),
        "invocation_reservation_gpu_seconds": item.get(
            "reserved_gpu_seconds", item["facts"].get("invocation_reservation_gpu_seconds")
        ),
    }  # fmt: skip


def _write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_table(path: Path, names: Iterable[str], rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(names)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow(["" if row[name] is None else row[name] for name in names])
