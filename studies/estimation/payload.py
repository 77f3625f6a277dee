"""Pool, rules and targets as one JSON object, for a process that has nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.labels import parse_label
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.rules import FittingRules, ProtocolRules
from studies.estimation.volumes import Architecture, Settings

VERSION = 2
_KEYS = ("version", "rules", "architectures", "pool", "targets")
_POOL_KEYS = ("settings", "label", "completed_peak_mib", "eligible_processes", "recorded_attempts")


def to_payload(pool: Pool, rules: ProtocolRules, targets: Sequence[Target]) -> dict[str, Any]:
    """Everything that a refit needs, as JSON.

    Raises:
        EstimationError: the protocol inherits its predictions, so there is nothing to refit.
    """
    rules.require_fitting()
    architectures = {item.architecture.model_id: item.architecture for item in (*pool, *targets)}
    return {
        "version": VERSION,
        "rules": asdict(rules),
        "architectures": [asdict(architectures[model]) for model in sorted(architectures)],
        "pool": [
            {
                "settings": asdict(item.settings),
                "label": item.label.value,
                "completed_peak_mib": item.completed_peak_mib,
                "eligible_processes": item.eligible_processes,
                "recorded_attempts": item.recorded_attempts,
            }
            for item in pool
        ],
        "targets": [asdict(target.settings) for target in targets],
    }


def from_payload(payload: Mapping[str, Any]) -> tuple[Pool, ProtocolRules, list[Target]]:
    """Read `to_payload`'s object back, with every check of the types it holds.

    Raises:
        EstimationError: another version, a missing or unknown key, or anything the types refuse.
    """
    if not isinstance(payload, Mapping) or payload.get("version") != VERSION:
        found = payload.get("version") if isinstance(payload, Mapping) else payload
        raise EstimationError("refit payload", "version", found, str(VERSION))
    _check_keys(payload, _KEYS, "refit payload")
    for key in ("architectures", "pool", "targets"):
        if not isinstance(payload[key], list):
            raise EstimationError("refit payload", key, payload[key], "a list")
    architectures = {}
    for fields in payload["architectures"]:
        architecture = _build(Architecture, fields, "refit payload, architectures")
        architectures[architecture.model_id] = architecture

    def target_of(fields: Mapping[str, Any]) -> Target:
        settings = _build(Settings, fields, "refit payload, settings")
        if settings.model_id not in architectures:
            raise EstimationError(
                settings.configuration_id, "model_id", settings.model_id, "one of " + ", ".join(architectures)
            )
        return Target(settings, architectures[settings.model_id])

    configurations = []
    for fields in payload["pool"]:
        _check_keys(fields, _POOL_KEYS, "refit payload, pool")
        target = target_of(fields["settings"])
        configurations.append(
            PoolConfiguration(
                settings=target.settings,
                architecture=target.architecture,
                label=parse_label(fields["label"], target.configuration_id),
                completed_peak_mib=fields["completed_peak_mib"],
                eligible_processes=fields["eligible_processes"],
                recorded_attempts=fields["recorded_attempts"],
            )
        )
    return (
        Pool.of(configurations),
        _rules(payload["rules"]),
        [target_of(fields) for fields in payload["targets"]],
    )


def _rules(fields: object) -> ProtocolRules:
    offender = "refit payload, rules"
    panel = dict(_check_keys(fields, ProtocolRules.__dataclass_fields__, offender))
    fitting = dict(_check_keys(panel["fitting"], FittingRules.__dataclass_fields__, offender))
    for key in ("evaluation_seeds", "target_configuration_ids"):
        panel[key] = _tuple(panel[key], key)
    for key in ("features", "source_studies", "source_configuration_ids"):
        fitting[key] = _tuple(fitting[key], key)
    return ProtocolRules(**(panel | {"fitting": FittingRules(**fitting)}))


def _tuple(value: object, field: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise EstimationError("refit payload, rules", field, value, "a list")
    return tuple(value)


def _build(kind: type[Any], fields: object, offender: str) -> Any:
    return kind(**_check_keys(fields, kind.__dataclass_fields__, offender))


def _check_keys(fields: object, known: Collection[str], offender: str) -> Mapping[str, Any]:
    if not isinstance(fields, Mapping):
        raise EstimationError(offender, "value", fields, "an object")
    for key in sorted(set(known) - set(fields)):
        raise EstimationError(offender, key, None, "the key in the payload")
    for key in sorted(set(fields) - set(known)):
        raise EstimationError(offender, key, fields[key], "no other key than " + ", ".join(sorted(known)))
    return fields
