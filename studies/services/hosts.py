"""Hosts as they describe themselves, and which planned slots one can be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from host.errors import OrderError
from host.order import Order
from rlvram_site.ledger.chain import current_actor
from studies.models import Host, SeedSlot, Study
from studies.services.errors import ServiceError
from studies.services.outcomes.slots import SlotState, slot_states
from studies.services.plan import protocols

COMMAND_KEY = "launch_command"
TIMEOUT_SECONDS = 4 * 3600


def register(name: str, description: Mapping[str, Any]) -> Host:
    """Remember a host with its devices; a host that registers again replaces what it said before."""
    host, _ = Host.objects.update_or_create(
        name=name,
        defaults={**description, "last_seen_at": timezone.now(), "registered_by": current_actor()},
    )
    return host


def hear_of(name: str, slot: str, memory_mib: Mapping[str, int]) -> None:
    """The host said what it is doing."""
    Host.objects.filter(name=name).update(
        last_seen_at=timezone.now(), current_slot=slot[:200], memory_mib=dict(memory_mib)
    )


def open_slots(study: Study) -> list[SlotState]:
    """Planned slots of which one more attempt may count, in the planned order.

    Those of which nothing is recorded, and those that the protocol lets be tried again.
    """
    slots = SeedSlot.objects.filter(study=study).select_related("configuration", "study").order_by("position")
    untouched = slots.filter(attempts__isnull=True, non_launch__isnull=True)
    # Where one try is all that a slot has, what is recorded of the others can't reopen them.
    rule = protocols.tries_by_study([study.pk])[study.pk]
    once = rule.permitted == 1 and rule.never_launched_uses_one
    return [state for state in slot_states(untouched if once else slots).values() if state.one_more_may_count]


def launch_command(study: Study) -> list[str]:
    """The study's command template, from its effective protocol; empty if it states none."""
    try:
        command = protocols.effective_protocol(study).get(COMMAND_KEY)
    except ServiceError:
        return []
    return command if isinstance(command, list) and all(isinstance(item, str) for item in command) else []


def orders_for(
    host: Host,
    study: Study,
    slots: Sequence[SeedSlot],
    command: Sequence[str],
    interval_ms: int,
    tries: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Everything the host needs for these slots, in the planned order.

    ``tries`` is the number of the try, from 1, by slot: how often the slot was launched once it has run.

    A slot's devices are those at its ordinals, or the host's first ones if the plan names none.
    Raises ``ServiceError``: a slot needs more devices than the host has, or an order would be refused.
    """
    orders = []
    for slot in sorted(slots, key=lambda row: row.position):
        configuration = slot.configuration
        order = {
            "study": study.slug,
            "slot": slot.experiment_id,
            "seed": slot.seed,
            "command": list(command),
            "device_uuids": _devices(host, slot),
            "timeout_seconds": slot.timeout_seconds or TIMEOUT_SECONDS,
            "settings": {**_settings(configuration), **slot.settings},
            "requested_steps": configuration.total_training_steps,
            "interval_ms": interval_ms,
            "launches_allowed": tries[slot.experiment_id],
        }
        try:
            orders.append(Order.from_json(order).to_json())
        except OrderError as error:
            raise ServiceError(f"slot {slot.experiment_id}: {error}") from None
    return orders


def _settings(configuration: Any) -> dict[str, Any]:
    hidden = {"id", "recorded_at", "pool_id", "study_id"}
    return {
        field.attname: getattr(configuration, field.attname)
        for field in configuration._meta.concrete_fields
        if field.attname not in hidden
    }


def _devices(host: Host, slot: SeedSlot) -> list[str]:
    uuids = [device["uuid"] for device in sorted(host.devices, key=lambda device: device["ordinal"])]
    ordinals = slot.device_ordinals or list(range(slot.configuration.gpu_count))
    missing = [ordinal for ordinal in ordinals if not 0 <= ordinal < len(uuids)]
    if missing:
        raise ServiceError(
            f"slot {slot.experiment_id} needs the device with ordinal {missing[0]}, "
            f"and {host.name} has {len(uuids)}"
        )
    return [uuids[ordinal] for ordinal in ordinals]
