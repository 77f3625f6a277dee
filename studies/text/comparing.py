"""Two to four studies, prediction sets, configurations or attempts side by side, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlvram_site.templatetags.display import NOTHING, gpu_hours, mib, mib_margin
from studies.models import Attempt, Configuration, CostTotal, Prediction, PredictionSet, Study
from studies.services.errors import UNREADABLE
from studies.services.life import life
from studies.services.outcomes.evidence_files import files_of_attempt
from studies.services.predictions.recorded import in_method_order
from studies.services.scores.costs import panel_cost
from studies.services.scores.panel_lines import PanelNumbers, counted_approvals, panel_numbers
from studies.text.settings import NAMES, written
from studies.text.words import label_words, method_words, sentence, set_words

DIGITS = 18  # of a number that the database can hold
FEWEST, MOST = 2, 4
"""How many things are compared at once."""


class UnknownItem(ValueError):
    """Something to compare that is not here; says what was expected."""


@dataclass(frozen=True)
class Side:
    """One thing: its key in an address, its title, its page, and its values by name.

    ``attempt`` and ``configuration`` are the records of a side that is, or belongs to, one.
    """

    key: str
    title: str
    address: str
    values: Mapping[str, str]
    attempt: Attempt | None = None
    configuration: Configuration | None = None


@dataclass(frozen=True)
class Row:
    """One value of every side, a dash where a side has none."""

    name: str
    values: Sequence[str]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def rows(sides: Sequence[Side]) -> list[Row]:
    """Every value that any side has, those that differ first, otherwise in the sides' own order."""
    names = dict.fromkeys(name for side in sides for name in side.values)
    found = [Row(name, [side.values.get(name) or NOTHING for side in sides]) for name in names]
    return sorted(found, key=lambda row: not row.differs)


def sides(kind: str, keys: Sequence[str]) -> list[Side]:
    """These things of one kind, in the order given. Raises ``UnknownItem`` for one that is not here."""
    return [_READERS[kind](key) for key in keys]


def _study(key: str) -> Side:
    study = Study.objects.select_related("pool", "parent").filter(slug=key).first()
    if study is None:
        raise UnknownItem(f"There is no study “{key}”; expected the short name in its address.")
    values = {"Question": study.question, "Follows": study.parent.title if study.parent else ""}
    try:
        values |= _panel_values(panel_numbers(study)) | {"Stage": sentence(life(study).stage)}
    except UNREADABLE as error:
        values["Not readable yet"] = str(error)
    scopes = (CostTotal.Scope.TASK, CostTotal.Scope.RESERVATION, CostTotal.Scope.WHOLE)
    for cost in panel_cost(study):
        if cost.scope in scopes and cost.known_records:
            values[sentence(cost.scope.label)] = gpu_hours(cost.known_gpu_seconds)
    return Side(key, study.title, study.get_absolute_url(), values)


def _panel_values(panel: PanelNumbers) -> dict[str, str]:
    rules = panel.rules
    values = {
        "Configurations resolved": f"{panel.resolved} of {panel.planned}",
        **{sentence(label_words(label)): str(number) for label, number in panel.labels.items()},
        "Seeds": ", ".join(map(str, rules.evaluation_seeds or ())),
        "Margin": mib(panel.margin_mib),
        "Capacity": mib(panel.capacity_mib),
        "Sealed": f"{panel.seal.sealed_at:%Y-%m-%d %H:%M:%S} UTC" if panel.seal else "not sealed",
    }
    for method, tallies in panel.tallies.items():
        counts = counted_approvals(tallies)
        approved = counts["full_panel_approved_configurations"]
        unscored = counts["unscored_approved_configurations"]
        values[f"Approved by {method_words(method)}"] = (
            f"{approved} of {panel.planned}, {unscored} unscored" if approved else f"0 of {panel.planned}"
        )
    return values


