"""Every state's word, shape and colour, in one place for pages and figures.

Colours are Okabe and Ito's set, which people with the common kinds of colour blindness can tell apart;
none stands without its word or its shape.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """How one state looks. ``pattern`` and ``symbol`` are plotly's names; ``glyph`` is for text.

    ``line`` is the edge's colour where it differs from the mark's own; ``short`` the word where the context
    already says whether this is an approval.
    """

    word: str
    colour: str
    glyph: str
    symbol: str
    pattern: str = ""
    line: str = ""
    short: str = ""
    hollow: bool = False


GREEN, VERMILION, ORANGE, SKY, GREY, BLUE, BLACK, PURPLE = (
    "#009E73", "#D55E00", "#E69F00", "#56B4E9", "#BDBDBD", "#0072B2", "#222222", "#CC79A7",
)  # fmt: skip

MARKS: dict[str, Mark] = {
    "useful": Mark("useful", GREEN, "●", "circle", short="useful"),
    "approved_failed": Mark("approved, failed", VERMILION, "✕", "x", short="failed"),
    "approved_above_margin": Mark("approved, above margin", ORANGE, "▲", "triangle-up", short="above margin"),
    "rejected_usable": Mark(
        "usable, rejected", SKY, "○", "circle-open", short="usable, rejected", hollow=True
    ),
    "rejected_rightly": Mark("rejected, rightly", GREY, "–", "line-ew-open", short="rejected, rightly"),
    "undecided_usable": Mark(
        "usable, undecided", PURPLE, "◇", "diamond-open", pattern=".", short="undecided", hollow=True
    ),
    "undecided_other": Mark(
        "not usable, undecided", GREY, "◇", "diamond-open", pattern=".", short="other undecided",
        hollow=True,
    ),
    "undecided_unscored": Mark(
        "undecided, unscored", GREY, "◇?", "diamond-open-dot", pattern=".", short="undecided, unscored",
        hollow=True,
    ),
    "approved_unscored": Mark(
        "approved, unscored", GREEN, "◍", "circle-open-dot", pattern="/", short="unscored"
    ),
    "approved_unscored_known_failure": Mark(
        "approved, unscored, failure known", GREEN, "◍✕", "circle-x-open",
        pattern="/", line=VERMILION, short="unscored, failure known",
    ),
    "approved_unscored_known_exceedance": Mark(
        "approved, unscored, exceedance known", GREEN, "◍▲", "circle-cross-open",
        pattern="/", line=ORANGE, short="unscored, exceedance known",
    ),
    "rejected_unscored": Mark(
        "rejected, unscored", GREY, "◌", "circle-open", pattern="/", short="rejected, unscored"
    ),
    "unresolved": Mark("unresolved", GREY, "?", "circle-open-dot", pattern="/", short="unresolved"),
}  # fmt: skip

UNSCORED_APPROVALS = (
    "approved_unscored",
    "approved_unscored_known_exceedance",
    "approved_unscored_known_failure",
)
"""States of an approval that is neither a success nor a failure yet, in the order in which they are drawn."""

# What a configuration or a slot was observed to be, apart from any prediction.
LABEL_MARKS: dict[str, Mark] = {
    "within_margin": Mark("within margin", GREEN, "●", "circle"),
    "above_margin": Mark("above margin", ORANGE, "▲", "triangle-up"),
    "memory_failure": Mark("memory failure", VERMILION, "✕", "x"),
    "not_repeated": Mark("not repeated", GREY, "◌", "circle-open"),
}


def themed_colour(mark: Mark) -> str:
    """The mark's colour for a figure. Grey is the stylesheet's, because it must recede in both themes."""
    return "var(--quiet)" if mark.colour == GREY else mark.colour
