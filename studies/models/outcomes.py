"""What happened: attempts, exclusions, slots never launched, events, and what it all cost."""

from __future__ import annotations

from django.db import models

from studies.models.base import Sha256Field, StudyRecord
from studies.models.plan import SeedSlot


class Attempt(StudyRecord):
    """One recorded invocation. Peaks are MiB, times are seconds.

    ``peak_mib`` is the externally sampled peak of a *completed* process; what was sampled before a failure
    stands in ``observed_peak_mib`` and is never used as a peak. A null ``slot`` is an unplanned invocation.
    """

    class Outcome(models.TextChoices):
        COMPLETED = "completed", "completed"
        MEMORY_FAILURE = "memory_failure", "memory failure"
        UNRESOLVED = "unresolved", "unresolved"

    class Origin(models.TextChoices):
        DERIVED = "derived", "derived from uploaded evidence"
        DECLARED = "declared", "declared by its source"

    slot = models.ForeignKey(
        SeedSlot, null=True, blank=True, on_delete=models.PROTECT, related_name="attempts"
    )
    invocation_id = models.CharField(max_length=200)
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    source = models.CharField(
        max_length=300, blank=True, help_text="Who or what a declared outcome comes from"
    )
    diagnosis = models.CharField(max_length=60, blank=True)
    stage = models.CharField(max_length=60, blank=True)
    reason = models.CharField(
        max_length=500, blank=True, help_text="Why the slot stays unresolved, for a person"
    )
    peak_mib = models.FloatField(null=True)
    observed_peak_mib = models.FloatField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    elapsed_seconds = models.FloatField(null=True)
    runtime_seconds = models.FloatField(null=True)
    task_gpu_seconds = models.FloatField(null=True)
    reserved_gpu_seconds = models.FloatField(null=True)
    task_gpu_count = models.PositiveIntegerField(null=True)
    job_id = models.CharField(max_length=100, blank=True)
    execution_commit = models.CharField(max_length=64, blank=True)
    evidence = models.JSONField(default=list, help_text="Lines the outcome rests on, the deciding one first")
    facts = models.JSONField(default=dict, help_text="Everything else the source states, by its own names")
    # What only an upload has; null for an imported attempt.
    content_sha256 = Sha256Field(null=True, help_text="Digest of all that was uploaded")
    slot_name = models.CharField(max_length=200, null=True, help_text="The slot that the upload named")
    exit_code = models.IntegerField(null=True)
    exit_signal = models.PositiveIntegerField(null=True)
    claimed_diagnosis = models.CharField(max_length=60, null=True, help_text="The uploader's own diagnosis")
    derivation = models.JSONField(
        null=True, help_text="All that the classifier said, peaks by device and problems included"
    )
    texts = models.JSONField(null=True, help_text="Evidence that was sent inside the record, by kind")
    supersedes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by",
        help_text="The wrong entry that this one corrects; it no longer counts",
    )  # fmt: skip
    supersedes_reason = models.TextField(null=True, help_text="What was wrong with the superseded entry")

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "invocation_id"], name="invocation_once_per_study"),
            models.CheckConstraint(
                condition=models.Q(outcome="completed") | models.Q(peak_mib__isnull=True),
                name="only_a_completed_attempt_has_a_peak",
            ),
        ]

    def __str__(self) -> str:
        return self.invocation_id

    def supersession_problems(self) -> dict[str, str]:
        """Why this entry, not recorded yet, can't take the place of ``supersedes``, by field.

        Empty if it can. A reason without an entry that it is about is a problem too.
        """
        wrong, reason = self.supersedes, (self.supersedes_reason or "").strip()
        if wrong is None:
            return {"supersedes_reason": "expected none without supersedes"} if reason else {}
        problems = {}
        name = repr(wrong.invocation_id)
        if wrong.invocation_id == self.invocation_id:
            problems["supersedes"] = f"{name} is the entry itself, expected another one"
        elif wrong.study_id != self.study_id:
            problems["supersedes"] = f"{name} belongs to another study, expected an attempt of this one"
        elif wrong.slot is not None and self.slot_id is None:
            problems["supersedes"] = (
                f"{name} belongs to slot {wrong.slot.experiment_id!r}, expected one for its correction"
            )
        elif (later := Attempt.objects.filter(supersedes=wrong).first()) is not None:
            problems["supersedes"] = (
                f"{name} is already superseded by {later.invocation_id!r}, expected that one"
            )
        if not reason:
            problems["supersedes_reason"] = f"expected what is wrong with {name}"
        return problems

    @property
    def evidence_line(self) -> str:
        """The line that decides, as ``file:line: text``; empty where nothing proves the outcome."""
        if not self.evidence:
            return ""
        first = self.evidence[0]
        place = first["file"] if first.get("line") is None else f"{first['file']}:{first['line']}"
        return f"{place}: {first['text']}"

    @property
    def claim_disagrees(self) -> bool:
        """The uploader's own diagnosis is another one than the derived. Shown, never resolved."""
        return bool(self.derivation and self.derivation.get("disagrees"))


