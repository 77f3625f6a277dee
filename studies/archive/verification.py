"""An archive checked against itself: hashes, effective protocol, and everything that can be computed again.

Prospective outcomes are never read. Files under ``results/`` are hashed as bytes where a manifest names
them, and nothing else is done with them; the execution history is not opened at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rlvram_site.ledger.canonical import digest
from studies.archive import hashes
from studies.archive.documents import Root
from studies.archive.environment import recorded_versions
from studies.archive.errors import ArchiveError
from studies.archive.facts import rules_form
from studies.archive.hashes import CheckedFile
from studies.archive.inputs import Inputs, read_inputs
from studies.archive.layout import LAYOUTS, Layout, check_hashes, read_documents
from studies.archive.loading import differences
from studies.archive.plans import Plan, effective_document, plan_records, read_plan, refuse_pool_targets
from studies.archive.pools import read_pool_rows
from studies.archive.predictions import prediction_records, read_predictions
from studies.archive.records import Stream
from studies.estimation.compare import ATOL, RTOL, Comparison, compare
from studies.estimation.costs import source_cost
from studies.estimation.errors import EstimationError
from studies.estimation.fit_comparison import (
    CLASSIFIER_KEYS,
    PROSE_KEYS,
    compare_classifiers,
    compare_facts,
    fit_of,
)
from studies.estimation.payload import to_payload
from studies.estimation.refit_worker import refit
from studies.estimation.study import inherit, recompute_retrospective, restore
from studies.models import Study

FORMAT, VERSION = "rlvram-verification", 1
ENVIRONMENT = "numerical_environment"
SHOWN_MISMATCHES = 20
Refit = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass
class Check:
    """One comparison. ``decides`` is False for a deviation that is reported and does not fail the run."""

    name: str
    passed: bool
    decides: bool = True
    compared: int = 0
    largest_deviation: float = 0.0
    largest_deviation_path: str | None = None
    mismatches: list[str] = field(default_factory=list)
    note: str = ""


@dataclass
class VerificationReport:
    """What a verification found; ``to_document`` is what the output file holds."""

    study: str
    checks: list[Check] = field(default_factory=list)
    files: list[CheckedFile] = field(default_factory=list)
    effective_protocol_sha256: str = ""
    recorded_versions: dict[str, str] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def passed(self) -> bool:
        """No problem, and every deciding check passed."""
        return (
            not self.problem
            and bool(self.checks)
            and all(item.passed for item in self.checks if item.decides)
        )

    @property
    def worst(self) -> Check | None:
        """The deciding check with the largest numerical deviation."""
        return max(
            (item for item in self.checks if item.decides),
            key=lambda item: item.largest_deviation,
            default=None,
        )

    def line(self) -> str:
        """The result in one line that can be searched for."""
        if self.problem:
            return f"verify_study {self.study}: failed; {self.problem}"
        failed = [item for item in self.checks if item.decides and not item.passed]
        counts = ", ".join(f"{count} {state}" for state, count in hashes.counts(self.files).items())
        parts = [
            f"verify_study {self.study}: {'failed' if failed else 'passed'}",
            f"hashes: {counts}",
            f"{len(self.checks)} checks, {sum(item.compared for item in self.checks)} values compared",
        ]
        if self.worst is not None:
            largest, path = self.worst.largest_deviation, self.worst.largest_deviation_path
            where = f" at {path}" if path else ""
            parts.append(f"largest deviation {largest:.3g}{where} (rtol {RTOL:g}, atol {ATOL:g})")
        parts += [f"{item.name}: {'; '.join(item.mismatches[:1])}" for item in failed]
        parts += [item.note for item in self.checks if item.note]
        return "; ".join(parts)

    def to_document(self) -> dict[str, Any]:
        """Everything as JSON."""
        worst = self.worst
        return {
            "format": FORMAT,
            "version": VERSION,
            "study": self.study,
            "passed": self.passed,
            "problem": self.problem,
            "tolerance": {"rtol": RTOL, "atol": ATOL},
            "largest_deviation": worst.largest_deviation if worst else None,
            "largest_deviation_path": worst.largest_deviation_path if worst else None,
            "effective_protocol_sha256": self.effective_protocol_sha256,
            "hashes": hashes.counts(self.files),
            "files": [
                {
                    "document": item.declaration.document,
                    "path": item.declaration.path,
                    "sha256": item.declaration.sha256,
                    "state": item.state,
                }
                for item in self.files
            ],
            "checks": [asdict(item) for item in self.checks],
            "recorded_versions": self.recorded_versions,
            "environment": self.environment,
        }


def verify(
    root: Root, layout: Layout, *, fresh: Refit | None = None, refits: bool = False
) -> VerificationReport:
    """Verify one study of an archive.

    ``refits`` asks for a fresh fit: by ``fresh`` if given (the recorded environment, where everything must
    agree), else in this process (where the classifier's deviation under other library versions is reported).
    A study that inherits its predictions is compared with its parent's; then the parent's fits are refitted.
    """
    report = VerificationReport(layout.slug)
    try:
        _verify(root, layout, report, fresh, refits)
    except (ArchiveError, EstimationError) as error:
        report.problem = str(error)
    return report


def _verify(
    root: Root, layout: Layout, report: VerificationReport, fresh: Refit | None, refits: bool
) -> None:
    documents = read_documents(root, layout, with_history=False)
    report.files = check_hashes(root, documents)
    plan = read_plan(root, documents)
    report.effective_protocol_sha256 = digest(rules_form(effective_document(root, documents)))
    configurations, _ = read_pool_rows(root)
    ids = {row.cells["configuration_id"] for row in configurations}
    refuse_pool_targets(plan, ids)
    records = plan_records(root, documents, plan) + prediction_records(root, documents, plan, ids)
    if plan.rules.fitting is not None:
        inputs = read_inputs(root, layout, plan)
        report.checks += _stored(inputs)
        if refits:
            _refit(inputs, report, fresh, layout)
    else:
        report.checks.append(_inherited(root, layout, plan))
        if refits:
            parent = LAYOUTS[layout.parent]
            inputs = read_inputs(
                root, parent, read_plan(root, read_documents(root, parent, with_history=False))
            )
            _refit(inputs, report, fresh, parent)
    study = Study.objects.filter(slug=layout.slug).first()
    if study is not None:
        report.checks.append(_recorded(Stream(layout.slug, records), study))


def _check(name: str, result: Comparison, *, decides: bool = True, note: str = "") -> Check:
    return Check(
        name=name,
        passed=result.passed,
        decides=decides,
        compared=result.compared,
        largest_deviation=result.largest_deviation,
        largest_deviation_path=result.largest_deviation_path,
        mismatches=[str(item) for item in result.mismatches[:SHOWN_MISMATCHES]],
        note=note,
    )


def _stored(inputs: Inputs) -> list[Check]:
    """Predictions, scores and costs computed again from the stored fits."""
    rules = inputs.plan.rules
    folds = recompute_retrospective(inputs.retrospective, inputs.pool, rules)
    fitted = restore(inputs.fitted, inputs.pool, rules)
    predictions = fitted.predict(inputs.targets)
    cost = source_cost(inputs.pool, predictions)
    return [
        _check("folds from their stored fits", _compare(inputs.retrospective, folds)),
        _check(
            "predictions from the stored fit",
            _compare(inputs.predictions, [x.to_record() for x in predictions]),
        ),
        _check("cost of the evidence", _compare(inputs.fitted.get("source_cost"), cost)),
    ]


def _compare(expected: Any, found: Any, ignore: tuple[str, ...] = ()) -> Comparison:
    return compare_facts(expected, found, (ENVIRONMENT, *ignore))


def _inherited(root: Root, layout: Layout, plan: Plan) -> Check:
    path, parent_path = layout.path("predictions.json"), LAYOUTS[layout.parent].path("predictions.json")
    parents = read_predictions(root.json(parent_path), parent_path)
    expected = [item.to_record() for item in inherit(parents, plan.rules)]
    return _check("predictions inherited unchanged", compare(root.json(path), expected, 0.0, 0.0, PROSE_KEYS))


def _refit(inputs: Inputs, report: VerificationReport, fresh: Refit | None, layout: Layout) -> None:
    """A fresh fit against the archive: everything but the classifier's parameters, then those."""
    recorded = inputs.fitted.get(ENVIRONMENT)
    place = layout.path("fitted_model.json")
    report.recorded_versions = recorded_versions(recorded if isinstance(recorded, Mapping) else {}, place)
    # Through JSON, as a worker in another process gets it.
    payload = json.loads(json.dumps(to_payload(inputs.pool, inputs.plan.rules, inputs.targets)))
    result = (fresh or refit)(payload)
    report.environment = result[ENVIRONMENT]
    expected = {
        "retrospective": inputs.retrospective,
        "fitted_model": inputs.fitted,
        "predictions": inputs.predictions,
    }
    found = {name: result[name] for name in expected}
    report.checks.append(
        _check("fresh fit, without the classifier's parameters", _compare(expected, found, CLASSIFIER_KEYS))
    )
    classifiers = compare_classifiers(fit_of(expected)["models"], fit_of(found)["models"])
    same = all(report.environment.get(name) == version for name, version in recorded_keys(recorded).items())
    decides = same or fresh is not None
    note = (
        ""
        if decides or classifiers.parameters.passed
        else _version_note(
            classifiers.largest_weight_deviation, expected, found, report.environment, recorded
        )
    )
    report.checks.append(
        _check("fresh fit, classifier's parameters", classifiers.parameters, decides=decides, note=note)
    )


def recorded_keys(environment: Any) -> dict[str, str]:
    """The library versions of a ``numerical_environment``, by its own key names."""
    return {name: environment[name] for name in ("numpy", "scipy", "scikit_learn")}


def _version_note(
    deviation: float, expected: Mapping[str, Any], found: Mapping[str, Any],
    environment: Mapping[str, Any], recorded: Any,
) -> str:  # fmt: skip
    final = (expected["fitted_model"], found["fitted_model"])
    iterations = " and ".join(str(model.get("classifier_iterations")) for model in final)
    return (
        f"library-version deviation: classifier parameters differ by up to {deviation:.3g} "
        f"(iterations of the final fit {iterations}) under {_versions(environment)}; "
        f"--recorded-environment reproduces them with {_versions(recorded_keys(recorded))}"
    )


def _versions(environment: Mapping[str, Any]) -> str:
    names = (("numpy", "numpy"), ("scipy", "scipy"), ("scikit_learn", "scikit-learn"))
    return ", ".join(f"{word} {environment.get(name)}" for name, word in names)


def _recorded(stream: Stream, study: Study) -> Check:
    """Plan, predictions and seal as the database has them; outcomes are left unread on both sides."""
    found = list(differences(stream, study))
    return Check(
        "plan, predictions and seal as recorded here",
        not found,
        compared=len(stream.records),
        mismatches=found[:SHOWN_MISMATCHES],
    )
