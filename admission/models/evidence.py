"""Receipts, and witnesses: one admission decision each, and what happened. Sizes are bytes.

A size that its source gave rounded ("60.919 GiB") keeps those words beside the number of bytes.
"""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from admission.models.base import IssueRecord, hash_validator


class SizeField(models.BigIntegerField):
    """A number of bytes, or null when the source gives none."""

    def __init__(self, *args, **kwargs) -> None:
        kwargs.setdefault("null", True)
        kwargs.setdefault("blank", True)
        kwargs.setdefault("validators", [MinValueValidator(0)])
        super().__init__(*args, **kwargs)


class WordsField(models.CharField):
    """A size as its source wrote it, when that was not a number of bytes."""

    def __init__(self, *args, **kwargs) -> None:
        kwargs.setdefault("max_length", 100)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)


class Receipt(IssueRecord):
    """A retained piece of evidence: where it is, its digest, and who checked it."""

    class Access(models.TextChoices):
        PUBLIC = "public", "public"
        PRIVATE = "private", "private"
        UNSTATED = "unstated", "not stated"

    label = models.TextField()
    location = models.TextField(blank=True, help_text="Path or URL")
    sha256 = models.CharField(
        max_length=64, blank=True, validators=[hash_validator], help_text="Whole or as many digits as given"
    )
    author = models.TextField(null=True, blank=True, help_text="Who made it; empty: not stated")
    access = models.CharField(max_length=10, choices=Access.choices, default=Access.UNSTATED)
    verified_by = models.TextField(blank=True)
    independent = models.BooleanField(
        null=True,
        blank=True,
        help_text="Whether somebody other than its author verified it; empty: not stated",
    )

    @property
    def verified_independently(self) -> bool:
        """Whether somebody who is named as another than the author verified it."""
        return bool(self.independent) and not self.is_own_verifier

    @property
    def is_own_verifier(self) -> bool:
        """Whether its author is the only one who verified it."""
        author = (self.author or "").strip().lower()
        return bool(author) and author == self.verified_by.strip().lower()


class Witness(IssueRecord):
    """One admission decision and what happened. Its class is derived in ``admission.services.witnesses``."""

    class Decision(models.TextChoices):
        ADMITTED = "admitted", "admitted"
        REFUSED = "refused", "refused"

    class Outcome(models.TextChoices):
        COMPLETED = "completed", "completed"
        DEVICE_OOM = "device_oom", "out of device memory"
        NOT_EXECUTED = "not_executed", "not executed"
        UNRESOLVED = "unresolved", "unresolved"

    title = models.TextField()
    model_name = models.TextField(blank=True)
    hardware = models.TextField(blank=True)
    packed_tokens = models.BigIntegerField(null=True, blank=True, validators=[MinValueValidator(0)])
    logical_tokens = models.BigIntegerField(null=True, blank=True, validators=[MinValueValidator(0)])
    decision = models.CharField(max_length=10, choices=Decision.choices)
    trusted = models.BooleanField(
        null=True, blank=True, help_text="Yes: a trusted profile; no: cold estimate; empty: not stated"
    )
    policy_revision = models.TextField(blank=True)
    required_bytes = SizeField(help_text="Predicted need above what was allocated at admission")
    required_words = WordsField()
    usable_bytes = SizeField(help_text="What the allocator could get, less the reserve")
    usable_words = WordsField()
    outcome = models.CharField(max_length=15, choices=Outcome.choices)
    failed_request_bytes = SizeField()
    failed_request_words = WordsField()
    free_bytes = SizeField(help_text="Free when it failed")
    free_words = WordsField()
    allocated_bytes = SizeField(help_text="Allocated when it failed")
    allocated_words = WordsField()
    excess_bytes = SizeField(
        help_text="How far the measured need lay above the prediction, where only the difference is stated"
    )
    excess_words = WordsField()
    same_shape_as = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="repeats",
        help_text="The witness whose shape this one ran again",
    )  # fmt: skip
    contradicted_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="contradicts",
        help_text="A weaker flag: something larger ran. It never changes the class",
    )  # fmt: skip
    note = models.TextField(blank=True)

    class Meta(IssueRecord.Meta):
        verbose_name_plural = "witnesses"


class Measurement(IssueRecord):
    """One measured size, and from where to where it was measured.

    Only an ``increment`` is comparable with a prediction. One that starts after admission is conditional.
    """

    class Basis(models.TextChoices):
        INCREMENT = "increment", "increment above what was allocated"
        ALLOCATED = "allocated", "total allocated"
        RESERVED = "reserved", "total reserved"
        OTHER = "other", "other"

    witness = models.ForeignKey(
        Witness, null=True, blank=True, on_delete=models.PROTECT, related_name="measurements"
    )
    label = models.TextField()
    basis = models.CharField(max_length=10, choices=Basis.choices)
    size_bytes = SizeField(null=False, blank=False)
    size_words = WordsField()
    measured_from = models.TextField(blank=True)
    measured_to = models.TextField(blank=True)
    starts_after_admission = models.BooleanField(default=False)


class RecordedReplay(IssueRecord):
    """A replay of observations and candidates through several policies, kept beside a witness."""

    witness = models.ForeignKey(Witness, on_delete=models.PROTECT, related_name="replays")
    title = models.TextField()
    document = models.JSONField(blank=True)
    policies = models.JSONField(blank=True)
    results = models.JSONField(blank=True)
