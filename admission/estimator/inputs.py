"""What goes into an estimate: the model, the shape of a forward, and a measured observation.

Every value object checks its own fields, so the same rule holds for a replay file, a form on a page
and a caller in Python. All problems of one object are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

MAX_WHOLE = 2**53
"""Largest accepted count of bytes or tokens. Up to here a double and JSON hold every integer exactly."""

MOE_DTYPES = ("bf16", "fp16")
EXPERT_DISPATCHES = ("alltoall", "hybridep", "other")
"""How tokens reach their experts. Only the first two have a known working set."""
HYBRIDEP_ALLOWANCE = (12, 8)
"""Rows for each row of one rank: HybridEP's room for uneven routing."""
DTYPE_BYTES = {"fp8": 1, "bf16": 2, "fp16": 2, "fp32": 4}


def show(value: object) -> str:
    """A value as it may stand in an error text: one line, printable, short."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # holds an integer too long to print, or itself
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the input: which field, the value found, and what was expected."""

    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}; expected {self.expected}"

    def under(self, path: str) -> Problem:
        """The same problem seen from the object that holds this one."""
        return Problem(f"{path}.{self.field}" if self.field else path, self.found, self.expected)


class InputError(ValueError):
    """Input that cannot be priced; ``problems`` lists every reason found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def whole_problem(field: str, value: object, low: int) -> Problem | None:
    """The problem with ``value`` as a count, or None when it is a whole number in range."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= MAX_WHOLE:
        return None
    return Problem(field, show(value), f"a whole number from {low} to {MAX_WHOLE} (2**53)")


class Checked:
    """Base of the value objects: the least value of every whole-number field, and their check."""

    LOWEST: ClassVar[dict[str, int]] = {}
    MAY_BE_NONE: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def whole_problems(cls, given: Mapping[str, Any]) -> list[Problem]:
        """The problems of the whole-number fields among ``given``."""
        checked = (
            whole_problem(name, given[name], low)
            for name, low in cls.LOWEST.items()
            if name in given and not (name in cls.MAY_BE_NONE and given[name] is None)
        )
        return [problem for problem in checked if problem is not None]


