"""Pricing policies as values, and the names people give them.

A policy has four independent parts: how a learned rate is scaled, which live buffers the expert floor
counts, whether a learned rate still holds beyond its window, and how observations update a profile. A
name joins parts with ``+``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from .experts import EXPERT_FLOORS, ExpertFloor

Scale = Literal["base", "ratio", "normalised"]
UpdateRule = Literal["independent_maxima", "joint_observation"]

SCALES: dict[str, Scale] = {"base": "base", "ratio": "ratio", "normalised": "normalised"}
BEYOND_WINDOW = "floor_beyond_window"
UPDATE_RULES: dict[str, UpdateRule] = {
    "independent_maxima": "independent_maxima",
    "joint_observation": "joint_observation",
    "joint": "joint_observation",
}

SLOTS: dict[str, Collection[str]] = {
    "scale": SCALES,
    "MoE floor": EXPERT_FLOORS,
    "window": (BEYOND_WINDOW,),
    "update rule": UPDATE_RULES,
}

PARTS: dict[str, str] = {
    "base": "a learned rate is charged on the packed tokens",
    "ratio": "a learned rate is charged on the packed tokens times max(1, their sharing / observed sharing)",
    "normalised": "a learned rate is charged on max(packed, logical / observed sharing)",
    **{floor.name: f"expert floor of {floor.buffers}" for floor in EXPERT_FLOORS.values()},
    BEYOND_WINDOW: "a learned rate stays a floor beyond its window, where it is no longer trusted",
    "independent_maxima": "a profile keeps the largest rate, scale and sharing seen, each on its own",
    "joint_observation": "a profile keeps every observation whole, with its own window and floor",
    "joint": "short for joint_observation",
}
WITHDRAWN: dict[str, str] = {
    "moe7": "it counted seven whole outputs where the merged correction has seven buffers of unequal width: "
    "use fc1_fc2_stage",
}


class PolicyError(ValueError):
    """A policy name that cannot be understood; the text lists what is accepted."""


@dataclass(frozen=True)
class Policy:
    """One way to price a forward. Two policies are equal when they price alike, whatever they are called."""

    scale: Scale = "base"
    expert_floor: ExpertFloor | None = None
    floor_beyond_window: bool = False
    update: UpdateRule = "independent_maxima"
    given_name: str = field(default="", compare=False)

    @property
    def parts(self) -> tuple[str, ...]:
        """Every part that is set, the defaults of scale and update rule included."""
        floor = [self.expert_floor.name] if self.expert_floor else []
        return (self.scale, *floor, *([BEYOND_WINDOW] if self.floor_beyond_window else []), self.update)

    @property
    def canonical_name(self) -> str:
        """The name with the scale spelled out and defaults of the other parts left off."""
        return "+".join(part for part in self.parts if part != "independent_maxima")

    @property
    def name(self) -> str:
        """What the caller called it, else the canonical name."""
        return self.given_name or self.canonical_name

    @property
    def explanation(self) -> str:
        """One line that says what each part does."""
        return "; ".join(PARTS[part] for part in self.parts)


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
    Preset("ratio", "The form before #877: a learned rate grows with the candidate's sharing."),
    Preset("base+moe2", "Base with the floor of two live expert output buffers, as first merged."),
    Preset("base+moe3", "Base with three buffers: a reviewer counted the sum of the two as well."),
    Preset("base+fc2_stage", "Base with the whole FC2 stage: its input, both outputs and their sum (#891)."),
    Preset("base+fc1_fc2_stage", "Base with seven buffers of unequal width, FC1's as well (#893)."),
    Preset(
        "normalised", "Learned rates charged by max(packed, logical / sharing): no step at rounding points."
    ),
    Preset("normalised+moe2", "Both corrections of #877: numerical form and floor of two."),
    Preset(
        "normalised+fc1_fc2_stage+floor_beyond_window",
        "As merged with #893: seven buffers, and a rate stays a floor beyond its window.",
    ),
    Preset(
        "joint_observation", "Base, but every observation keeps its own scale, window and floor (proposed)."
    ),
    Preset(
        "normalised+fc1_fc2_stage+joint_observation",
        "Numerical form, seven buffers, and the proposed joint observations.",
    ),
)


def _accepted() -> str:
    kinds = ", ".join(f"one {kind} of {', '.join(known)}" for kind, known in SLOTS.items())
    return f"join with '+' at most {kinds} (for instance: base+moe2, normalised+fc2_stage+joint)"


def parse_policy(name: str) -> Policy:
    """Turn a name such as ``normalised+fc2_stage+joint_observation`` into a policy.

    Parts may come in any order; a part left out takes its default (base, no expert floor, nothing beyond a
    window, independent_maxima). Raises PolicyError with the list of accepted parts.
    """
    if not isinstance(name, str):
        raise PolicyError(f"policy: found {name!a}; expected a name: {_accepted()}")
    text = name.strip()
    shown = ascii(text if len(text) <= 80 else f"{text[:77]}...")
    slots: dict[str, str] = {}
    for part in (piece.strip() for piece in text.split("+")):
        if part in WITHDRAWN:
            raise PolicyError(f"policy {shown}: {part} is no longer offered, since {WITHDRAWN[part]}")
        kind = next((kind for kind, known in SLOTS.items() if part in known), None)
        if kind is None:
            found = ascii(part[:60]) if part else "an empty part"
            raise PolicyError(f"policy {shown}: found {found}; {_accepted()}")
        if kind in slots:
            raise PolicyError(f"policy {shown}: {slots[kind]} and {part} both set the {kind}; give one")
        slots[kind] = part
    return Policy(
        scale=SCALES[slots.get("scale", "base")],
        expert_floor=EXPERT_FLOORS.get(slots.get("MoE floor", "")),
        floor_beyond_window="window" in slots,
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
