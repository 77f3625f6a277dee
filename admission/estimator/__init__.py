"""The memory-admission estimator: prices, profiles, policies, rungs and replays, without Django or I/O."""

from .conformance import KINDS, Conformance, conformance_table
from .document import (
    MAX_DOCUMENT_SIZE,
    ReplayDocument,
    read_document,
    read_json,
    read_model,
    with_model_config,
)
from .experts import EXPERT_FLOORS, ExpertFloor
from .hf_config import ConfigReading, read_config
from .inputs import EXPERT_DISPATCHES, MAX_WHOLE, Forward, InputError, Model, Observation, Problem
from .policies import PARTS, PRESETS, Policy, PolicyError, Preset, parse_policies, parse_policy
from .pricing import DECIDED_BY, Price, compare, price, usable_bytes
from .profiles import TRUST_FACTOR, Profile, Track
from .replay import replay
from .shapes import QWEN_35B_A3B, SHAPES, Shape
from .splits import SplitPrice, Subforward, price_split
from .table import format_table, gib

__all__ = [
    "DECIDED_BY",
    "EXPERT_DISPATCHES",
    "EXPERT_FLOORS",
    "KINDS",
    "MAX_DOCUMENT_SIZE",
    "MAX_WHOLE",
    "PARTS",
    "PRESETS",
    "QWEN_35B_A3B",
    "SHAPES",
    "TRUST_FACTOR",
    "ConfigReading",
    "Conformance",
    "ExpertFloor",
    "Forward",
    "InputError",
    "Model",
    "Observation",
    "Policy",
    "PolicyError",
    "Preset",
    "Price",
    "Problem",
    "Profile",
    "ReplayDocument",
    "Shape",
    "SplitPrice",
    "Subforward",
    "Track",
    "compare",
    "conformance_table",
    "format_table",
    "gib",
    "parse_policies",
    "parse_policy",
    "price",
    "price_split",
    "read_config",
    "read_document",
    "read_json",
    "read_model",
    "replay",
    "usable_bytes",
    "with_model_config",
]
