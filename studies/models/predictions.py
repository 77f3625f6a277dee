"""What was predicted, when it was sealed, and how it was scored."""

from __future__ import annotations

from django.db import models

from studies.models.base import Label, Sha256Field, StudyRecord
from studies.models.plan import Configuration

MADE_HERE = "recorded here"
"""The ``source_path`` of what this site made itself and did not get from an archive or a bundle."""


class FittedModel(StudyRecord):
    """Learned parameters of a retrospective fold (``fold`` is the held-out family) or of the final fit."""

    fold = models.CharField(max_length=100, blank=True)
    parameters = models.JSONField(help_text="By the names of the archive's fitted_model.json")
    environment = models.JSONField(default=dict, help_text="Library versions and threads of the fit")
    source_sha256 = Sha256Field(blank=True, help_text="sha256 of the file it was read from")

    class Meta:
        ordering = ["study", "pk"]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.fold or 'final fit'}"


class PredictionSet(StudyRecord):
    """All methods' predictions for one set of targets: the panel's, or one held-out family's.

    A follow-up's set names the set it inherits and maps its own targets to that set's.
    """

    class Kind(models.TextChoices):
        PANEL = "panel", "prospective panel"
        FOLD = "fold", "retrospective fold"
        DEVELOPMENT = "development", "development, not blind"

    kind = models.CharField(max_length=20, choices=Kind.choices)
    fold = models.CharField(max_length=100, blank=True, help_text="Held-out family of a fold")
    fitted_model = models.ForeignKey(
        FittedModel, null=True, blank=True, on_delete=models.PROTECT, related_name="prediction_sets"
    )
    inherits = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="inherited_by"
    )
    origins = models.JSONField(default=dict, help_text="Inherited target's id by this study's target id")
    source_sha256 = Sha256Field(blank=True)
    source_path = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["study", "pk"]

    def __str__(self) -> str:
        return f"{self.study.slug}: {self.name}"

    @property
    def name(self) -> str:
        """What it is called within its study, in addresses and files: its held-out family, or ``panel``.

        A set of a method in development has that word in front.
        """
        scope = self.fold or str(self.Kind.PANEL)
        return f"{self.Kind.DEVELOPMENT}-{scope}" if self.kind == self.Kind.DEVELOPMENT else scope


class Answer(models.TextChoices):
    """What a method can say of a target: a label, or that it is too close to call."""

    WITHIN_MARGIN = Label.WITHIN_MARGIN.value, Label.WITHIN_MARGIN.label
    ABOVE_MARGIN = Label.ABOVE_MARGIN.value, Label.ABOVE_MARGIN.label
    MEMORY_FAILURE = Label.MEMORY_FAILURE.value, Label.MEMORY_FAILURE.label
    UNDECIDED = "undecided", "undecided"


class Prediction(StudyRecord):
    """One method's prediction for one target. Peaks are MiB; null where the method gives none.

    ``lower_peak_mib`` and ``upper_peak_mib`` are the ends of its interval, null where an end is open and
    where the method gives none.
    """

    prediction_set = models.ForeignKey(PredictionSet, on_delete=models.PROTECT, related_name="predictions")
    configuration = models.ForeignKey(Configuration, on_delete=models.PROTECT, related_name="predictions")
    method = models.CharField(max_length=60)
    label = models.CharField(max_length=20, choices=Answer.choices)
    peak_mib = models.FloatField(null=True)
    lower_peak_mib = models.FloatField(null=True)
    upper_peak_mib = models.FloatField(null=True)
    remark = models.CharField(max_length=300, null=True, blank=True)
    donor = models.ForeignKey(
        Configuration, null=True, blank=True, on_delete=models.PROTECT, related_name="copied_by"
    )
    donor_gpu_count_matches = models.BooleanField(null=True)
    peak_only_label = models.CharField(max_length=20, choices=Label.choices, blank=True)
    guard_changed_label = models.BooleanField(null=True)
    guard_applicable = models.BooleanField()
    guard_sum_mib = models.FloatField(null=True, help_text="Resident actor shards plus generation budget")
    guard_predicts_failure = models.BooleanField(null=True, help_text="Null where the check does not apply")

    class Meta:
        ordering = ["prediction_set", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["prediction_set", "configuration", "method"],
                name="one_prediction_per_method_and_target",
            )
        ]

    def __str__(self) -> str:
        return f"{self.method} on {self.configuration}: {self.label}"

    @property
    def approves(self) -> bool:
        """An approval is a prediction of within_margin; both other labels reject."""
        return self.label == Label.WITHIN_MARGIN

    @property
    def undecided(self) -> bool:
        """The method could not call it: neither an approval nor a rejection."""
        return self.label == Answer.UNDECIDED

    @property
    def has_interval(self) -> bool:
        """Whether the method gave an interval, be it open on one side."""
        return self.lower_peak_mib is not None or self.upper_peak_mib is not None


class Seal(StudyRecord):
    """The freeze: protocol, amendments, inputs and predictions bound by hash before the first target ran."""

    prediction_set = models.ForeignKey(PredictionSet, on_delete=models.PROTECT, related_name="seals")
    sha256 = Sha256Field(help_text="sha256 of the seal file's bytes")
    source_path = models.CharField(max_length=300)
    sealed_at = models.DateTimeField(help_text="The time that the seal itself states.")
    protocol_sha256 = Sha256Field()
    amendments_sha256 = models.JSONField(default=dict)
    input_sha256 = models.JSONField(default=dict)
    output_sha256 = models.JSONField(default=dict)
    parent_seal_sha256 = Sha256Field(blank=True)
    environment = models.JSONField(default=dict)
    fit_seconds = models.FloatField(null=True)
    bound = models.JSONField(
        null=True,
        help_text="What a seal made here rests on: code, ends of streams, digests of rows; null in an "
        "earlier seal and in one that came with its source, which binds only what its other columns name",
    )

    class Meta:
        ordering = ["study", "pk"]

    @property
    def made_here(self) -> bool:
        """Whether this site computed the seal; else it is its source's word."""
        return self.source_path == MADE_HERE

    def __str__(self) -> str:
        return f"{self.study.slug} sealed {self.sealed_at:%Y-%m-%d %H:%M:%S} UTC"


class Evaluation(StudyRecord):
    """Scores of one prediction set as computed from the ledger, with the hashes of its inputs."""

    prediction_set = models.ForeignKey(PredictionSet, on_delete=models.PROTECT, related_name="evaluations")
    inputs_sha256 = models.CharField(
        max_length=64, help_text="Digest of everything the result was computed from"
    )
    inputs = models.JSONField(help_text="sha256 by name of what the result was computed from")
    result = models.JSONField()

    class Meta:
        ordering = ["study", "pk"]
        get_latest_by = "pk"

    def __str__(self) -> str:
        return f"evaluation of {self.prediction_set}"
