"""The programs that this host runs: its own file names them, so that nobody else can say what runs here."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host.errors import BadInput, OrderError
from host.order import Order, check_words


@dataclass(frozen=True)
class Programs:
    """Commands by name, and for which studies each may run (none named: for all)."""

    commands: Mapping[str, tuple[str, ...]]
    studies: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, path: Path) -> Programs:
        """Read ``{"NAME": {"command": ["python", "train.py", "{seed}"], "studies": ["demo"]}}``.

        Raises ``BadInput``; also for a file that others than its owner may change.
        """
        try:
            with path.open(encoding="utf-8") as file:
                status = os.fstat(file.fileno())
                if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (0, os.geteuid()):
                    raise BadInput(
                        f"{path}: others may change it, expected only its owner: chmod go-w {path}"
                    )
                found = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise BadInput(f"{path}: {error}") from error
        if not isinstance(found, dict) or not found:
            raise BadInput(f"{path}: expected an object with at least one program by its name")
        commands, studies = {}, {}
        for name, program in found.items():
            if not isinstance(program, dict) or set(program) - {"command", "studies"}:
                raise BadInput(f"{path}: {name}: expected an object with command and perhaps studies")
            commands[name] = _texts(path, f"{name}.command", program.get("command"))
            studies[name] = (
                _texts(path, f"{name}.studies", program["studies"]) if "studies" in program else ()
            )
            try:
                check_words(commands[name])
            except OrderError as error:
                raise BadInput(f"{path}: {name}: {error}") from None
        return cls(commands, studies)

    def command(self, order: Order) -> tuple[str, ...]:
        """The command of the order's program. Raises ``OrderError`` for one that this host does not run."""
        allowed = self.studies.get(order.program)
        if allowed is None or (allowed and order.study not in allowed):
            known = ", ".join(name for name in self.commands if self._may(name, order.study)) or "none"
            raise OrderError("program", order.program, f"one that this host runs for {order.study}: {known}")
        return self.commands[order.program]

    def _may(self, name: str, study: str) -> bool:
        return not self.studies[name] or study in self.studies[name]


def _texts(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise BadInput(f"{path}: {name}: expected a list of texts that is not empty")
    return tuple(value)
