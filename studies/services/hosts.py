"""Hosts as they describe themselves, and which planned slots one can be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from host.errors import OrderError
from host.order import Order
from rlvram_site.ledger.chain import current_actor
from studies.models import Host, SeedSlot, Study
from studies.services.errors import ServiceError
from studies.services.outcomes.slots import SlotState, slot_states
from studies.services.plan import protocols

PROGRAM_KEY = "launch_program"
TIMEOUT_SECONDS = 4 * 3600


class NotItsHolder(ServiceError):
    """The host belongs to another key, or another machine has its name."""


def register(name: str, description: Mapping[str, Any], holder: str) -> Host:
    """Remember a host with its devices; a host that registers again replaces what it said before.

    The first ``holder``, a key or a person, keeps it until staff release it. Raises ``NotItsHolder`` for
    another one, and for another machine under the same name.
    """
    with transaction.atomic():
        host = Host.objects.select_for_update().filter(name=name).first() or Host(name=name)
        if host.pk and host.holder not in ("", holder):
            raise NotItsHolder(f"The host {name!r} belongs to another key. Staff can release it.")
        machine = description.get("machine", "")
        if host.holder and host.machine and machine != host.machine:
            raise NotItsHolder(
                f"The host {name!r} is another machine ({host.hostname}). Expected a name of its own, or "
                "staff release this one."
            )
        for field, value in description.items():
            setattr(host, field, value)
        host.holder, host.last_seen_at, host.registered_by = holder, timezone.now(), current_actor()
        host.save()
    return host


def held_by(name: str, holder: str) -> Host | None:
    """The host of that name. Raises ``NotItsHolder`` if somebody else registered it."""
    host = Host.objects.filter(name=name).first()
    if host is not None and host.holder != holder:
        raise NotItsHolder(f"The host {name!r} belongs to another key. Staff can release it.")
    return host


def release(host: Host) -> None:
    """Let the next key that registers it have the host."""
    Host.objects.filter(pk=host.pk).update(holder="", machine="")


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


def launch_program(study: Study) -> str:
    """The name of the study's program, from its effective protocol; empty if it states none."""
    try:
        program = protocols.effective_protocol(study).get(PROGRAM_KEY)
    except ServiceError:
        return ""
    return program if isinstance(program, str) else ""


def orders_for(
    host: Host | None,
    study: Study,
    slots: Sequence[SeedSlot],
    program: str,
    interval_ms: int,
    tries: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Everything a host needs for these slots, in the planned order. What runs is the host's own word.

    ``tries`` is the number of the try, from 1, by slot: how often the slot was launched once it has run.

    A slot's devices are those at its ordinals, or any if the plan names none or no host is given.
    Raises ``ServiceError``: a slot needs more devices than the host has, or an order would be refused.
    """
    orders = []
    for slot in sorted(slots, key=lambda row: row.position):
        configuration = slot.configuration
        order = {
            "study": study.slug,
            "slot": slot.experiment_id,
            "seed": slot.seed,
            "program": program,
            "device_count": slot.configuration.gpu_count,
            "device_uuids": _devices(host, slot) if host else [],
            "pair": slot.pair_id or "",
            "timeout_seconds": slot.timeout_seconds or TIMEOUT_SECONDS,
            "settings": {**_settings(configuration), **slot.settings},
            "requested_steps": configuration.total_training_steps,
            "interval_ms": interval_ms,
            "launches_allowed": tries[slot.experiment_id],
        }
        try:
            Order.from_json(order, from_site=True)
            orders.append(order)
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
    uuids = [device["uuid"] for device in host.devices]
    if not slot.device_ordinals:
        if slot.configuration.gpu_count > len(uuids):
            raise ServiceError(
                f"slot {slot.experiment_id} needs {slot.configuration.gpu_count} devices, "
                f"and {host.name} has {len(uuids)}"
            )
        return []
    by_ordinal = {device["ordinal"]: device["uuid"] for device in host.devices}
    missing = [ordinal for ordinal in slot.device_ordinals if ordinal not in by_ordinal]
    if missing:
        raise ServiceError(
            f"slot {slot.experiment_id} needs the device with ordinal {missing[0]}, "
            f"and {host.name} has {', '.join(map(str, sorted(by_ordinal))) or 'none'}"
        )
    return [by_ordinal[ordinal] for ordinal in slot.device_ordinals]
