"""What people are told of."""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """Why a notice was written."""

    HOLDS = "holds", "what holds changed"
    VERDICT_WITHDRAWN = "verdict_withdrawn", "a verdict was withdrawn"
    HEAD_WITHOUT_VERDICT = "head_without_verdict", "a head has no verdict"
    UNSAFE = "unsafe", "a decision turned out unsafe"
    SEALED = "sealed", "a study was sealed"
    AMENDED_LATE = "amended_late", "a study was amended after launch"
    RESOLVED = "resolved", "configurations were resolved"
    CONTRADICTED = "contradicted", "a study is contradicted"
    EVIDENCE_LOST = "evidence_lost", "evidence was found damaged or missing, or is whole again"


OF_ISSUES = (Kind.HOLDS, Kind.VERDICT_WITHDRAWN, Kind.HEAD_WITHOUT_VERDICT, Kind.UNSAFE)
OF_STUDIES = (Kind.SEALED, Kind.AMENDED_LATE, Kind.RESOLVED, Kind.CONTRADICTED, Kind.EVIDENCE_LOST)