@dataclass(frozen=True)
class Model(Checked):
    """The sizes of a model that the estimate uses.

    ``element_bytes`` is the width of an activation; ``experts_per_token`` counts the routed experts
    (0 for a dense model). ``expert_intermediate_size`` is the width F inside one expert; only floors that
    count a buffer of that width ask for it. The parallel sizes, ``expert_dispatch``, ``dtype`` and
    ``dropless`` only decide whether the expert floor applies: see :attr:`expert_rows_allowance`.
    """

    hidden_size: int
    layers: int
    element_bytes: int
    experts_per_token: int
    expert_intermediate_size: int | None = None
    tensor_parallel: int = 1
    context_parallel: int = 1
    expert_parallel: int = 1
    expert_tensor_parallel: int = 1
    expert_dispatch: str = "alltoall"
    dtype: str | None = None
    dropless: bool = True

    LOWEST: ClassVar[dict[str, int]] = {
        "hidden_size": 1,
        "layers": 1,
        "element_bytes": 1,
        "experts_per_token": 0,
        "expert_intermediate_size": 1,
        "tensor_parallel": 1,
        "context_parallel": 1,
        "expert_parallel": 1,
        "expert_tensor_parallel": 1,
    }
    MAY_BE_NONE: ClassVar[tuple[str, ...]] = ("expert_intermediate_size",)

    def __post_init__(self) -> None:
        problems = self.whole_problems(vars(self))
        if self.expert_dispatch not in EXPERT_DISPATCHES:
            expected = f"one of {', '.join(EXPERT_DISPATCHES)}"
            problems.append(Problem("expert_dispatch", show(self.expert_dispatch), expected))
        if not isinstance(self.dropless, bool):
            problems.append(Problem("dropless", show(self.dropless), "true or false"))
        if self.dtype is not None:
            width = DTYPE_BYTES.get(self.dtype) if isinstance(self.dtype, str) else None
            if width is None:
                problems.append(Problem("dtype", show(self.dtype), f"one of {', '.join(DTYPE_BYTES)}"))
            elif width != self.element_bytes:
                problems.append(
                    Problem(
                        "dtype", show(self.dtype), f"a type of element_bytes = {show(self.element_bytes)}"
                    )
                )
        if problems:
            raise InputError(problems)

    @property
    def activation_factor(self) -> int:
        """Live hidden-size rows per packed token, between 4 and 16, growing with depth."""
        return min(16, max(4, self.layers // 4 + 4))

    @property
    def expert_rows_allowance(self) -> tuple[int, int]:
        """Routed rows of this rank for each row of a single rank, as a fraction; (0, 1): no floor applies.

        The buffers were shown for tensor, expert and expert-tensor parallel of 1, ordinary 16-bit floats and
        dropless routing. Context parallel shards rows and changes nothing per token. HybridEP over two or
        more ranks has the same buffers and an allowance for uneven routing. Elsewhere nothing is claimed.
        """
        ordinary = self.element_bytes == 2 and (self.dtype is None or self.dtype in MOE_DTYPES)
        whole_experts = self.tensor_parallel == self.expert_tensor_parallel == 1
        if not (ordinary and whole_experts and self.dropless and self.experts_per_token):
            return (0, 1)
        if self.expert_dispatch == "alltoall" and self.expert_parallel == 1:
            return (1, 1)
        if self.expert_dispatch == "hybridep" and self.expert_parallel > 1:
            return HYBRIDEP_ALLOWANCE
        return (0, 1)


@dataclass(frozen=True)
class Forward(Checked):
    """The shape of one candidate forward: tokens after packing, tokens asked for, bytes to return."""

    packed_tokens: int
    logical_tokens: int
    output_bytes: int

    LOWEST: ClassVar[dict[str, int]] = {"packed_tokens": 0, "logical_tokens": 0, "output_bytes": 0}

    def __post_init__(self) -> None:
        problems = self.whole_problems(vars(self))
        if not problems and self.packed_tokens and not self.logical_tokens:
            problems.append(
                Problem("logical_tokens", "0", f"at least 1, since packed_tokens is {self.packed_tokens}")
            )
        if problems:
            raise InputError(problems)


@dataclass(frozen=True)
class Observation(Checked):
    """One measured forward.

    ``peak_bytes`` and ``baseline_bytes`` are allocator readings of the same interval;
    ``retained_bytes`` is what stayed allocated above the baseline after the forward returned, the
    requested outputs included (None: not measured).
    """

    packed_tokens: int
    logical_tokens: int
    output_bytes: int
    baseline_bytes: int
    peak_bytes: int
    retained_bytes: int | None = None

    LOWEST: ClassVar[dict[str, int]] = {
        "packed_tokens": 1,
        "logical_tokens": 1,
        "output_bytes": 0,
        "baseline_bytes": 0,
        "peak_bytes": 0,
        "retained_bytes": 0,
    }
    MAY_BE_NONE: ClassVar[tuple[str, ...]] = ("retained_bytes",)

    def __post_init__(self) -> None:
        problems = self.whole_problems(vars(self))
        if not problems and self.peak_bytes < self.baseline_bytes:
            expected = f"at least baseline_bytes = {self.baseline_bytes}"
            problems.append(Problem("peak_bytes", show(self.peak_bytes), expected))
        above = None if problems else self.peak_bytes - self.baseline_bytes
        if above is not None and self.retained_bytes is not None and self.retained_bytes > above:
            expected = f"at most peak_bytes - baseline_bytes = {above}"
            problems.append(Problem("retained_bytes", show(self.retained_bytes), expected))
        if problems:
            raise InputError(problems)

    @property
    def compute_bytes(self) -> int:
        """Peak above the baseline less the requested outputs, never below zero."""
        return max(0, self.peak_bytes - self.baseline_bytes - self.output_bytes)

    @property
    def retained_compute_bytes(self) -> int | None:
        """What stayed less the requested outputs, never below zero; None if that was not measured."""
        return None if self.retained_bytes is None else max(0, self.retained_bytes - self.output_bytes)
