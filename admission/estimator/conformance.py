"""The peer's published figures beside ours: how anybody can see that the estimator prices as it says.

``conformance.json`` restates facts of OpenPipe/ART's unit tests and of its issue #848 as data: inputs, the
policy they belong to, and the figure. Nothing of ours is in it; what we make of the inputs is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from .experts import bytes_per_token
from .inputs import Forward, Model, Observation
from .policies import Policy, parse_policy
from .pricing import Price, price, usable_bytes
from .profiles import Profile
from .splits import SplitPrice, Subforward, lower_bound, price_split, rung_cost

FILE = Path(__file__).with_name("conformance.json")
FORGE = "https://github.com"
Figure = int | float | bool | str


@dataclass(frozen=True)
class Source:
    """Where figures were published: a file at a commit, or an issue."""

    key: str
    repository: str
    path: str = ""
    commit: str = ""
    issue: int | None = None

    @property
    def url(self) -> str:
        home = f"{FORGE}/{self.repository}"
        return f"{home}/issues/{self.issue}" if self.issue else f"{home}/blob/{self.commit}/{self.path}"

    @property
    def label(self) -> str:
        if self.issue:
            return f"{self.repository} #{self.issue}"
        return f"{self.path.rpartition('/')[2]} at {self.commit[:9]}"


@dataclass(frozen=True)
class Case:
    """The inputs of one row; which of them it has depends on its kind."""

    policy: Policy
    model: Model | None
    observations: tuple[Observation, ...]
    forward: Forward | None
    parts: tuple[Forward, ...]
    given: Mapping[str, Any]

    @property
    def profile(self) -> Profile:
        profile = Profile(self.policy.update)
        for seen in self.observations:
            profile = profile.observe(seen)
        return profile

    @property
    def sizes(self) -> Model:
        """The model; a kind that needs one has one, which the loader checks."""
        assert self.model is not None
        return self.model

    def price(self) -> Price:
        assert self.forward is not None
        return price(self.sizes, self.forward, self.policy, self.profile, self.given.get("usable_bytes"))

    def rung(self) -> SplitPrice:
        usable, profile = self.given.get("usable_bytes", 0), self.profile
        parts = [Subforward(part) for part in self.parts]
        return price_split(self.sizes, parts, self.policy, usable, lambda _: profile)

    def bound_retained_bytes(self) -> int:
        assert self.forward is not None
        fewest = self.forward.packed_tokens
        part = Subforward(self.forward, fewest, self.given["no_sharing_tokens"])
        return lower_bound(self.sizes, part, self.policy, self.profile)[1]


@dataclass(frozen=True)
class Kind:
    """What a figure is: its words, whether it is a size in bytes, what it needs, and our own."""

    words: str
    ours: Callable[[Case], Figure]
    needs: tuple[str, ...] = ()
    size: bool = True


def _rates(case: Case, name: str) -> float:
    """A learned rate to four decimals, as the peer prints it."""
    return round(max(getattr(track, name) or 0.0 for track in case.profile.tracks), 4)


PRICED, SEEN, RUNG = ("model", "forward"), ("observations",), ("model", "parts")
KINDS: dict[str, Kind] = {
    "required_bytes": Kind("required", lambda case: case.price().required_bytes, PRICED),
    "compute_bytes": Kind(
        "compute before outputs and safety", lambda case: case.price().compute_bytes, PRICED
    ),
    "retained_bytes": Kind("kept after it returns", lambda case: case.price().retained_bytes, PRICED),
    "retained_in_full": Kind(
        "keeps all it requires",
        lambda case: case.price().retained_bytes == case.price().required_bytes,
        PRICED,
        size=False,
    ),
    "retained_trusted": Kind(
        "retained rate trusted", lambda case: case.price().retained_observed, PRICED, size=False
    ),
    "trusted": Kind("profile trusted", lambda case: case.price().trusted, PRICED, size=False),
    "decision": Kind(
        "decision", lambda case: case.price().decision or "", (*PRICED, "usable_bytes"), size=False
    ),
    "floor_bytes_per_token": Kind(
        "expert floor of a token",
        lambda case: bytes_per_token(case.sizes, case.policy.expert_floor) or 0,
        ("model",),
    ),
    "floor_bytes": Kind("expert floor", lambda case: case.price().moe_floor_bytes or 0, PRICED),
    "window_tokens": Kind("window, tokens", lambda case: case.profile.window_tokens, SEEN, size=False),
    "rate": Kind("learned rate of a token", lambda case: _rates(case, "rate"), SEEN),
    "retained_rate": Kind("retained rate of a token", lambda case: _rates(case, "retained_rate"), SEEN),
    "rung_required_bytes": Kind("rung required", lambda case: case.rung().required_bytes, RUNG),
    "rung_decision": Kind(
        "rung decision", lambda case: case.rung().decision, (*RUNG, "usable_bytes"), size=False
    ),
    "rung_cost": Kind(
        "rung of these parts",
        lambda case: rung_cost([tuple(pair) for pair in case.given["pairs"]]),
        ("pairs",),
        size=False,
    ),
    "bound_retained_bytes": Kind(
        "least that a layout keeps", Case.bound_retained_bytes, (*PRICED, "no_sharing_tokens")
    ),
    "usable_bytes": Kind(
        "usable",
        lambda case: usable_bytes(case.given["obtainable_bytes"], case.given["device_bytes"]),
        ("obtainable_bytes", "device_bytes"),
    ),
}


@dataclass(frozen=True)
class Row:
    """One published figure and ours."""

    id: str
    source: Source
    where: str
    policy: str
    kind: str
    says: str
    figure: Figure
    ours: Figure
    model: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Exactly equal: the same value, and a yes is no 1."""
        return self.figure == self.ours and isinstance(self.figure, bool) == isinstance(self.ours, bool)

    @property
    def words(self) -> str:
        return KINDS[self.kind].words

    @property
    def is_size(self) -> bool:
        return KINDS[self.kind].size


