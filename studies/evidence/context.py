"""What stands around a message: where in the program it arose, and whether somebody dealt with it."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from studies.evidence.patterns import Pattern, linear


class Place(Enum):
    """The part of a run that a traceback leads into, as far as it changes a diagnosis."""

    GENERATION_START = "generation start-up"
    WEIGHT_SYNC = "weight sync"
    PINNED_HOST_MEMORY = "page-locked host memory"


_ANYWHERE = linear("")
_ENGINE_PATH = linear(r"vllm|sglang")

# Names of functions in vLLM 0.4-0.11 and SGLang, and in verl and trainers built on it.
_PLACES: tuple[tuple[Place, Pattern, str], ...] = (
    (
        Place.GENERATION_START,
        _ENGINE_PATH,
        r"init_device|load_model|determine_available_memory|determine_num_available_blocks|profile_run"
        r"|_?profile\w*|_?initialize_kv_caches?|initialize_cache|initialize_from_config|_?init_cache_engine"
        r"|_?allocate_kv_cache\w*|capture_model|capture_graph|_?capture_cudagraphs?|init_cuda_graphs"
        r"|init_device_graphs|compile_or_warm_up_model|warming_up_model|_dummy_run|_dummy_sampler_run"
        r"|_dummy_pooler_run\w*|_?init_executor|init_memory_pool|create_and_init_\w+",
    ),
    (
        Place.WEIGHT_SYNC,
        _ANYWHERE,
        r"_?update_weights?\w*|update_params|sync_weights?|sync_model_weights|broadcast_\w*weights?"
        r"|receive_\w*weights?|rollout_mode|wake_up|resume_memory_occupation|merged?_lora\w*"
        r"|collect_lora_params",
    ),
    (Place.WEIGHT_SYNC, linear("sharding_manager"), "__enter__"),
    (Place.WEIGHT_SYNC, linear("rollout|vllm|sglang"), "resume"),
    (Place.PINNED_HOST_MEMORY, _ANYWHERE, r"_?pin_memory\w*"),
)
_FUNCTIONS = tuple((place, path, linear(f"^(?:{names})$")) for place, path, names in _PLACES)
_PINNING_CODE = linear(r"\.pin_memory\(|\bpin_memory\s*=")
_NOT_PINNING = linear(r"\bpin_memory\s*=\s*(?:False|None)")

FRAME_GATE = r", in (?:" + "|".join(names for _, _, names in _PLACES) + r")\s|\bpin_memory"
"""Found in every line of a traceback that names a place which matters."""

ENGINE_SOURCE = linear(
    r"EngineCore|VllmWorker|Worker_(?:TP|PP|DP)\d|RayWorkerWrapper|vLLM\w*Server|LLMRayActor|SGLangEngine"
)
"""Processes of a generation engine, as they call themselves in front of their lines."""


def place_of(body: bytes) -> Place | None:
    """The place that one line of a traceback names, or None if it names none that matters."""
    _, mark, rest = body.partition(b'File "')
    if mark:
        path, mark, rest = rest.partition(b'", line ')
        if mark:
            function = rest.partition(b", in ")[2].split(maxsplit=1)
            return _place(path, function[0]) if function else None
    if _PINNING_CODE.search(body) and not _NOT_PINNING.search(body):
        return Place.PINNED_HOST_MEMORY
    return None


@lru_cache(maxsize=4096)
def _place(path: bytes, function: bytes) -> Place | None:
    for place, paths, functions in _FUNCTIONS:
        if functions.search(function) and paths.search(path):
            return place
    return None


_ADVICE = linear(
    r"\bif (?:you|this|it|there|the)\b|\bin case\b|\bto (?:avoid|prevent|fix|handle|reduce)\b"
    r"|\b(?:may|might|could|can|will) (?:cause|lead|result|run|hit|raise|trigger|see|throw|fail|be|still)\b"
    r"|\b(?:tip|hint|note|suggestion)\b\W|\bsuch as\b|\be\.g\.|\bfor example\b|\berrors? like\b",
    ignore_case=True,
)


def is_advice(before: bytes) -> bool:
    """Whether the words before a message make it a warning about what could happen, not a report."""
    return bool(before) and _ADVICE.search(before) is not None


NO_ISSUE_GATE = (
    r"not be (?:an? )?(?:issue|error|problem|failure)"
    r"|not (?:necessarily )?an? (?:issue|error|failure|problem)"
)
_NO_ISSUE = linear(
    rf"\b(?:(?:may|might|need) {NO_ISSUE_GATE})\b"
    r"|\bnon-?fatal\b|\b(?:can|may) (?:safely )?be (?:safely )?ignored|\bsafe to ignore\b|\bharmless\b"
    r"|\bwill (?:free|empty|release|flush) (?:its |the )?cache\b|\bwill (?:be )?retr(?:y|ied)\b",
    ignore_case=True,
)


def says_no_issue(body: bytes) -> bool:
    """Whether a message itself says that what it reports may be no failure, because it is tried again."""
    return _NO_ISSUE.search(body) is not None


EXHAUSTED_GATE = r"\bOOM\b|out[- ]of[- ]memory|OutOfMemory"
_EXHAUSTED = linear(EXHAUSTED_GATE, ignore_case=True)
# Not "caught": an exception is also caught to be logged and raised again.
_DEALT_WITH = linear(
    r"\bretrying\b|\brecover(?:ed|ing)\b|\bskipp(?:ed|ing)\b|\bfalling back\b"
    r"|\bcontinuing (?:with|anyway|without)\b",
    ignore_case=True,
)
SMALLER_GATE = (
    r"\bretry(?:ing)? (?:\w+ )?(?:with|at|using) (?:a )?(?:smaller|half|lower|reduced|micro|batch|chunk)"
    r"|\b(?:decreas|reduc)(?:ing|ed) (?:the )?(?:\w+[-_ ])?batch"
    r"|\bbatch size \d+ failed|\bignoring this choice\b|\bhalving (?:the )?(?:\w+[-_ ])?batch"
    r"|\bfalling back to (?:a )?(?:smaller|micro|cpu|eager|gradient)"
)
_REPEATED_SMALLER = linear(SMALLER_GATE, ignore_case=True)
# A trainer skips steps and lowers things for numbers' sake as well.
_NUMBERS = linear(
    r"\boverflow|\bunderflow|\bloss[- _]?scale|\b(?:nan|inf)s?\b|\bgrad(?:ient)?[-_ ]norm",
    ignore_case=True,
)
NOTHING_FITS_GATE = (
    r"no executable batch size found|batch size (?:has )?reached (?:zero|0\b|the minimum)"
    r"|no batch size (?:that )?(?:fits|works)|already at (?:the )?(?:minimum|smallest) batch size"
    r"|(?:cannot|can't|could not) (?:be )?reduced? (?:the )?batch size (?:any )?further"
)
_NOTHING_FITS = linear(NOTHING_FITS_GATE, ignore_case=True)
_NAMED_PROCESS = linear(r"\b(?:rank|gpu|worker|pid|device)[ =:#]*(?:cuda:)?(\d+)", ignore_case=True)
_ALLOCATION = linear(r"\btried to allocate ([\d.]+ ?[KMGT]i?B)", ignore_case=True)

# One of these stands in every line that reports an exhaustion as dealt with.
_HANDLING = (
    "retry", "skipp", "reduc", "decreas", "recover", "halving", "falling back", "ignoring",
    "batch size", "continuing",
)  # fmt: skip


def says_exhausted(body: bytes) -> bool:
    """Whether a line speaks of memory that ran out, of any kind."""
    return _EXHAUSTED.search(body) is not None


def says_handled(body: bytes, lowered: str) -> bool:
    """Whether a line reports, not announces, that an exhaustion was dealt with."""
    if not any(word in lowered for word in _HANDLING):
        return False
    match = _REPEATED_SMALLER.search(body)
    if match is None and _EXHAUSTED.search(body):
        match = _DEALT_WITH.search(body)
    if match is None or is_advice(body[: match.start()]):
        return False
    if "giving up" in lowered:
        return False
    return _NUMBERS.search(body) is None or _EXHAUSTED.search(body) is not None


def says_nothing_fits(body: bytes, lowered: str) -> bool:
    """Whether a search for a batch size that fits reports that there is none."""
    return "batch size" in lowered and _NOTHING_FITS.search(body) is not None


def process_named_in(text: bytes) -> bytes | None:
    """Number of the rank, device or process that a line names, or None."""
    match = _NAMED_PROCESS.search(text)
    return match.group(1) if match else None


def allocation_named_in(text: bytes) -> bytes | None:
    """The size that a line says was asked for, or None."""
    match = _ALLOCATION.search(text)
    return match.group(1) if match else None
