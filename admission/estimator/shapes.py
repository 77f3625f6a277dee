"""Published shapes, ready to be priced: the presets of a calculator.

Source: the public thread https://github.com/OpenPipe/ART/issues/848. Where a count is not stated there and
was worked out from a stated total, the shape's text says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from .inputs import Forward, Model, Observation

QWEN_35B_A3B = Model(
    hidden_size=2048, layers=40, element_bytes=2, experts_per_token=8, expert_intermediate_size=512
)
"""Sizes of Qwen3.5-35B-A3B and Qwen3.6-35B-A3B in bf16, one rank."""

FIRST_PERPLEXITY_CALL = Observation(
    packed_tokens=27,
    logical_tokens=27,
    output_bytes=108,
    baseline_bytes=69_674_556_928,
    peak_bytes=70_148_392_960,
)


@dataclass(frozen=True)
class Shape:
    """A published candidate: model, forward, what was learned before it and what was usable (bytes)."""

    name: str
    title: str
    explanation: str
    model: Model
    forward: Forward
    observations: tuple[Observation, ...] = ()
    usable_bytes: int | None = None


SHAPES: tuple[Shape, ...] = (
    Shape(
        name="g16",
        title="Original g16, 106,432 tokens",
        explanation="Admitted cold, then out of memory while backward recomputed a layer. Outputs left at 0.",
        model=QWEN_35B_A3B,
        forward=Forward(packed_tokens=106_432, logical_tokens=106_432, output_bytes=0),
    ),
    Shape(
        name="pressured-cold",
        title="Pressured cold admission, 45,981 packed tokens",
        explanation="Admitted at 4,092,810,444 B with the floor of two, then out of memory. The outputs are "
        "worked out: one hidden row of 4,096 B for each of the 172,687 logical tokens gives exactly that "
        "requirement.",
        model=QWEN_35B_A3B,
        forward=Forward(packed_tokens=45_981, logical_tokens=172_687, output_bytes=707_325_952),
        usable_bytes=4_652_784_333,
    ),
    Shape(
        name="post-save-probe",
        title="Post-save probe, 495,955 packed tokens",
        explanation="Admitted at 66,302,838,756 B by a trusted profile whose observations are not published, "
        "then out of memory. Priced here cold and without outputs.",
        model=QWEN_35B_A3B,
        forward=Forward(packed_tokens=495_955, logical_tokens=1_052_548, output_bytes=0),
        usable_bytes=68_787_071_693,
    ),
    Shape(
        name="tiny-trusted",
        title="216 tokens after a 27-token call",
        explanation="Last packed count that the first perplexity call is trusted for; 217 is cold.",
        model=QWEN_35B_A3B,
        forward=Forward(packed_tokens=216, logical_tokens=216, output_bytes=864),
        observations=(FIRST_PERPLEXITY_CALL,),
        usable_bytes=73_468_636_823,
    ),
)
