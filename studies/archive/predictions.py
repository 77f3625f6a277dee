"""What a study predicted and sealed: folds, final fit, predictions and the seal, read into records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.facts import facts_form
from studies.archive.layout import Documents
from studies.archive.plans import Plan
from studies.archive.records import Record
from studies.estimation.errors import EstimationError
from studies.estimation.methods import Prediction
from studies.estimation.panel import by_method

PANEL = "panel"
FINAL = "final"


def read_predictions(values: Any, path: str) -> list[Prediction]:
    """A list of predictions under the archive's key names."""
    if not isinstance(values, list):
        raise ArchiveError(f"{path}: a {type(values).__name__}, expected a list of predictions")
    found = []
    for index, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise ArchiveError(f"{path}[{index}]: {value!r}, expected an object")
        try:
            found.append(Prediction.from_record(value))
        except EstimationError as error:
            raise ArchiveError(f"{path}[{index}]: {error}") from None
    return found


def prediction_records(root: Root, documents: Documents, plan: Plan, pool_ids: set[str]) -> list[Record]:
    """Folds and final fit (or what is inherited), the panel's predictions, and the seal over them."""
    layout = documents.layout
    path = layout.path("predictions.json")
    predictions = read_predictions(root.json(path), path)
    targets = [row.cells["configuration_id"] for row in plan.targets]
    _check_complete(predictions, targets, plan, path)
    records: list[Record] = []
    panel: dict[str, Any] = {
        "kind": "panel",
        "fold": "",
        "fitted_model": None,
        "inherits": None,
        "origins": {},
        "source_sha256": root.sha256(path),
        "source_path": path,
    }
    if plan.rules.inheritance is None:
        records += _folds(root, layout.path("retrospective.json"), pool_ids)
        records.append(_final_fit(root, layout.path("fitted_model.json")))
        panel["fitted_model"] = FINAL
    else:
        panel["inherits"] = f"parent:{PANEL}"
        panel["origins"] = dict(plan.rules.inheritance.prediction_origins)
    records.append(Record("prediction_set", panel))
    records += _predictions(PANEL, predictions, set(targets), pool_ids, path)
    records.append(_seal(root, documents))
    return records


def _check_complete(predictions: Sequence[Prediction], targets: Sequence[str], plan: Plan, path: str) -> None:
    try:
        groups = by_method(predictions, targets)
    except EstimationError as error:
        raise ArchiveError(f"{path}: {error}") from None
    if plan.rules.fitting is not None:
        for method in plan.rules.fitting.methods:
            if method not in groups:
                raise ArchiveError(
                    f"{path}: no predictions of {method}, expected every method of the protocol"
                )
        for method in groups:
            if method not in plan.rules.fitting.methods:
                raise ArchiveError(
                    f"{path}: predictions of {method}, a method that the protocol does not have"
                )


def _folds(root: Root, path: str, pool_ids: set[str]) -> Iterable[Record]:
    retrospective = Document(path, root.document(path))
    environment = retrospective.mapping("numerical_environment")
    folds = retrospective.sub("folds")
    for family in folds.values:
        fold = folds.sub(family)
        yield _fitted_model(
            fold.sub("model"), family, fold.sub("source_cost"), environment, root.sha256(path)
        )
        yield Record(
            "prediction_set",
            {
                "kind": "fold",
                "fold": family,
                "fitted_model": family,
                "inherits": None,
                "origins": {},
                "source_sha256": root.sha256(path),
                "source_path": path,
            },
        )
        place = f"{fold.path} predictions"
        predictions = read_predictions(fold.sequence("predictions"), place)
        yield from _predictions(family, predictions, set(), pool_ids, place)


def _final_fit(root: Root, path: str) -> Record:
    model = Document(path, root.document(path))
    rest = {
        key: value
        for key, value in model.values.items()
        if key not in ("numerical_environment", "source_cost")
    }
    return _fitted_model(
        Document(path, rest),
        "",
        model.sub("source_cost"),
        model.mapping("numerical_environment"),
        root.sha256(path),
    )


def _fitted_model(
    model: Document, fold: str, cost: Document, environment: dict[str, Any], sha256: str
) -> Record:
    return Record(
        "fitted_model",
        {
            "fold": fold,
            "parameters": model.values | {"source_cost": facts_form(cost.values)},
            "environment": environment,
            "source_sha256": sha256,
        },
    )


def _predictions(
    owner: str, predictions: Iterable[Prediction], targets: set[str], pool_ids: set[str], path: str
) -> Iterable[Record]:
    for item in predictions:
        for field, name in (
            ("configuration_id", item.configuration_id),
            ("donor", item.donor_configuration_id),
        ):
            known = pool_ids if field == "donor" or not targets else targets
            if name is not None and name not in known:
                raise ArchiveError(
                    f"{path}: {item.method} has {field} {name!r}, expected a known configuration"
                )
        donor, budget = item.donor_configuration_id, item.startup_budget
        yield Record(
            "prediction",
            {
                "prediction_set": owner,
                "configuration": item.configuration_id if targets else f"pool:{item.configuration_id}",
                "method": item.method,
                "label": item.predicted_state.value,
                "peak_mib": item.predicted_peak_mib,
                "donor": None if donor is None else f"pool:{donor}",
                "donor_gpu_count_matches": item.donor_gpu_count_matches,
                "peak_only_label": item.peak_only_predicted_state.value
                if item.peak_only_predicted_state
                else "",
                "guard_changed_label": item.startup_guard_changed_state,
                "guard_applicable": budget.applicable,
                "guard_sum_mib": budget.budget_plus_actor_mib,
                "guard_predicts_failure": budget.predicts_failure,
            },
        )


def _seal(root: Root, documents: Documents) -> Record:
    seal, layout = documents.seal, documents.layout
    return Record(
        "seal",
        {
            "prediction_set": PANEL,
            "sha256": root.sha256(seal.path),
            "source_path": seal.path,
            "sealed_at": seal.moment("frozen_at_utc"),
            "protocol_sha256": seal.text("protocol_sha256"),
            "amendments_sha256": seal.mapping("amendments_sha256", optional=True),
            "input_sha256": seal.mapping("effective_input_sha256", optional=True),
            "output_sha256": seal.mapping("files_sha256"),
            "parent_seal_sha256": seal.text("original_prediction_seal_sha256", optional=not layout.parent),
            "environment": seal.mapping("numerical_environment", optional=True),
            "fit_seconds": seal.number("fit_and_predict_cpu_wall_seconds", optional=True),
        },
    )