class Exclusion(StudyRecord):
    """An attempt is not counted, and why; or an earlier exclusion no longer holds (``lifted``)."""

    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="exclusions")
    reason = models.TextField()
    author = models.CharField(max_length=200)
    lifted = models.BooleanField(default=False, help_text="True: the attempt counts again")
    supersedes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )

    class Meta:
        ordering = ["study", "pk"]

    def __str__(self) -> str:
        return f"{'lifted' if self.lifted else 'excluded'}: {self.attempt}"


class NonLaunch(StudyRecord):
    """A slot that was claimed or planned and never became an invocation."""

    slot = models.OneToOneField(SeedSlot, on_delete=models.PROTECT, related_name="non_launch")
    diagnosis = models.CharField(max_length=60)
    reason = models.CharField(max_length=500)
    facts = models.JSONField(default=dict)

    class Meta:
        verbose_name = "launch that never was"
        verbose_name_plural = "launches that never were"

    def __str__(self) -> str:
        return f"{self.slot}: not launched"


class Event(StudyRecord):
    """Something that happened around the invocations: preflights, arrays, repairs, host kills."""

    class Status(models.TextChoices):
        COMPLETED = "completed", "completed"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"
        NOTED = "noted", "noted"

    position = models.PositiveIntegerField(help_text="Order in the source, from 0")
    kind = models.CharField(max_length=100)
    status = models.CharField(max_length=20, choices=Status.choices)
    title = models.CharField(max_length=200)
    detail = models.TextField(blank=True)
    job_id = models.CharField(max_length=100, blank=True)
    source_commit = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    gpu_seconds = models.FloatField(null=True, help_text="Allocated devices times elapsed seconds")
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ["study", "position"]
        constraints = [models.UniqueConstraint(fields=["study", "position"], name="event_position_once")]

    def __str__(self) -> str:
        return self.title


class Allocation(StudyRecord):
    """One scheduler allocation: what the scheduler and the launch ledger say of its time, in GPU-seconds."""

    pair_id = models.CharField(max_length=200)
    job_id = models.CharField(max_length=100)
    gpu_count = models.PositiveIntegerField()
    scheduler_state = models.CharField(max_length=60)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    whole_gpu_seconds = models.FloatField(null=True)
    batch_gpu_seconds = models.FloatField(null=True)
    observed_gpu_seconds = models.FloatField(null=True)
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "pair_id"], name="allocation_once_per_pair")]

    def __str__(self) -> str:
        return f"{self.job_id} ({self.pair_id})"


class CostTotal(StudyRecord):
    """A total as the source states it, in one scope. Scopes overlap and are never added up."""

    class Scope(models.TextChoices):
        TASK = "task_provisioned_time", "task-provisioned GPU time"
        RESERVATION = "invocation_reservation_time", "reservation during invocations"
        OBSERVED = "observed_allocation_time", "observed allocation time"
        WHOLE = "whole_allocation_time", "whole allocation"
        BATCH = "batch_step_time", "batch step"
        PREFLIGHT = "preflight", "preflights and diagnostics"

    scope = models.CharField(max_length=40, choices=Scope.choices)
    known_gpu_seconds = models.FloatField(null=True)
    complete_total_gpu_seconds = models.FloatField(null=True, help_text="Null when a record is unknown")
    known_records = models.PositiveIntegerField(null=True)
    unknown_records = models.PositiveIntegerField(null=True)
    source_sha256 = Sha256Field(blank=True)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "scope"], name="cost_scope_once")]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.get_scope_display()}"
