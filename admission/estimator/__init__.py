"""The memory-admission estimator: prices, profiles, policies, rungs and replays, without Django or I/O."""

from .document import ReplayDocument, read_document, read_json
from .inputs import MAX_WHOLE, Forward, InputError, Model, Observation, Problem
from .policies import PARTS, PRESETS, Policy, PolicyError, Preset, parse_policies, parse_policy
from .pricing import DECIDED_BY, Price, price, usable_bytes
from .profiles import TRUST_FACTOR, Profile, Track
from .replay import replay
from .splits import SplitPrice, Subforward, price_split
from .table import format_table, gib

__all__ = [
    "DECIDED_BY",
    "MAX_WHOLE",
    "PARTS",
    "PRESETS",
    "TRUST_FACTOR",
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
    "SplitPrice",
    "Subforward",
    "Track",
    "format_table",
    "gib",
    "parse_policies",
    "parse_policy",
    "price",
    "price_split",
    "read_document",
    "read_json",
    "replay",
    "usable_bytes",
]
