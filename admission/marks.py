"""How classes of witnesses and verdicts look: a word, a shape and a colour, in the site's own set."""

from __future__ import annotations

from rlvram_site.marks import GREEN, GREY, ORANGE, SKY, VERMILION, Mark

CLASS_MARKS: dict[str, Mark] = {
    "unsafe_admission": Mark("unsafe admission", VERMILION, "✕", "x", short="unsafe"),
    "usable_exceeded": Mark("usable exceeded", VERMILION, "◆", "diamond", short="usable exceeded"),
    "safe_admission": Mark("safe admission", GREEN, "●", "circle", short="safe"),
    "unscored_admission": Mark(
        "admission, unscored", GREEN, "◍", "circle-open-dot", pattern="/", short="unscored"
    ),
    "over_refusal": Mark("over-refusal", SKY, "○", "circle-open", short="over-refusal"),
    "correct_refusal": Mark("correct refusal", GREY, "–", "line-ew-open", short="correct refusal"),
    "unscored_refusal": Mark("refusal, unscored", GREY, "◌", "circle-open", pattern="/", short="unscored"),
    "under_estimated": Mark("under-estimated", ORANGE, "▲", "triangle-up", short="under-estimated"),
}
"""By the names of ``admission.services.witnesses.WitnessClass``, and the flag that may come with it."""

VERDICT_MARKS: dict[str, Mark] = {
    "clear": Mark("clear", GREEN, "●", "circle", short="clear"),
    "changes_required": Mark("changes required", VERMILION, "✕", "x", short="changes required"),
    "withdrawn": Mark("withdrawn", GREY, "–", "line-ew-open", short="withdrawn"),
    "inconclusive": Mark("inconclusive", GREY, "?", "circle-open-dot", pattern="/", short="inconclusive"),
    "": Mark("no standing verdict", GREY, "◌", "circle-open", short="none"),
}
"""By the verdicts of ``admission.models.Review``; empty for a head that has none."""

# The site's stylesheet draws marks by the state that they stand for; these states look the same.
LOOKS_LIKE = {
    "unsafe_admission": "approved-failed",
    "usable_exceeded": "approved-failed",
    "safe_admission": "useful",
    "unscored_admission": "approved-unscored",
    "over_refusal": "rejected-usable",
    "correct_refusal": "rejected-rightly",
    "unscored_refusal": "rejected-unscored",
    "under_estimated": "approved-above-margin",
    "clear": "useful",
    "changes_required": "approved-failed",
    "withdrawn": "rejected-rightly",
    "inconclusive": "unresolved",
    "": "rejected-unscored",
}

LANES: dict[str, tuple[str, str]] = {
    "status": ("square", "var(--focus)"),
    "issue": ("diamond", VERMILION),
    "head": ("triangle-right", "var(--text)"),
    "review": ("circle", GREEN),
    "correction": ("x", VERMILION),
    "witness": ("star", ORANGE),
    "comment": ("circle-open", "var(--muted)"),
}
"""Symbol and colour of each lane of the timeline, from top to bottom."""
