"""Why something was changed, in our words.

A study's facts keep its authors' sentences as hashes. A reason that we have read is told here under that
hash, so that a page can say why; one that we have not read stays a hash.
"""

from __future__ import annotations

from studies.models import Amendment

_TOLD = {
    "487fac5e06363aa89441eb7297de8d587c63b301eef96a7dea16da140c455027": (
        "A review of the code before launch found that the eighth feature, whether actor parameters are "
        "offloaded, could only ever raise the predicted memory, because the regression's coefficients "
        "can't be negative, while offloading lowers it. The resident actor shards in GiB took its place, "
        "for regression and classifier alike. Nothing was sealed and no target had run; no outcome and no "
        "search for settings led to it."
    ),
}
"""By the sha256 of the authors' text."""


def reason_words(amendment: Amendment) -> str:
    """Why it was made: as recorded here, or told in our words; empty where neither is known."""
    return amendment.reason or _TOLD.get(reason_sha256(amendment), "")


def reason_sha256(amendment: Amendment) -> str:
    """The hash that its facts keep of the authors' reason; empty where it is written out or there is none."""
    kept = amendment.document.get("reason") if isinstance(amendment.document, dict) else None
    return kept.get("text_sha256", "") if isinstance(kept, dict) else ""
