"""Replaying a history: the same observations and candidates under several policies side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from .document import ObserveStep, PriceStep, ReplayDocument, SplitStep, read_document
from .policies import Policy, parse_policies
from .pricing import Price, price
from .profiles import Profile
from .splits import SplitPrice, price_split


def replay(document: object, policies: str | Iterable[str | Policy] = ("base",)) -> dict[str, object]:
    """Price every candidate of a parsed replay file under every policy.

    Returns ``{"source", "policies": {name: [entry, ...]}, "summary": {name: {...}}}`` with plain values: one
    entry per candidate in the order of the file, byte counts as integers. Observations are taken as they
    stand in the file, whatever a policy would have decided about them. Raises InputError for the
    document and PolicyError for the policies.
    """
    chosen = parse_policies(policies)
    checked = document if isinstance(document, ReplayDocument) else read_document(document)
    entries = {policy.name: replay_policy(checked, policy) for policy in chosen}
    return {
        "source": checked.source,
        "policies": entries,
        "summary": {
            policy.name: {
                "policy": policy.canonical_name,
                "explanation": policy.explanation,
                **_counts(entries[policy.name]),
            }
            for policy in chosen
        },
    }


def replay_policy(document: ReplayDocument, policy: Policy) -> list[dict[str, object]]:
    """One entry per candidate of ``document``, in order, under one policy."""
    profiles: dict[str, Profile] = defaultdict(lambda: Profile(policy.update))
    entries: list[dict[str, object]] = []
    for step in document.steps:
        if isinstance(step, ObserveStep):
            profiles[step.signature] = profiles[step.signature].observe(step.observation)
        elif isinstance(step, PriceStep):
            known = profiles[step.signature]
            priced = price(document.model, step.forward, policy, known, step.usable_bytes)
            entries.append(_entry(step.index, step.label, "forward", priced, {"signature": step.signature}))
        else:
            entries.append(
                _entry(step.index, step.label, "split", _priced_split(document, step, policy, profiles))
            )
    return entries


def _priced_split(
    document: ReplayDocument, step: SplitStep, policy: Policy, profiles: dict[str, Profile]
) -> SplitPrice:
    signatures = [signature for signature, _ in step.subforwards]
    parts = [part for _, part in step.subforwards]
    return price_split(
        document.model, parts, policy, step.usable_bytes, lambda place: profiles[signatures[place]]
    )


def _entry(
    index: int, label: str, kind: str, priced: Price | SplitPrice, more: dict[str, object] | None = None
) -> dict[str, object]:
    head: dict[str, object] = {
        "label": label,
        "required_bytes": priced.required_bytes,
        "usable_bytes": priced.usable_bytes,
        "trusted": priced.trusted,
        "decision": priced.decision,
        "step": index,
        "kind": kind,
    }
    return {**head, **(more or {}), **{k: v for k, v in priced.as_dict().items() if k not in head}}


def _counts(entries: list[dict[str, object]]) -> dict[str, int]:
    decisions = Counter(entry["decision"] for entry in entries)
    trusted = sum(bool(entry["trusted"]) for entry in entries)
    return {
        "admitted": decisions["admitted"],
        "refused": decisions["refused"],
        "trusted": trusted,
        "cold": len(entries) - trusted,
    }
