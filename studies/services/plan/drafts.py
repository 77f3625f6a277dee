"""Adding configurations and seed slots to a plan that came in parts. One that was frozen or sealed stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models

from studies.estimation.errors import EstimationError
from studies.estimation.volumes import startup_budget
from studies.models import Attempt, Configuration, NonLaunch, Protocol, Refusal, Seal, SeedSlot, Study
from studies.models.predictions import MADE_HERE
from studies.services.adding import add_or_find
from studies.services.errors import ServiceError, UploadConflict, UploadProblem, UploadRefused
from studies.services.plan.pools import architectures, settings_of
from studies.services.refusals import refusals_kept


class NotADraft(ServiceError):
    """The study's plan can no longer be added to."""


def require_draft(study: Study) -> None:
    """Raise ``NotADraft`` if the study was frozen here with its plan, is sealed, or has been launched."""
    if Protocol.objects.filter(study=study, source_path=MADE_HERE).exists():
        raise NotADraft(
            f"study {study.slug} was frozen with its plan, so nothing can be added to it; "
            "plan more in a study that follows it"
        )
    if Seal.objects.filter(study=study).exists():
        raise NotADraft(f"study {study.slug} is sealed, so nothing can be added to its plan")
    if Attempt.objects.filter(study=study).exists() or NonLaunch.objects.filter(study=study).exists():
        raise NotADraft(f"study {study.slug} has been launched, so nothing can be added to its plan")


@refusals_kept(Refusal.What.PLAN, NotADraft, UploadConflict)
def add_configurations(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Configuration, bool]]:
    """Record planned configurations, all or none. The same again is found, other content is refused.

    Raises ``NotADraft``, ``UploadConflict``, or ``UploadRefused`` for settings that fit no device layout.
    """
    wanted = [Configuration(study=study, **row) for row in rows]
    known = architectures(study.pool) if study.pool else {}
    problems = []
    for index, configuration in enumerate(wanted):
        try:
            settings = settings_of(configuration)
            if settings.gpu_count % settings.rollout_tp_size:
                raise EstimationError(
                    settings.configuration_id, "rollout_tp_size", settings.rollout_tp_size,
                    f"a divisor of gpu_count {settings.gpu_count}",
                )  # fmt: skip
            if settings.model_id in known:
                startup_budget(settings, known[settings.model_id])
            elif known:
                raise EstimationError(
                    settings.configuration_id, "model_id", settings.model_id,
                    f"a model whose architecture and family the pool holds: {', '.join(sorted(known))}",
                )  # fmt: skip
        except EstimationError as error:
            problems.append(UploadProblem(index, error.field, str(error)))
    if problems:
        raise UploadRefused(problems)
    return _add(study, wanted, "configuration_id", Configuration.objects.filter(study=study))


@refusals_kept(Refusal.What.PLAN, NotADraft, UploadConflict)
def add_slots(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[tuple[SeedSlot, bool]]:
    """Record planned slots, all or none; ``configuration`` is a configuration's id.

    Raises ``NotADraft``, ``UploadConflict``, or ``UploadRefused``: an unknown configuration, a seed that the
    protocol does not plan, or one slot too many.
    """
    known = {row.configuration_id: row for row in study.configurations.all()}
    protocol = study.protocols.first()
    seeds = protocol.document.get("evaluation_seeds") if protocol else None
    wanted, problems = [], []
    for index, row in enumerate(rows):
        configuration = known.get(row["configuration"])
        if configuration is None:
            problems.append(
                UploadProblem(
                    index, "configuration", f"{row['configuration']!r} is no configuration of {study.slug}"
                )
            )
            continue
        if isinstance(seeds, list) and row["seed"] not in seeds:
            problems.append(
                UploadProblem(index, "seed", f"{row['seed']} is not planned, expected one of {seeds}")
            )
        wanted.append(SeedSlot(study=study, **{**row, "configuration": configuration}))
    problems += _clashes(study, wanted)
    if problems:
        raise UploadRefused(problems)
    return _add(study, wanted, "experiment_id", SeedSlot.objects.filter(study=study))


def _clashes(study: Study, wanted: Sequence[SeedSlot]) -> list[UploadProblem]:
    """Slots that ask for a seed twice."""
    planned: dict[str, dict[int, str]] = {}
    for slot in SeedSlot.objects.filter(study=study).select_related("configuration"):
        planned.setdefault(slot.configuration.configuration_id, {})[slot.seed] = slot.experiment_id
    problems = []
    for index, slot in enumerate(wanted):
        seeds = planned.setdefault(slot.configuration.configuration_id, {})
        if seeds.setdefault(slot.seed, slot.experiment_id) != slot.experiment_id:
            problems.append(
                UploadProblem(index, "seed", f"{slot.seed} is planned already, as {seeds[slot.seed]}")
            )
    return problems


def _add(study: Study, wanted: Sequence[Any], key: str, recorded: models.QuerySet) -> list[tuple[Any, bool]]:
    return add_or_find(study.stream, wanted, key, recorded, lambda: require_draft(study))
