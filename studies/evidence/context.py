"""What stands around a message: where in the program it arose, and whether somebody dealt with it."""

from __future__ import annotations

import re
from enum import Enum


class Place(Enum):
    """The part of a run that a traceback leads into, as far as it changes a diagnosis."""

    GENERATION_START = "generation start-up"
    WEIGHT_SYNC = "weight sync"
    PINNED_HOST_MEMORY = "page-locked host memory"


_FRAME = re.compile(r'File "(?P<path>[^"]+)", line \d+, in (?P<function>\S+)')

_ENGINE_PATH = re.compile(r"vllm|sglang")

# Names of functions in vLLM 0.4-0.11 and SGLang, and in verl and trainers built on it.
_PLACES: tuple[tuple[Place, re.Pattern[str], re.Pattern[str]], ...] = (
    (
        Place.GENERATION_START,
        _ENGINE_PATH,
        re.compile(
            r"^(?:init_device|load_model|determine_available_memory|determine_num_available_blocks|profile_run"
            r"|_?profile\w*|_?initialize_kv_caches?|initialize_cache|initialize_from_config|_?init_cache_engine"
            r"|_?allocate_kv_cache\w*|capture_model|capture_graph|_?capture_cudagraphs?|init_cuda_graphs"
            r"|init_device_graphs|compile_or_warm_up_model|warming_up_model|_dummy_run|_dummy_sampler_run"
            r"|_dummy_pooler_run\w*|_?init_executor|init_memory_pool|create_and_init_\w+)$"
        ),
    ),
    (
        Place.WEIGHT_SYNC,
        re.compile(r""),
        re.compile(
            r"^(?:_?update_weights?\w*|update_params|sync_weights?|sync_model_weights|broadcast_\w*weights?"
            r"|receive_\w*weights?|rollout_mode|wake_up|resume_memory_occupation|merged?_lora\w*"
            r"|collect_lora_params)$"
        ),
    ),
    (Place.WEIGHT_SYNC, re.compile(r"sharding_manager"), re.compile(r"^__enter__$")),
    (Place.WEIGHT_SYNC, re.compile(r"rollout|vllm|sglang"), re.compile(r"^resume$")),
    (Place.PINNED_HOST_MEMORY, re.compile(r""), re.compile(r"^_?pin_memory\w*$")),
)
_PINNING_CODE = re.compile(r"\.pin_memory\(|\bpin_memory\s*=\s*(?!False|None)")

ENGINE_SOURCE = re.compile(
    r"EngineCore|VllmWorker|Worker_(?:TP|PP|DP)\d|RayWorkerWrapper|vLLM\w*Server|LLMRayActor|SGLangEngine"
)
"""Processes of a generation engine, as they call themselves in front of their lines."""


def place_of(text: str) -> Place | None:
    """The place that one line of a traceback names, or None if it names none that matters."""
    match = _FRAME.search(text)
    if match:
        for place, path, function in _PLACES:
            if function.match(match["function"]) and path.search(match["path"]):
                return place
        return None
    return Place.PINNED_HOST_MEMORY if _PINNING_CODE.search(text) else None


_CODE = re.compile(
    r"^\s*(?:raise|except|assert|return|if|elif|with|for|logger\.|logging\.|log\.|print\(|warnings\.|self\."
    r"|[rfbu]{0,2}[\"']|\w+(?:\.\w+)* = )"
)
_SAMPLE = re.compile(r"^\[(?:prompt|response|ground_truth|score|input|output)\]")


def is_quotation(body: str, position: int) -> bool:
    """Whether what stands at `position` is quoted: source code, documentation, or a printed sample.

    A source line that another process ran into, with its own message unquoted, is no quotation.
    """
    if _SAMPLE.match(body) or body.lstrip().startswith("#"):
        return True
    before = body[:position].rstrip(" ")
    return before.endswith("`") or (before.endswith(('"', "'")) and bool(_CODE.match(body)))


_ADVICE = re.compile(
    r"\bif (?:you|this|it|there|the)\b|\bin case\b|\bto (?:avoid|prevent|fix|handle|reduce)\b"
    r"|\b(?:may|might|could|can|will) (?:cause|lead|result|run|hit|raise|trigger|see|throw|fail|be|still)\b"
    r"|\b(?:tip|hint|note|suggestion)\b\W|\bsuch as\b|\be\.g\.|\bfor example\b|\berrors? like\b",
    re.IGNORECASE,
)


def is_advice(before: str) -> bool:
    """Whether the words before a message make it a warning about what could happen, not a report."""
    return bool(_ADVICE.search(before))


_EXHAUSTED = re.compile(r"\bOOM\b|out[- ]of[- ]memory|OutOfMemory", re.IGNORECASE)
# Not "caught": an exception is also caught to be logged and raised again.
_DEALT_WITH = re.compile(
    r"\bretrying\b|\brecover(?:ed|ing)\b|\bskipp(?:ed|ing)\b|\bfalling back\b"
    r"|\bcontinuing (?:with|anyway|without)\b",
    re.IGNORECASE,
)
_REPEATED_SMALLER = re.compile(
    r"\bretry(?:ing)? (?:\w+ )?(?:with|at|using) (?:a )?(?:smaller|half|lower|reduced|micro|batch|chunk)"
    r"|\b(?:decreas|reduc)(?:ing|ed) (?:the )?(?:\w+[-_ ])?batch"
    r"|\bskipp(?:ing|ed) (?:this |the )?(?:batch|step|sample)"
    r"|\bbatch size \d+ failed|\bignoring this choice\b|\bhalving (?:the )?(?:\w+[-_ ])?batch"
    r"|\bfalling back to (?:a )?(?:smaller|micro|cpu|eager|gradient)",
    re.IGNORECASE,
)


def says_exhausted(body: str) -> bool:
    """Whether a line speaks of memory that ran out, of any kind."""
    return bool(_EXHAUSTED.search(body))


def says_handled(body: str) -> bool:
    """Whether a line reports, not announces, that an exhaustion was dealt with."""
    match = _REPEATED_SMALLER.search(body)
    if match is None and _EXHAUSTED.search(body):
        match = _DEALT_WITH.search(body)
    return match is not None and not is_advice(body[: match.start()])
