"""A follow-up inherits sealed predictions. Whether it really has its parent's is checked, not believed."""

from __future__ import annotations

from studies.estimation.errors import EstimationError
from studies.estimation.study import inherit
from studies.models import Study
from studies.services import protocols
from studies.services.errors import ServiceError
from studies.services.forecasts import forecasts, panel_set


def check_inherited(study: Study) -> None:
    """Raise ``ServiceError`` unless an inheriting study has exactly its parent's sealed predictions.

    A study that fits its own passes. The parent's protocol and seal must be the ones that the follow-up's
    protocol and seal name by sha256.
    """
    rules = protocols.rules(study)
    if rules.inheritance is None:
        return
    own, parent = panel_set(study), study.parent
    if parent is None or own is None or own.inherits is None:
        raise ServiceError(f"study {study.slug} inherits predictions, but names no parent's prediction set")
    sealed = own.inherits.seals.order_by("pk").first()
    if sealed is None or sealed.sha256 != rules.inheritance.original_prediction_seal_sha256:
        raise ServiceError(
            f"study {study.slug} inherits seal {rules.inheritance.original_prediction_seal_sha256}, expected "
            f"{sealed.sha256 if sealed else 'a sealed set'} of {parent.slug}"
        )
    base = protocols.base_protocol(parent)
    if base.sha256 != rules.inheritance.original_protocol_sha256:
        raise ServiceError(
            f"study {study.slug} follows protocol {rules.inheritance.original_protocol_sha256}, expected "
            f"{base.sha256} of {parent.slug}"
        )
    try:
        expected = inherit(forecasts(own.inherits), rules)
    except EstimationError as error:
        raise ServiceError(f"study {study.slug}: {error}") from None
    found = {(item.method, item.configuration_id): item for item in forecasts(own)}
    for item in expected:
        if found.pop((item.method, item.configuration_id), None) != item:
            raise ServiceError(
                f"study {study.slug}: {item.method} on {item.configuration_id} is not the sealed prediction "
                f"of {rules.inheritance.prediction_origins[item.configuration_id]}"
            )
    for method, configuration_id in found:
        raise ServiceError(f"study {study.slug}: {method} on {configuration_id} has no prediction to inherit")
