"""Whether a frozen plan is whole, so that predictions over it can be sealed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols

NAMED = 3
"""Offenders that a sentence names; more are counted."""


def require_complete(study: Study) -> None:
    """Raise ``ServiceError`` with a sentence for each thing that a seal would rest on and that is missing.

    Needed are a frozen protocol, each of its targets with one slot for each seed, no slot or configuration
    beside them, the architectures of their models, and an outcome of each configuration to be fitted on.
    """
    if not study.protocols.exists():
        raise ServiceError(f"study {study.slug} cannot be sealed: its protocol is not frozen yet")
    rules = protocols.rules(study)
    recorded = dict(study.configurations.values_list("configuration_id", "model_id"))
    slots = Counter(study.seedslots.values_list("configuration__configuration_id", "seed"))
    wanted = {(name, seed) for name in rules.target_configuration_ids for seed in rules.evaluation_seeds}
    missing = [
        _sentence("target", set(rules.target_configuration_ids) - set(recorded), "not recorded"),
        _sentence(
            "configuration", set(recorded) - set(rules.target_configuration_ids), "no target of the protocol"
        ),
        _sentence("slot", {f"{name} seed {seed}" for name, seed in wanted - set(slots)}, "not planned"),
        _sentence(
            "slot", {f"{name} seed {seed}" for name, seed in set(slots) - wanted}, "not in the protocol"
        ),
    ]
    if rules.fitting is not None:
        missing += _unfit(study, rules.fitting.source_configuration_ids, set(recorded.values()))
    found = [item for item in missing if item]
    if found:
        raise ServiceError(
            f"study {study.slug} cannot be sealed, because its plan is incomplete: {'; '.join(found)}"
        )


def _unfit(study: Study, sources: Iterable[str], models: set[str]) -> list[str]:
    """What is missing in the pool of a study that fits its own predictions."""
    if study.pool is None:
        return ["it has no pool to fit on"]
    known = set(study.pool.architectures.values_list("model_id", flat=True))
    measured = study.pool.configurations.filter(pool_outcome__isnull=False)
    rest = set(sources) - set(measured.values_list("configuration_id", flat=True))
    return [
        _sentence("architecture", models - known, "not recorded"),
        _sentence("outcome of pool configuration", rest, "not recorded"),
    ]


def _sentence(what: str, names: set[str], state: str) -> str:
    if not names:
        return ""
    shown = ", ".join(sorted(names)[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{what} {shown}{more}: {state}"
