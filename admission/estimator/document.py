"""Reading a replay file: strict, and with every problem of the file reported at once.

A step is found by its place, counted from 0: ``steps[2].price.packed_tokens``. Unknown keys are refused,
since a misspelt optional field would otherwise change a price without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from rlvram_site import strict_json

from .hf_config import read_config
from .inputs import Checked, Forward, InputError, Model, Observation, Problem, show, whole_problem
from .splits import Subforward

MAX_STEPS = 2_000
MAX_SUBFORWARDS = 1_000
MAX_TEXT = 200
MAX_NOTE = 2_000
MAX_DOCUMENT_SIZE = 4_000_000
SHOWN_PROBLEMS = 20
DEFAULT_SIGNATURE = ""
SPREAD = (
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "expert_tensor_parallel",
    "expert_dispatch",
    "dropless",
)
"""What a model's place on devices decides, and no ``config.json`` says."""

T = TypeVar("T")
C = TypeVar("C", bound=Checked)


@dataclass(frozen=True)
class ObserveStep:
    """A measured forward that updates the profile of ``signature``."""

    index: int
    signature: str
    observation: Observation


@dataclass(frozen=True)
class PriceStep:
    """A candidate forward to price with what was observed before it."""

    index: int
    signature: str
    label: str
    forward: Forward
    usable_bytes: int


@dataclass(frozen=True)
class SplitStep:
    """A candidate rung; every subforward has its own signature."""

    index: int
    label: str
    subforwards: tuple[tuple[str, Subforward], ...]
    usable_bytes: int


Step = ObserveStep | PriceStep | SplitStep


@dataclass(frozen=True)
class ReplayDocument:
    """A checked replay file."""

    model: Model
    steps: tuple[Step, ...]
    source: str = ""


def read_json(text: str | bytes) -> object:
    """Parse a replay file, given as text or as UTF-8 bytes.

    Raises InputError for anything that is not plain, unambiguous JSON: NaN and infinities, a key given twice,
    text that is not UTF-8, more than 4,000,000 characters (or bytes).
    """
    try:
        return strict_json.read_json(text, max_bytes=MAX_DOCUMENT_SIZE)
    except strict_json.JsonError as error:
        found = f"{error.found} at {error.place}" if error.place else error.found
        raise InputError([Problem("document", found, error.expected)]) from error


def read_document(document: object) -> ReplayDocument:
    """Check a parsed replay file. Raises InputError listing up to the first 20 problems found."""
    reader = _Reader()
    top = reader.mapping("document", document, required=("model", "steps"), optional=("source",), prefix="")
    model = reader.model(top.get("model")) if "model" in top else None
    source = reader.text("source", top.get("source", ""), limit=MAX_NOTE, empty=True)
    steps = reader.steps(top["steps"]) if "steps" in top else []
    if reader.problems or model is None:
        hidden = len(reader.problems) - SHOWN_PROBLEMS
        shown = reader.problems[:SHOWN_PROBLEMS]
        if hidden > 0:
            shown.append(Problem("document", f"{hidden} more problems", "a file without problems"))
        raise InputError(shown)
    return ReplayDocument(model, tuple(steps), source)


def read_model(value: object) -> Model:
    """Check the ``model`` of a replay file or a request. Raises InputError with fields under ``model``.

    Its sizes stand in it, or in a Hugging Face ``config.json`` under ``config``; what stands beside a
    ``config`` is used instead of what the config says.
    """
    reader = _Reader()
    model = reader.model(value)
    if reader.problems or model is None:
        raise InputError(reader.problems)
    return model


def with_model_config(document: object, config: object) -> object:
    """``document`` with the sizes of ``config`` (a ``config.json``) instead of its model's own.

    How the model is spread over devices stays as the document says.
    """
    if not isinstance(document, Mapping):
        return document
    model = document.get("model")
    kept = {key: model[key] for key in SPREAD if key in model} if isinstance(model, Mapping) else {}
    return {**document, "model": {"config": config, **kept}}


