"""A synthetic study of any size on the bundled pool, for lists that must not slow down."""

from __future__ import annotations

from rlvram_site.ledger.chain import record_all
from studies.models import Attempt, Configuration, Prediction, PredictionSet, Protocol, SeedSlot, Study

SEEDS = (151, 152, 153)
METHODS = ("donor_copy", "component_regression", "logistic")


def make_large_study(number: int, slug: str) -> Study:
    """``number`` planned configurations; every third completed, every third failed, the rest unresolved.

    Needs the bundled samples: protocol and settings are those of its first study.
    """
    model = Study.objects.get(slug="estimation")
    base = Protocol.objects.get(study=model)
    study = Study(
        slug=slug, title=f"Study of {number}", question="How large may a panel be?", pool=model.pool
    )
    study.save()
    names = [f"{slug}-{place:04}" for place in range(number)]
    planned = {
        "target_configuration_ids": names,
        "target_configurations": number,
        "planned_processes": number * len(SEEDS),
        "planned_pairs": number * len(SEEDS) // 2,
    }
    document = {**base.document, **planned}
    Protocol(
        study=study, version="large", sha256="b" * 64, source_path="large.json", frozen_at=base.frozen_at,
        document=document,
    ).save()  # fmt: skip
    settings = _settings(model.configurations.first())
    configurations = [
        Configuration(
            **{**settings, "study": study, "configuration_id": name, "case_id": f"{slug}-case-{place // 4}"},
        )
        for place, name in enumerate(names)
    ]
    record_all(configurations)
    slots = [
        SeedSlot(
            study=study, configuration=item, seed=seed, position=place * 3 + offset,
            experiment_id=f"{item.configuration_id}-s{seed}",
        )
        for place, item in enumerate(configurations)
        for offset, seed in enumerate(SEEDS)
    ]  # fmt: skip
    record_all(slots)
    record_all([_attempt(study, slot, place // 3) for place, slot in enumerate(slots)])
    prediction_set = PredictionSet(study=study, kind=PredictionSet.Kind.PANEL)
    prediction_set.save()
    record_all(
        Prediction(
            study=study, prediction_set=prediction_set, configuration=item, method=method,
            label="within_margin" if (place + offset) % 2 else "memory_failure",
            peak_mib=None if method == "logistic" else 30000.0 + place,
            guard_applicable=True, guard_sum_mib=35000.0, guard_predicts_failure=False,
        )
        for place, item in enumerate(configurations)
        for offset, method in enumerate(METHODS)
    )  # fmt: skip
    return study


def _settings(configuration: Configuration) -> dict:
    skipped = {"id", "recorded_at", "pool", "study"}
    return {
        field.name: getattr(configuration, field.name)
        for field in Configuration._meta.concrete_fields
        if field.name not in skipped
    }


def _attempt(study: Study, slot: SeedSlot, place: int) -> Attempt:
    outcome = ("completed", "memory_failure", "unresolved")[place % 3]
    return Attempt(
        study=study, slot=slot, invocation_id=f"{slot.experiment_id}-j1", outcome=outcome, origin="declared",
        source="test", peak_mib=30000.0 + place if outcome == "completed" else None,
        reason="host memory exhausted" if outcome == "unresolved" else "",
    )  # fmt: skip