@dataclass(frozen=True)
class Inexpressible:
    """Tests of the peer whose inputs this model has no place for, and why."""

    source: Source
    where: str
    reason: str
    figure: str = ""


@dataclass(frozen=True)
class Conformance:
    """The whole table."""

    rows: tuple[Row, ...]
    inexpressible: tuple[Inexpressible, ...]

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(sorted({row.policy for row in self.rows}))

    @property
    def equal(self) -> int:
        return sum(row.equal for row in self.rows)

    @property
    def sentence(self) -> str:
        """The whole table in one sentence."""
        issues = sum(row.source.issue is not None for row in self.rows)
        different = len(self.rows) - self.equal
        same = f"all {len(self.rows)} come out the same here" if not different else ""
        some = f"{self.equal} of {len(self.rows)} come out the same here and {different} do not"
        return (
            f"Of {len(self.rows) - issues} figures from OpenPipe/ART's own tests and {issues} from its issue "
            f"#848, {same or some}; {len(self.inexpressible)} more entries are not expressible in this model."
        )

    def chosen(self, policy: str = "", equal: bool | None = None) -> list[Row]:
        """The rows of one policy, or those that are equal, or that are not."""
        return [
            row
            for row in self.rows
            if (not policy or row.policy == policy) and (equal is None or row.equal is equal)
        ]


@lru_cache(maxsize=1)
def conformance_table() -> Conformance:
    """Read the table and compute our side of it, once. Raises ValueError for a row that says too little."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    sources = {key: Source(key, **values) for key, values in data["sources"].items()}
    models = {name: Model(**sizes) for name, sizes in data["models"].items()}
    return Conformance(
        tuple(_row(values, sources, models) for values in data["rows"]),
        tuple(
            Inexpressible(sources[values["source"]], values["where"], values["reason"], values["figure"])
            for values in data["inexpressible"]
        ),
    )


def _row(values: Mapping[str, Any], sources: Mapping[str, Source], models: Mapping[str, Model]) -> Row:
    kind = KINDS[values["kind"]]
    if missing := [name for name in kind.needs if name not in values]:
        raise ValueError(f"{values['id']}: {values['kind']} needs {', '.join(missing)}")
    case = Case(
        parse_policy(values["policy"]),
        models[values["model"]] if "model" in values else None,
        tuple(Observation(**seen) for seen in values.get("observations", ())),
        Forward(**values["forward"]) if "forward" in values else None,
        tuple(Forward(**part) for part in values.get("parts", ())),
        values,
    )
    inputs = ("observations", "forward", "parts", "pairs", "usable_bytes", "obtainable_bytes", "device_bytes")
    return Row(
        id=values["id"],
        source=sources[values["source"]],
        where=values["where"],
        policy=values["policy"],
        kind=values["kind"],
        says=values["says"],
        figure=values["figure"],
        ours=kind.ours(case),
        model=values.get("model", ""),
        inputs={name: values[name] for name in (*inputs, "no_sharing_tokens") if name in values},
    )
