"""A model's sizes from its Hugging Face ``config.json``.

Families name the same size differently, put the language model under ``text_config``, or the experts under
``ffn_config``. A family whose experts have no key of their own gives their width as ``intermediate_size``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .inputs import InputError, Problem, show, whole_problem

LANGUAGE_SECTIONS = ("text_config", "llm_config", "language_config")
EXPERT_SECTIONS = ("ffn_config", "moe_config")

HIDDEN = ("hidden_size", "d_model", "n_embd")
LAYERS = ("num_hidden_layers", "n_layers", "num_layers", "n_layer")
EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
ROUTED = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "top_k_experts",
)
EXPERT_WIDTHS = ("moe_intermediate_size", "expert_ffn_hidden_size")
SHARED_WIDTHS = ("intermediate_size", "ffn_hidden_size")
DTYPES = ("torch_dtype", "dtype")
ELEMENTS: dict[str, tuple[int, str]] = {
    "bfloat16": (2, "bf16"),
    "float16": (2, "fp16"),
    "half": (2, "fp16"),
    "float32": (4, "fp32"),
    "float": (4, "fp32"),
    "float8_e4m3fn": (1, "fp8"),
    "float8_e5m2": (1, "fp8"),
}


@dataclass(frozen=True)
class ConfigReading:
    """Fields of a :class:`.inputs.Model` that a config gives, and the key that each was read from."""

    family: str
    values: dict[str, Any]
    read_from: dict[str, str]

    def beside(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """The fields with ``own`` in their place where given; a width of elements replaces their type too."""
        values = dict(self.values)
        if "element_bytes" in own and "dtype" not in own:
            values.pop("dtype", None)
        return {**values, **own}


@dataclass(frozen=True)
class _Section:
    """One object of the config, with its place in it."""

    path: str
    values: Mapping[str, Any]

    def place(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


class _Search:
    """Looks keys up in sections, the innermost first, and collects problems."""

    def __init__(self, sections: Sequence[_Section]) -> None:
        self.sections = sections
        self.problems: list[Problem] = []
        self.read_from: dict[str, str] = {}

    def find(self, keys: Sequence[str]) -> tuple[str, Any] | None:
        """Place and value of the first of ``keys`` that isn't null; two that disagree become a problem."""
        for section in self.sections:
            given = [(section.place(key), section.values[key]) for key in keys if key in section.values]
            given = [(place, value) for place, value in given if value is not None]
            for place, value in given[1:]:
                if value != given[0][1]:
                    expected = f"the same as {given[0][0]} = {show(given[0][1])}"
                    self.problems.append(Problem(place, show(value), expected))
            if given:
                return given[0]
        return None

    def whole(self, name: str, keys: Sequence[str], low: int, needed: bool = True) -> int | None:
        """A size; of a list with one number per layer the largest, since the largest layer decides."""
        found = self.find(keys)
        if found is None:
            if needed:
                self.problems.append(Problem(keys[0], "nothing", f"this key, or {', '.join(keys[1:])}"))
            return None
        place, value = found
        numbers = value if isinstance(value, list) and value else [value]
        problems = [problem for number in numbers if (problem := whole_problem(place, number, low))]
        if problems:
            self.problems.append(problems[0])
            return None
        self.read_from[name] = place
        return int(max(numbers))


def read_config(config: object) -> ConfigReading:
    """Sizes from a parsed ``config.json``. Raises InputError that names the keys and what was expected."""
    if not isinstance(config, Mapping):
        raise InputError([Problem("", show(config), "a config.json: an object with hidden_size and others")])
    search = _Search(_sections(config))
    values: dict[str, Any] = {
        "hidden_size": search.whole("hidden_size", HIDDEN, 1),
        "layers": search.whole("layers", LAYERS, 1),
        **_elements(search),
        **_experts(search),
    }
    if search.problems:
        raise InputError(search.problems)
    return ConfigReading(_family(config), values, search.read_from)


def _family(config: Mapping[str, Any]) -> str:
    named = config.get("model_type")
    return named[:60] if isinstance(named, str) and named.isprintable() else ""


def _sections(config: Mapping[str, Any]) -> list[_Section]:
    """The language model's own object first, then the experts' in it, then the whole config."""
    inner = next((key for key in LANGUAGE_SECTIONS if isinstance(config.get(key), Mapping)), None)
    language = _Section(inner, config[inner]) if inner else _Section("", config)
    sections = [language]
    for key in EXPERT_SECTIONS:
        if isinstance(language.values.get(key), Mapping):
            sections.append(_Section(language.place(key), language.values[key]))
    return [*sections, _Section("", config)] if inner else sections


def _elements(search: _Search) -> dict[str, Any]:
    found = search.find(DTYPES)
    if found is None:
        search.problems.append(
            Problem("torch_dtype", "nothing", f"this key, or dtype: {', '.join(ELEMENTS)}")
        )
        return {}
    place, value = found
    known = ELEMENTS.get(value.removeprefix("torch.")) if isinstance(value, str) else None
    if known is None:
        search.problems.append(Problem(place, show(value), f"one of {', '.join(ELEMENTS)}"))
        return {}
    search.read_from["element_bytes"] = search.read_from["dtype"] = place
    return {"element_bytes": known[0], "dtype": known[1]}


def _experts(search: _Search) -> dict[str, Any]:
    """Routed experts and their width; a model that names none is dense."""
    count = search.whole("experts", EXPERTS, 0, needed=False)
    search.read_from.pop("experts", None)
    routed = search.find(ROUTED)
    if count in (0, 1) or (count is None and routed is None):
        return {"experts_per_token": 0}
    each = search.whole("experts_per_token", ROUTED, 0)
    own = search.find(EXPERT_WIDTHS)
    keys = EXPERT_WIDTHS if own else SHARED_WIDTHS
    width = search.whole("expert_intermediate_size", keys, 1, needed=False)
    return {"experts_per_token": each, "expert_intermediate_size": width}
