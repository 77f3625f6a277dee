"""How the study's names and counts are written in sentences, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from rlvram_site.counting import count_word as count_word
from rlvram_site.counting import counted as counted
from studies.estimation.methods import method_classes

_FAMILIES = {"qwen25": "Qwen", "phi4": "Phi-4-mini", "granite33": "Granite"}

_WORKLOADS = {
    "gsm8k": "GSM8K mathematics",
    "math": "MATH mathematics",
    "code_standard": "Standard code",
    "longer_prompt_code": "Longer-prompt code",
}

_LABELS = {
    "within_margin": ("within margin", "usable"),
    "above_margin": ("above margin", "above-margin"),
    "memory_failure": ("memory failure", "memory-failing"),
}


def method_words(method: str) -> str:
    """The method's own name in sentences; one that is not in the registry has its name with spaces."""
    for known in method_classes():
        if known.name == method and known.words:
            return known.words
    return method.replace("_", " ")


def family_words(family: str) -> str:
    """The makers' name of an architecture family; a family without one keeps its code."""
    return _FAMILIES.get(family, family)


def workload_words(workload: str) -> str:
    """A workload's name where only its id is at hand; an unknown one with spaces."""
    return _WORKLOADS.get(workload, workload.replace("_", " "))


def set_words(fold: str, study: str = "", *, development: bool = False) -> str:
    """A prediction set by its held-out family, empty for the panel's; with the study's title before it.

    ``development`` is said of a set that is no blind prediction.
    """
    words = (f"held-out {family_words(fold)}" if fold else "panel") + (", development" if development else "")
    return f"{study}: {words}" if study else words


def label_words(label: str) -> str:
    """``memory_failure`` as ``memory failure``."""
    return _LABELS[label][0] if label in _LABELS else label.replace("_", " ")


def label_adjective(label: str) -> str:
    """``memory_failure`` as ``memory-failing``; a configuration within the margin is ``usable``."""
    return _LABELS[label][1]


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def sentence(text: str) -> str:
    """The text with a capital first letter; the rest of it stays."""
    return text[:1].upper() + text[1:]