class _Reader:
    """Walks a parsed document and collects problems instead of stopping at the first."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.subforwards = 0

    def mapping(
        self,
        path: str,
        value: object,
        required: Sequence[str],
        optional: Sequence[str] = (),
        prefix: str | None = None,
    ) -> dict[str, Any]:
        """``value`` as an object with only known keys; missing and unknown ones become problems."""
        start = f"{path}." if prefix is None else prefix
        if not isinstance(value, Mapping):
            expected = f"an object with {', '.join(required) or ', '.join(optional)}"
            self.problems.append(Problem(path, show(value), expected))
            return {}
        known = (*required, *optional)
        for key in value:
            if key not in known:
                name = key if isinstance(key, str) and key.isidentifier() and len(key) <= 60 else show(key)
                self.problems.append(Problem(f"{start}{name}", "an unknown key", f"only {', '.join(known)}"))
        for key in required:
            if key not in value:
                self.problems.append(Problem(f"{start}{key}", "nothing", "this key to be given"))
        return {key: value[key] for key in known if key in value}

    def build(self, kind: type[C], path: str, value: object, extra: Sequence[str] = ()) -> C | None:
        """A checked value object from the keys that are its fields; ``extra`` keys are required and left."""
        declared = fields(kind)  # type: ignore[arg-type]
        required = [item.name for item in declared if item.default is MISSING]
        optional = [item.name for item in declared if item.default is not MISSING]
        before = len(self.problems)
        given = self.mapping(path, value, (*required, *extra), optional)
        names = {item.name for item in declared}
        if any(name not in given for name in required):
            self.problems += [problem.under(path) for problem in kind.whole_problems(given)]
            return None
        built = self.make(path, lambda: kind(**{key: given[key] for key in given if key in names}))
        return built if len(self.problems) == before else None

    def make(self, path: str, maker: Callable[[], T]) -> T | None:
        """The result of ``maker``; its problems are recorded under ``path``."""
        try:
            return maker()
        except InputError as error:
            self.problems += [problem.under(path) for problem in error.problems]
            return None

    def model(self, value: object) -> Model | None:
        """The model from its own sizes, or from a ``config.json`` and what stands beside it."""
        if not isinstance(value, Mapping) or "config" not in value:
            return self.build(Model, "model", value)
        found = self.make("model.config", lambda: read_config(value["config"]))
        own = {key: given for key, given in value.items() if key != "config"}
        return None if found is None else self.build(Model, "model", found.beside(own))

    def text(self, path: str, value: object, limit: int = MAX_TEXT, empty: bool = False) -> str:
        if isinstance(value, str) and len(value) <= limit and (empty or value.strip()):
            return value
        kind = "text" if empty else "non-empty text"
        self.problems.append(Problem(path, show(value), f"{kind} of at most {limit} characters"))
        return ""

    def count(self, path: str, value: object) -> int:
        problem = whole_problem(path, value, 0)
        if problem:
            self.problems.append(problem)
        return 0 if problem else value  # type: ignore[return-value]

    def items(self, path: str, value: object, most: int, what: str) -> list[Any]:
        if isinstance(value, list) and 1 <= len(value) <= most:
            return value
        found = f"a list of {len(value)}" if isinstance(value, list) else show(value)
        self.problems.append(Problem(path, found, f"a list of 1 to {most} {what}"))
        return []

    def steps(self, value: object) -> list[Step]:
        listed = self.items("steps", value, MAX_STEPS, "steps")
        read = (self.step(index, step) for index, step in enumerate(listed))
        return [step for step in read if step is not None]

    def step(self, index: int, value: object) -> Step | None:
        path = f"steps[{index}]"
        kinds = {"observe": self.observe, "price": self.price, "price_split": self.price_split}
        given = self.mapping(path, value, (), (*kinds, "signature", "note"))
        named = [kind for kind in kinds if kind in given]
        if len(named) != 1:
            if isinstance(value, Mapping):
                found = " and ".join(named) if named else "none of them"
                self.problems.append(Problem(path, found, f"exactly one of {', '.join(kinds)}"))
            return None
        self.text(f"{path}.note", given.get("note", ""), limit=MAX_NOTE, empty=True)
        signature = DEFAULT_SIGNATURE
        if "signature" in given:
            signature = self.text(f"{path}.signature", given["signature"])
        return kinds[named[0]](index, f"{path}.{named[0]}", given[named[0]], signature)

    def observe(self, index: int, path: str, value: object, signature: str) -> Step | None:
        seen = self.build(Observation, path, value)
        return None if seen is None else ObserveStep(index, signature, seen)

    def price(self, index: int, path: str, value: object, signature: str) -> Step | None:
        forward = self.build(Forward, path, value, extra=("label", "usable_bytes"))
        label, usable = self.label_and_usable(path, value)
        return None if forward is None else PriceStep(index, signature, label, forward, usable)

    def label_and_usable(self, path: str, value: object) -> tuple[str, int]:
        """Label and usable bytes of a priced step; a missing key was reported with the other keys."""
        given = value if isinstance(value, Mapping) else {}
        label = self.text(f"{path}.label", given["label"]) if "label" in given else ""
        usable = self.count(f"{path}.usable_bytes", given["usable_bytes"]) if "usable_bytes" in given else 0
        return label, usable

    def price_split(self, index: int, path: str, value: object, signature: str) -> Step | None:
        given = self.mapping(path, value, ("label", "usable_bytes", "subforwards"))
        label, usable = self.label_and_usable(path, value)
        if "subforwards" not in given:
            return None
        listed = self.items(f"{path}.subforwards", given["subforwards"], MAX_SUBFORWARDS, "subforwards")
        self.subforwards += len(listed)
        if self.subforwards > MAX_SUBFORWARDS:
            found = f"{self.subforwards} subforwards so far"
            self.problems.append(Problem(path, found, f"at most {MAX_SUBFORWARDS} in all steps together"))
            return None
        parts = [
            self.subforward(f"{path}.subforwards[{place}]", part, signature)
            for place, part in enumerate(listed)
        ]
        return SplitStep(index, label, tuple(part for part in parts if part is not None), usable)

    def subforward(self, path: str, value: object, signature: str) -> tuple[str, Subforward] | None:
        shape = ("packed_tokens", "logical_tokens", "output_bytes")
        span = ("full_sharing_tokens", "no_sharing_tokens")
        given = self.mapping(path, value, shape, (*span, "signature"))
        if any(key not in given for key in shape):
            self.problems += [problem.under(path) for problem in Forward.whole_problems(given)]
            return None
        own = self.text(f"{path}.signature", given["signature"]) if "signature" in given else signature
        forward = self.make(path, lambda: Forward(**{key: given[key] for key in shape}))
        if forward is None:
            return None
        part = self.make(
            path, lambda: Subforward(forward, **{key: given[key] for key in span if key in given})
        )
        return None if part is None else (own, part)
