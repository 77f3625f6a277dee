"""What a host is asked to run: one planned slot with everything that it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from host.errors import OrderError

WORDS = ("seed", "settings_file", "run_directory")
_PLACE = re.compile(r"\{(\w*)\}")
_FIELDS = (
    "study", "slot", "seed", "command", "device_uuids", "timeout_seconds", "settings", "requested_steps",
    "interval_ms", "launches_allowed", "idle_mib",
)  # fmt: skip


@dataclass(frozen=True)
class Order:
    """One slot to run.

    Attributes:
        study, slot: the study's slug and the slot's experiment id.
        seed: training seed.
        command: words of the command; ``{seed}``, ``{settings_file}`` and ``{run_directory}`` are filled in.
        device_uuids: the task's devices, in the order of the columns of the sampled memory.
        timeout_seconds: wall limit.
        settings: the configuration's settings, for the program.
        requested_steps: training steps asked for; None if nobody says.
        interval_ms: between two samples.
        launches_allowed: how often the protocol lets a slot be launched; 1 means never again.
        idle_mib: a device that uses more than this before the start is busy.
    """

    study: str
    slot: str
    seed: int
    command: tuple[str, ...]
    device_uuids: tuple[str, ...]
    timeout_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    requested_steps: int | None = None
    interval_ms: int = 100
    launches_allowed: int = 1
    idle_mib: int = 1024

    @classmethod
    def from_json(cls, sent: object) -> Order:
        """Read an order.

        Raises:
            OrderError: naming the field that is missing, unknown or wrong.
        """
        if not isinstance(sent, Mapping):
            raise OrderError("order", sent, "an object")
        for name in sent:
            if name not in _FIELDS:
                raise OrderError(str(name), sent[name], f"no such field, only {', '.join(_FIELDS)}")
        for name in ("study", "slot"):
            if not isinstance(sent.get(name), str) or not sent[name]:
                raise OrderError(name, sent.get(name), "a text")
        for name in ("command", "device_uuids"):
            value = sent.get(name)
            if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
                raise OrderError(name, value, "a list of texts that is not empty")
        if len(set(sent["device_uuids"])) != len(sent["device_uuids"]):
            raise OrderError("device_uuids", sent["device_uuids"], "each device once")
        for word in (match for text in sent["command"] for match in _PLACE.findall(text)):
            if word not in WORDS:
                raise OrderError(
                    "command", "{" + word + "}", "only " + ", ".join(f"{{{name}}}" for name in WORDS)
                )
        _number(sent, "seed", int, -(2**63))
        _number(sent, "timeout_seconds", (int, float), 0.001)
        for name, smallest in (
            ("requested_steps", 1),
            ("interval_ms", 1),
            ("launches_allowed", 1),
            ("idle_mib", 0),
        ):
            if sent.get(name) is not None:
                _number(sent, name, int, smallest)
        if not isinstance(sent.get("settings", {}), Mapping):
            raise OrderError("settings", sent["settings"], "an object")
        values = {name: value for name, value in sent.items() if value is not None}
        return cls(
            **{**values, "command": tuple(sent["command"]), "device_uuids": tuple(sent["device_uuids"])}
        )

    def to_json(self) -> dict[str, Any]:
        """The order as ``from_json`` reads it."""
        values = asdict(self)
        return {**values, "command": list(self.command), "device_uuids": list(self.device_uuids)}

    def filled_command(self, **places: str) -> list[str]:
        """The words of the command with its places filled in."""
        return [_PLACE.sub(lambda match: places[match[1]], word) for word in self.command]


def _number(sent: Mapping[str, Any], name: str, kind: Any, smallest: float) -> None:
    value: Any = sent.get(name)
    if isinstance(value, bool) or not isinstance(value, kind) or not value >= smallest:
        raise OrderError(name, value, f"a number from {smallest:g}")
