"""The texts that decide, in one table: what programs print, what it means, and how much it weighs.

A rule holds a pattern, the diagnosis it stands for, and its role. Order matters only within one line: the
first rule that matches a line speaks for it, so special forms stand above general ones. Patterns are looked
for in a line without colour codes and without the prefixes of Ray, torchrun, srun and loggers. One of the
`keys` stands in every match, in lower case; they are tested first because that is much cheaper.

No pattern is satisfied by a word such as "memory" alone: each names the program's own sentence, error class
or status code.
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

from studies.evidence import texts_memory, texts_other
from studies.evidence.rule import Rule

RULES: tuple[Rule, ...] = (
    *texts_memory.NOT_CAUSES,
    *texts_memory.GENERATION_START,
    *texts_memory.CUDA_LIBRARIES,
    *texts_memory.HOST_ALLOCATIONS,
    *texts_memory.HOST_KILLS,
    *texts_memory.DEVICE_MEMORY,
    *texts_other.DEVICE_FAULTS,
    *texts_other.SYSTEM,
    *texts_other.RESOURCES,
    *texts_other.CONFIGURATION,
    *texts_other.LIMITS,
    *texts_other.KILLS,
    *texts_other.CONSEQUENCES,
    *texts_other.EXCEPTIONS,
)

RULE_GATE = "|".join(rule.gate or "|".join(re2.escape(key) for key in rule.keys) for rule in RULES)
"""Pattern found in every line that a rule can match."""

_PART = 4


def _by_common_part(rules: Iterable[Rule]) -> dict[str, tuple[tuple[int, str], ...]]:
    """Keys, with the place of their rule, by a few letters that many of them share.

    A line is asked for a few dozen parts instead of two hundred keys.
    """
    left = {(order, key) for order, rule in enumerate(rules) for key in rule.keys}
    groups: dict[str, tuple[tuple[int, str], ...]] = {}
    while left:
        members: dict[str, set[tuple[int, str]]] = {}
        for order, key in left:
            for start in range(max(1, len(key) - _PART + 1)):
                members.setdefault(key[start : start + _PART], set()).add((order, key))
        part = max(sorted(members), key=lambda part: len(members[part]))
        groups[part] = tuple(sorted(members[part]))
        left -= members[part]
    return groups


_GROUPS = tuple(_by_common_part(RULES).items())


def rule_for(body: bytes, lowered: str) -> tuple[Rule, int] | None:
    """The first rule that matches a body, and where. `lowered` is the body in lower case, as text
    of one character a byte, in which Python looks for keys ten times as fast as in bytes.

    Each rule's pattern is applied at most once.
    """
    orders = {order for part, keys in _GROUPS if part in lowered for order, key in keys if key in lowered}
    for order in sorted(orders):
        position = RULES[order].position_in(body)
        if position is not None:
            return RULES[order], position
    return None
