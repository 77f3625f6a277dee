"""Recorded evidence that is found damaged or missing, and evidence that is whole again.

No record says so, and no stream grows: what was found at the last checks is compared with what was told.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from notices.kinds import Kind
from notices.models import Notice, Snapshot
from notices.watching import hand_out
from studies.models import EvidenceBlob, StoredFile, Study

_log = logging.getLogger(__name__)
_STREAM = "evidence/"
NAMED = 4
"""Files that one message names; more are counted."""


def watch_evidence() -> int:
    """Tell of every study whose lost files are others than was told. Returns how many notices."""
    lost = _lost()
    told = {
        row.stream.removeprefix(_STREAM): row.state["lost"]
        for row in Snapshot.objects.filter(stream__startswith=_STREAM)
    }
    written = 0
    for slug in sorted(lost.keys() | told.keys()):
        if lost.get(slug, []) == told.get(slug, []):
            continue
        try:
            written += _tell(slug, lost.get(slug, []))
        except Study.DoesNotExist:
            _log.warning("%s is no study any more", slug)
    return written


def _lost() -> dict[str, list[str]]:
    """Hashes of recorded files that were not whole when last checked, in order, by study."""
    states = [StoredFile.State.DAMAGED, StoredFile.State.MISSING]
    hashes = StoredFile.objects.filter(state__in=states).values("sha256")
    found: dict[str, list[str]] = defaultdict(list)
    rows = EvidenceBlob.objects.filter(sha256__in=hashes).order_by("sha256")
    for slug, sha256 in rows.values_list("study__slug", "sha256"):
        found[slug].append(sha256)
    return dict(found)


def _tell(slug: str, lost: list[str]) -> int:
    study = Study.objects.get(slug=slug)
    with transaction.atomic():
        kept, _ = Snapshot.objects.get_or_create(
            stream=f"{_STREAM}{slug}", defaults={"sequence": 0, "state": {"lost": []}}
        )
        kept = Snapshot.objects.select_for_update().get(pk=kept.pk)
        if kept.state["lost"] == lost:
            return 0  # another worker was quicker
        notice = Notice(
            kind=Kind.EVIDENCE_LOST, study=study, title=study.title, before=_words(kept.state["lost"]),
            now=_words(lost), path=reverse("evidence", args=[slug]),
        )  # fmt: skip
        notice.save()
        hand_out([notice], study)
        kept.state, kept.taken_at = {"lost": lost}, timezone.now()
        kept.save()
    return 1


def _words(lost: Sequence[str]) -> str:
    if not lost:
        return "no file damaged or missing"
    named = ", ".join(f"{sha256[:12]}…" for sha256 in lost[:NAMED])
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return f"{len(lost)} file{'s' if len(lost) != 1 else ''} damaged or missing: sha256 {named}{more}"
