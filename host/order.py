"""What a host is asked to run: one planned slot, and the name of the program for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host.errors import OrderError

WORDS = ("seed", "settings_file", "run_directory")
_PLACE = re.compile(r"\{(\w*)\}")
_FIELDS = (
    "study", "slot", "seed", "program", "command", "device_uuids", "device_count", "timeout_seconds",
    "settings", "requested_steps", "interval_ms", "launches_allowed", "idle_mib", "pair",
)  # fmt: skip


@dataclass(frozen=True)
class Order:
    """One slot to run.

    Attributes:
        study, slot: the study's slug and the slot's experiment id.
        seed: training seed.
        timeout_seconds: wall limit.
        program: which of the host's own programs runs; empty where ``command`` is given.
        command: words of the command, only in an order that somebody wrote on the host itself; in them
            ``{seed}``, ``{settings_file}`` and ``{run_directory}`` are filled in.
        device_uuids: the task's devices, in the order of the columns of the sampled memory; empty: the host
            takes any ``device_count`` free ones.
        settings: the configuration's settings, for the program.
        requested_steps: training steps asked for; None if nobody says.
        interval_ms: between two samples.
        launches_allowed: how many launches of the slot the protocol allows with this one: the number of
            this try, which is launched once; 1 means never again.
        idle_mib: a device that uses more than this before the start is busy.
        pair: slots of one pair run in one allocation; empty for none.
    """

    study: str
    slot: str
    seed: int
    timeout_seconds: float
    program: str = ""
    command: tuple[str, ...] = ()
    device_uuids: tuple[str, ...] = ()
    device_count: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    requested_steps: int | None = None
    interval_ms: int = 100
    launches_allowed: int = 1
    idle_mib: int = 1024
    pair: str = ""

    @classmethod
    def from_json(cls, sent: object, *, from_site: bool = False) -> Order:
        """Read an order. One ``from_site`` names no command: what runs here is this machine's own word.

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
        for name in ("program", "pair"):
            if not isinstance(sent.get(name, ""), str):
                raise OrderError(name, sent[name], "a text")
        for name in ("command", "device_uuids"):
            value = sent.get(name, [])
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise OrderError(name, value, "a list of texts")
        if from_site and sent.get("command"):
            raise OrderError(
                "command", sent["command"], "none from the site: the host's own file has the commands"
            )
        if bool(sent.get("command")) == bool(sent.get("program")):
            raise OrderError("program", sent.get("program", ""), "a program's name, or else a command")
        check_words(sent.get("command", []))
        devices = sent.get("device_uuids", [])
        if len(set(devices)) != len(devices):
            raise OrderError("device_uuids", devices, "each device once")
        _number(sent, "seed", int, -(2**63))
        _number(sent, "timeout_seconds", (int, float), 0.001)
        for name, smallest in (
            ("requested_steps", 1), ("interval_ms", 1), ("launches_allowed", 1), ("idle_mib", 0),
            ("device_count", 1),
        ):  # fmt: skip
            if sent.get(name) is not None:
                _number(sent, name, int, smallest)
        if not isinstance(sent.get("settings", {}), Mapping):
            raise OrderError("settings", sent["settings"], "an object")
        values = {name: value for name, value in sent.items() if value is not None}
        values |= {"command": tuple(sent.get("command", [])), "device_uuids": tuple(devices)}
        if devices:
            values["device_count"] = len(devices)
        return cls(**values)


def check_words(command: Sequence[str]) -> None:
    """Raises ``OrderError`` for a ``{word}`` that nothing is filled in for."""
    for word in (match for text in command for match in _PLACE.findall(text)):
        if word not in WORDS:
            raise OrderError(
                "command", "{" + word + "}", "only " + ", ".join(f"{{{name}}}" for name in WORDS)
            )


def filled(command: Sequence[str], **values: str) -> list[str]:
    """The command's words with ``WORDS`` filled in."""
    return [_PLACE.sub(lambda match: values[match[1]], word) for word in command]


def _number(sent: Mapping[str, Any], name: str, kind: Any, smallest: float) -> None:
    value: Any = sent.get(name)
    if isinstance(value, bool) or not isinstance(value, kind) or not value >= smallest:
        raise OrderError(name, value, f"a number from {smallest:g}")
