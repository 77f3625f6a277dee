"""The present state of studies as rows, so that a page reads what it shows and no more.

Nothing here is recorded: ``services.projections`` writes these rows in the transaction of the record that
changes them, with the functions that decide, and ``manage.py rebuild_projections`` makes them anew.
"""

from __future__ import annotations

from django.db import models

from studies.models.outcomes import Attempt
from studies.models.plan import Configuration, SeedSlot, Study
from studies.models.predictions import Prediction, PredictionSet


class StudyProjection(models.Model):
    """What the study's other projections rest on.

    ``margin_mib`` is the effective protocol's margin; null while no protocol can be read, and then nothing
    else of the study is projected. ``version`` is that of the rules the rows were made by.
    """

    study = models.OneToOneField(Study, primary_key=True, on_delete=models.CASCADE, related_name="projection")
    margin_mib = models.FloatField(null=True)
    seeds = models.JSONField(default=list, help_text="The protocol's evaluation seeds")
    tries = models.JSONField(default=dict, help_text="The protocol's rule of how often a slot may be tried")
    prediction_set = models.ForeignKey(
        PredictionSet, null=True, on_delete=models.CASCADE, related_name="+", help_text="The panel's set"
    )
    version = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"projection of {self.study_id}"


class SlotProjection(models.Model):
    """What a slot's attempts establish. ``attempts`` holds primary key and role of each, in tries' order."""

    slot = models.OneToOneField(
        SeedSlot, primary_key=True, on_delete=models.CASCADE, related_name="projection"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    configuration = models.ForeignKey(Configuration, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, null=True, help_text="Outcome that goes into the label")
    peak_mib = models.FloatField(null=True)
    state = models.CharField(max_length=20)
    reason = models.TextField(blank=True, help_text="Why the slot is unresolved")
    eligible = models.ForeignKey(Attempt, null=True, on_delete=models.CASCADE, related_name="+")
    tries_used = models.PositiveIntegerField()
    one_more_may_count = models.BooleanField()
    launched = models.BooleanField(help_text="Whether it has any attempt")
    attempts = models.JSONField(default=list)

    class Meta:
        indexes = [
            models.Index(fields=["study", "state"], name="slots_by_state"),
            models.Index(fields=["study"], condition=models.Q(one_more_may_count=True), name="slots_open"),
        ]

    def __str__(self) -> str:
        return f"{self.slot_id}: {self.state}"


class ConfigurationProjection(models.Model):
    """A planned configuration's label, what is known of it without one, and its place in the panel's order.

    ``problem`` says why it can't have a label yet, such as a missing slot; ``state`` is empty then.
    """

    configuration = models.OneToOneField(
        Configuration, primary_key=True, on_delete=models.CASCADE, related_name="projection"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=150, help_text="Its configuration_id")
    model_family = models.CharField(max_length=100)
    workload_id = models.CharField(max_length=100)
    workload_name = models.CharField(max_length=200)
    level = models.CharField(max_length=50)
    gpu_count = models.PositiveIntegerField()
    state = models.CharField(max_length=20, blank=True)
    known_memory_failure = models.BooleanField(default=False)
    known_margin_exceedance = models.BooleanField(default=False)
    completed_peak_mib = models.FloatField(null=True)
    unscored = models.BooleanField(
        default=False, help_text="A method of the panel's set approves it unscored"
    )
    problem = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["study", "workload_id", "level", "gpu_count", "name"], name="panel_order"),
            models.Index(fields=["study", "state", "name"], name="panel_by_state"),
            models.Index(
                fields=["study", "workload_id", "level", "gpu_count", "name"],
                condition=models.Q(unscored=True), name="panel_unscored",
            ),
            models.Index(fields=["study", "name"], condition=~models.Q(problem=""), name="panel_problems"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name}: {self.state or self.problem}"


class CellProjection(models.Model):
    """What a prediction of a planned configuration and what is known of it say together."""

    prediction = models.OneToOneField(
        Prediction, primary_key=True, on_delete=models.CASCADE, related_name="projection"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    prediction_set = models.ForeignKey(PredictionSet, on_delete=models.CASCADE, related_name="+")
    configuration = models.ForeignKey(Configuration, on_delete=models.CASCADE, related_name="cells")
    method = models.CharField(max_length=60)
    predicted = models.CharField(max_length=20)
    state = models.CharField(max_length=40)

    class Meta:
        indexes = [
            models.Index(
                fields=["prediction_set", "method", "state", "configuration"], name="cells_by_state"
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.prediction_id}: {self.state}"


class MethodTally(models.Model):
    """How many of a method's predictions are alike, and so is what is known of their targets."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    prediction_set = models.ForeignKey(PredictionSet, on_delete=models.CASCADE, related_name="+")
    method = models.CharField(max_length=60)
    predicted = models.CharField(max_length=20)
    observed = models.CharField(max_length=20, help_text="A label, or unresolved")
    known_memory_failure = models.BooleanField()
    known_margin_exceedance = models.BooleanField()
    number = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "prediction_set", "method", "predicted", "observed", "known_memory_failure",
                    "known_margin_exceedance",
                ],
                name="one_tally_of_like_cells",
            )
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.method} {self.predicted} on {self.observed}: {self.number}"


class GroupCount(models.Model):
    """How many configurations of one group are in a state: observed, or under a method of a set.

    An observed state has no prediction set and no method.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    prediction_set = models.ForeignKey(PredictionSet, null=True, on_delete=models.CASCADE, related_name="+")
    method = models.CharField(max_length=60, blank=True)
    model_family = models.CharField(max_length=100)
    workload_id = models.CharField(max_length=100)
    workload_name = models.CharField(max_length=200)
    level = models.CharField(max_length=50)
    gpu_count = models.PositiveIntegerField()
    state = models.CharField(max_length=40)
    number = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(
                fields=["study", "prediction_set", "workload_id", "level", "gpu_count"], name="group_counts"
            )
        ]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.level} {self.gpu_count} {self.method} {self.state}: {self.number}"