def _configuration(key: str) -> Side:
    owner, _, name = key.partition("/")
    rows_ = Configuration.objects.select_related("study", "pool", "pool_outcome", "projection")
    found = rows_.filter(configuration_id=name, study__slug=owner).first()
    found = found or rows_.filter(configuration_id=name, pool__slug=owner).first()
    if found is None:
        raise UnknownItem(
            f"There is no configuration “{key}”; expected STUDY/CONFIGURATION or POOL/CONFIGURATION."
        )
    values = {words: written(getattr(found, column)) for column, words in NAMES.items()}
    values |= _observed(found)
    for row in found.predictions.filter(prediction_set__kind=PredictionSet.Kind.PANEL).order_by("pk"):
        values[f"Predicted by {method_words(row.method)}"] = _predicted(row, found.margin_limit_mib)
    return Side(key, found.configuration_id, found.get_absolute_url(), values, configuration=found)


def _observed(found: Configuration) -> dict[str, str]:
    outcome, projection = getattr(found, "pool_outcome", None), getattr(found, "projection", None)
    if outcome is not None:
        label, peak = outcome.observed_state, outcome.max_completed_run_peak_mib
    elif projection is not None:
        label, peak = projection.state, projection.completed_peak_mib
    else:
        return {}
    return {"Observed": label_words(label), "Completed peak": mib_margin(peak, found.margin_limit_mib)}


def _predicted(row: Prediction, margin_mib: float) -> str:
    peak = f", {mib_margin(row.peak_mib, margin_mib)}" if row.peak_mib is not None else ""
    return f"{label_words(row.label)}{peak}"


def _attempt(key: str) -> Side:
    owner, _, name = key.partition("/")
    rows_ = Attempt.objects.select_related("study", "slot__configuration__study", "slot__configuration__pool")
    found = rows_.prefetch_related(files_of_attempt()).filter(study__slug=owner, invocation_id=name).first()
    if found is None:
        raise UnknownItem(f"There is no attempt “{key}”; expected STUDY/INVOCATION.")
    configuration = found.slot.configuration if found.slot else None
    values = {
        "Configuration": configuration.configuration_id if configuration else "",
        "Seed": str(found.slot.seed) if found.slot else "",
        "Outcome": found.get_outcome_display(),
        "Reason": found.reason,
        "Diagnosis": found.diagnosis,
        "Stage": found.stage,
        "Completed peak": mib(found.peak_mib),
        "Largest sample": mib(found.observed_peak_mib),
        "Started": f"{found.started_at:%Y-%m-%d %H:%M:%S} UTC" if found.started_at else "",
        "Elapsed": f"{found.elapsed_seconds:,.1f} s" if found.elapsed_seconds is not None else "",
        "GPUs": str(found.task_gpu_count or ""),
        "Exit code": "" if found.exit_code is None else str(found.exit_code),
        "Job": found.job_id,
        "Source commit": found.execution_commit,
        "Origin": found.get_origin_display(),
        "Rests on": found.source,
    }
    address = f"{found.study.get_absolute_url()}attempts/{found.invocation_id}/"
    return Side(key, found.invocation_id, address, values, found, configuration)


def _set(key: str) -> Side:
    owner, _, number = key.partition("/")
    rows_ = PredictionSet.objects.select_related("study")
    known = number.isascii() and number.isdecimal() and len(number) < DIGITS
    found = rows_.filter(study__slug=owner, pk=int(number)).first() if known else None
    if found is None:
        raise UnknownItem(f"There is no prediction set “{key}”; expected STUDY/NUMBER as its page names it.")
    origins = found.origins if found.inherits_id else {}
    predictions = list(found.predictions.select_related("configuration").order_by("configuration", "pk"))
    order = in_method_order(row.method for row in predictions)
    values = {}
    for row in sorted(predictions, key=lambda item: order.index(item.method)):
        name = row.configuration.configuration_id
        # A follow-up's target stands beside the one whose prediction it inherits.
        values[f"{origins.get(name, name)}: {method_words(row.method)}"] = _predicted(
            row, row.configuration.margin_limit_mib
        )
    development = found.kind == PredictionSet.Kind.DEVELOPMENT
    title = set_words(found.fold, found.study.title, development=development)
    return Side(key, title, f"{found.study.get_absolute_url()}methods/", values)


_READERS: Mapping[str, Callable[[str], Side]] = {
    "study": _study,
    "set": _set,
    "configuration": _configuration,
    "attempt": _attempt,
}
KINDS = tuple(_READERS)
