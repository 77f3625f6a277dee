"""Pricing policies as values, and the names people give them.

A policy has three independent parts: how a learned rate is scaled, how many live expert buffers the
mixture-of-experts floor counts, and how observations update a profile. A name joins parts with ``+``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

Scale = Literal["base", "normalised"]
UpdateRule = Literal["independent_maxima", "joint_observation"]

SCALES: dict[str, Scale] = {"base": "base", "normalised": "normalised"}
MOE_FLOORS: dict[str, int] = {"moe2": 2, "moe3": 3, "moe7": 7}
UPDATE_RULES: dict[str, UpdateRule] = {
    "independent_maxima": "independent_maxima",
    "joint_observation": "joint_observation",
    "joint": "joint_observation",
}

SLOTS: dict[str, Collection[str]] = {"scale": SCALES, "MoE floor": MOE_FLOORS, "update rule": UPDATE_RULES}

PARTS: dict[str, str] = {
    "base": "a learned rate is charged on the packed tokens",
    "normalised": "a learned rate is charged on max(packed, logical / observed sharing)",
    "moe2": "floor of 2 live expert output buffers, as first merged",
    "moe3": "floor of 3, counting the sum of the two as well, as a reviewer argued",
    "moe7": "floor of 7, the later correction",
    "independent_maxima": "a profile keeps the largest rate, scale and sharing seen, each on its own",
    "joint_observation": "a profile keeps every observation whole, with its own window and floor",
    "joint": "short for joint_observation",
}


class PolicyError(ValueError):
    """A policy name that cannot be understood; the text lists what is accepted."""


@dataclass(frozen=True)
class Policy:
    """One way to price a forward. Two policies are equal when they price alike, whatever they are called."""

    scale: Scale = "base"
    moe_buffers: int = 0
    update: UpdateRule = "independent_maxima"
    given_name: str = field(default="", compare=False)

    @property
    def canonical_name(self) -> str:
        """The name with the scale spelled out and defaults of the other parts left off."""
        parts: list[str] = [self.scale]
        if self.moe_buffers:
            parts.append(f"moe{self.moe_buffers}")
        if self.update != "independent_maxima":
            parts.append(self.update)
        return "+".join(parts)

    @property
    def name(self) -> str:
        """What the caller called it, else the canonical name."""
        return self.given_name or self.canonical_name

    @property
    def explanation(self) -> str:
        """One line that says what each part does."""
        parts: list[str] = [self.scale, self.update]
        if self.moe_buffers:
            parts.insert(1, f"moe{self.moe_buffers}")
        return "; ".join(PARTS[part] for part in parts)


@dataclass(frozen=True)
class Preset:
    """A policy worth offering by name, and why."""

    name: str
    explanation: str

    @property
    def policy(self) -> Policy:
        return parse_policy(self.name)


PRESETS: tuple[Preset, ...] = (
    Preset(
        "base",
        "Static estimate, raised by a trusted profile; no expert term. What admitted the first failures.",
    ),
    Preset("base+moe2", "Base with the floor of two live expert output buffers, as first merged."),
    Preset("base+moe3", "Base with three buffers: a reviewer counted the sum of the two as well."),
    Preset("base+moe7", "Base with seven buffers, the later correction for the grouped adapter workspace."),
    Preset(
        "normalised", "Learned rates charged by max(packed, logical / sharing): no step at rounding points."
    ),
    Preset("normalised+moe2", "Both corrections that were merged together: numerical form and floor of two."),
    Preset("normalised+moe7", "The numerical form with the later floor of seven."),
    Preset(
        "joint_observation", "Base, but every observation keeps its own scale, window and floor (proposed)."
    ),
    Preset(
        "normalised+moe7+joint_observation",
        "Numerical form, floor of seven, and the proposed joint observations.",
    ),
)


def _accepted() -> str:
    presets = ", ".join(preset.name for preset in PRESETS)
    return (
        f"join with '+' at most one of {', '.join(SCALES)}, one of {', '.join(MOE_FLOORS)} "
        f"and one of {', '.join(UPDATE_RULES)} (for instance: {presets})"
    )


def parse_policy(name: str) -> Policy:
    """Turn a name such as ``normalised+moe7+joint_observation`` into a policy.

    Parts may come in any order; a part left out takes its default (base, no floor,
    independent_maxima). Raises PolicyError with the list of accepted parts.
    """
    if not isinstance(name, str):
        raise PolicyError(f"policy: found {name!a}; expected a name: {_accepted()}")
    text = name.strip()
    shown = ascii(text if len(text) <= 80 else f"{text[:77]}...")
    slots: dict[str, str] = {}
    for part in (piece.strip() for piece in text.split("+")):
        kind = next((kind for kind, known in SLOTS.items() if part in known), None)
        if kind is None:
            found = ascii(part[:60]) if part else "an empty part"
            raise PolicyError(f"policy {shown}: found {found}; {_accepted()}")
        if kind in slots:
            raise PolicyError(f"policy {shown}: {slots[kind]} and {part} both set the {kind}; give one")
        slots[kind] = part
    return Policy(
        scale=SCALES[slots.get("scale", "base")],
        moe_buffers=MOE_FLOORS.get(slots.get("MoE floor", ""), 0),
        update=UPDATE_RULES[slots.get("update rule", "independent_maxima")],
        given_name=text,
    )


def parse_policies(names: str | Iterable[str | Policy]) -> tuple[Policy, ...]:
    """Several policies, from a comma-separated text or from names and policies, in the order given.

    Raises PolicyError for an unknown name, an empty list, or two names of the same policy.
    """
    given = names.split(",") if isinstance(names, str) else list(names)
    policies: dict[Policy, Policy] = {}
    for item in given:
        policy = item if isinstance(item, Policy) else parse_policy(item)
        if policy in policies:
            raise PolicyError(
                f"policies: {policies[policy].name} and {policy.name} are the same policy "
                f"({policy.canonical_name}); name it once"
            )
        policies[policy] = policy
    if not policies:
        raise PolicyError(f"policies: none given; {_accepted()}")
    return tuple(policies.values())
