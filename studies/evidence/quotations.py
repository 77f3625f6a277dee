"""What a trainer prints without saying it: source lines, documentation, and samples of what a model answers.

A sample holds any text, a traceback included. It begins with a label (`[prompt]`, `Response:`, a token of a
chat template, a code fence) and ends where its writer's next own line begins: a score, a line with a
logger's time or level, a progress bar, a record of a step. Until then every line of that writer is part of
it. A closing label that comes later takes back what was counted in between.
"""

from __future__ import annotations

import re
from enum import Enum

from studies.evidence.patterns import linear


class Mark(Enum):
    """What a line does to the sample that its writer may be printing."""

    OPENS = "opens"
    CLOSES = "closes"
    OWN = "own"
    """A line of the program itself."""


_PARTS = (
    "prompt|question|response|completion|answer|output|generation|generated|generated text|generated answer"
    "|model response|model answer|model output|rollout|rollout sample|first rollout sample|sample output"
    "|solution|solution string|solution_str"
)
_BRACKETED = f"{_PARTS}|system|user|assistant|input|problem|query|instruction|sample|reasoning|thinking"
_LAST = "ground_truth|ground truth|extracted|extracted answer|extracted response|extracted equation"
_SCORES = "score|scores|reward|rewards|acc|accuracy"

# `[response] …` as verl prints it; `Response:` at the start of a line as many reward functions do.
_OPENING = re.compile(
    (
        rf"(?:-{{3,80}}+ ?)?(?:\s{{0,8}}+\[(?:{_BRACKETED})\]"
        rf"|(?:\#{{1,4}} |\*\*)?(?:{_PARTS})(?:\*\*)?:(?:\*\*)?(?:\s|$)"
        r"|<\|im_start\|>|<\|start_header_id\|>|<\|(?:user|assistant|system)\|>|<start_of_turn>|<think>|<answer>"
        r"|\[INST\])"
    ).encode(),
    re.IGNORECASE,
)
_CLOSING = re.compile(
    (
        rf"(?:\s{{0,8}}+\[(?:{_LAST}|label|{_SCORES})\]|(?:\*\*)?(?:{_LAST}|{_SCORES})(?:\*\*)?:(?:\*\*)?(?:\s|$)"
        r"|\[\w{2,40}\] ?(?:-?\d|True\b|False\b|None\b)|</answer>\s{0,8}$)"
    ).encode(),
    re.IGNORECASE,
)
_OWN = re.compile(
    rb"\s{0,8}+(?:(?:[\w ()/.-]{1,60}+:)?\s{0,8}+\d{1,3}%\|"
    rb"|\{'(?:loss|reward|grad_norm|train_loss|kl|epoch)\w{0,40}'"
    rb"|step:\d|ray\.exceptions\.|Error executing job with|srun: |slurmstepd: |wandb: )"
)

OWN_GATE = (
    r"\d\d:\d\d:\d\d|\b(?:CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|DEBUG)\b|\d%\|"
    r"|\{'(?:loss|reward|grad_norm|train_loss|kl|epoch)"
    r"|\bstep:\d|ray\.exceptions\.|Error executing job with|srun: |slurmstepd: |wandb: "
    r"|\(\w[^()\n]*\bpid=|\[rank"
)
"""Found in every line that can end a sample or shows who writes; asked for only while a sample is open."""

_LABELS = f"{_BRACKETED}|{_LAST}|label|{_SCORES}"
SAMPLE_GATE = (
    rf"\[(?:{_LABELS})\]|\b(?:{_PARTS}|{_LAST}|{_SCORES})(?:\*\*)?:(?:\*\*)?\s|<\|im_start|<\|start_header"
    r"|<\|(?:user|assistant|system)\|>|<start_of_turn>|<think>|</?answer>|\[INST\]|```"
)
"""Found in every line that can begin a sample, or close it."""


def mark_of(body: bytes) -> Mark | None:
    """What a line does to a sample of its writer; None for a line that is part of whatever is printed."""
    if _CLOSING.match(body):
        return Mark.CLOSES
    if _OPENING.match(body):
        return Mark.OPENS
    return Mark.OWN if _OWN.match(body) else None


def is_fence(body: bytes) -> bool:
    """Whether a line opens or closes a block of quoted code."""
    return body.lstrip().startswith(b"```")


_CODE = linear(
    r"^\s*(?:raise|except|assert|return|if|elif|with|for|logger\.|logging\.|log\.|print\(|warnings\.|self\."
    r"|[rfbu]?[rfbu]?[\"']|\w+(?:\.\w+)* = )"
)
_CONTAINER = linear(r"^\s*(?:[A-Za-z][\w -]*[:=]\s*)?(?:\w+\()?[\[({]\s*(?:[\[({]\s*)*[rfbu]?[\"']")
_ERRORS_LABEL = linear(
    r"^\s*(?:[\w -]*\b)?(?:error|errors|exception|exceptions|failure|failures|traceback)\b[\w -]*[:=(]",
    ignore_case=True,
)
_LAST_SAMPLE_KEY = linear(
    r".*\b(?:prompts?|responses?|completions?|answers?|outputs?|output_text|generated_text|generations?|solution"
    r"|solution_str|question|inputs?|content|text|samples?|messages)[\"']?\s*[:=]\s*([\[({]*)\s*[rfbu]?[\"']",
    ignore_case=True,
)
_LAST_LOG_KEY = linear(
    r".*[\"'](?:level|levelname|severity|msg|message|event|error|exception|exc_info|traceback|stack|log|detail)"
    r"[\"']\s*:",
    ignore_case=True,
)
_BOX = tuple(mark.encode() for mark in "│┃║")


def is_quotation(body: bytes, position: int) -> bool:
    """Whether what stands at `position` is quoted: source code, documentation, or part of a printed sample.

    A source line that another process ran into, with its own message unquoted, is no quotation.
    """
    if body.lstrip().startswith((b"#", *_BOX)) or _OPENING.match(body) or _CLOSING.match(body):
        return True
    before = body[:position]
    bare = before.rstrip(b" ")
    if bare.endswith(b"`"):
        return True
    if before.find(b'"') < 0 and before.find(b"'") < 0:
        return False
    if bare.endswith((b'"', b"'")) and _CODE.search(body):
        return True
    return _in_printed_value(before)


def _in_printed_value(before: bytes) -> bool:
    """Whether the text before a message leaves off inside a string of a printed list or record of answers."""
    key, log = _LAST_SAMPLE_KEY.search(before), _LAST_LOG_KEY.search(before)
    if key is not None and (log is None or log.end() < key.end()):
        return not _closed(before, key.end(), b"]" if b"[" in (key.group(1) or b"") else b",)}]")
    found = _CONTAINER.search(before)
    if found is None or log is not None or _ERRORS_LABEL.search(before):
        return False
    return not _closed(before, found.end(), b"])}")


def _closed(before: bytes, opened: int, ends: bytes) -> bool:
    """Whether the string whose quote ends at `opened` is closed: by its quote and one of the `ends`."""
    quote = before[opened - 1 : opened]
    return any(before.find(quote + ends[i : i + 1], opened) >= 0 for i in range(len(ends)))
