"""What was planned: pools, studies, protocols with their amendments, configurations, seed slots."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from rlvram_site.ledger.models import LedgerRecord
from studies.models.base import Sha256Field, StudyRecord


class Pool(LedgerRecord):
    """Configurations measured earlier, which methods may learn or copy from."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.CharField(max_length=200)
    source_name = models.CharField(max_length=200, blank=True)
    source_authors = models.CharField(max_length=300, blank=True)
    source_licence = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("pool", args=[self.slug])

    @property
    def stream(self) -> str:
        return f"pool/{self.slug}"

    def ledger_stream(self) -> str:
        return self.stream


class Study(LedgerRecord):
    """A prospective panel. A follow-up names its parent and never shares a denominator with it."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.CharField(max_length=200)
    question = models.TextField(help_text="What the study asks, in one or two sentences.")
    pool = models.ForeignKey(Pool, null=True, blank=True, on_delete=models.PROTECT, related_name="studies")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="follow_ups"
    )
    source_name = models.CharField(max_length=200, blank=True)
    source_authors = models.CharField(max_length=300, blank=True)
    source_licence = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("study", args=[self.slug])

    @property
    def stream(self) -> str:
        return f"study/{self.slug}"

    def ledger_stream(self) -> str:
        return self.stream


class Protocol(StudyRecord):
    """The frozen base protocol.

    ``document`` holds every key of the original. A key whose value is prose holds, in a bundle made with
    facts only, ``{"text_sha256": …, "characters": n}`` in its place.
    """

    version = models.CharField(max_length=100)
    sha256 = Sha256Field(help_text="sha256 of the protocol file's bytes")
    source_path = models.CharField(max_length=300)
    frozen_at = models.DateTimeField(help_text="The time that the protocol itself states.")
    document = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study"], name="one_base_protocol_per_study")]

    def __str__(self) -> str:
        return f"{self.study.slug} protocol {self.version}"


class Amendment(StudyRecord):
    """An explicit change after the freeze, bound to the base protocol's bytes.

    Whether it counts as amendment, amendment after launch or deviation is derived from the ledger.
    """

    protocol = models.ForeignKey(Protocol, on_delete=models.PROTECT, related_name="amendments")
    number = models.PositiveIntegerField()
    base_sha256 = Sha256Field()
    sha256 = Sha256Field(
        help_text="sha256 of the amendment file's bytes, or of its canonical JSON when it was recorded here"
    )
    source_path = models.CharField(max_length=300, blank=True)
    amended_at = models.DateTimeField(help_text="The time that the amendment itself states.")
    updates = models.JSONField(help_text="New value by protocol key")
    reason = models.TextField(blank=True)
    document = models.JSONField(default=dict, help_text="Everything else the amendment states")

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["protocol", "number"], name="amendment_number_once")]

    def __str__(self) -> str:
        return f"{self.study.slug} amendment {self.number}"


class ModelArchitecture(LedgerRecord):
    """A language model's numbers as read from its configuration and checkpoint headers."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="architectures")
    model_id = models.CharField(max_length=200)
    family = models.CharField(
        max_length=100,
        null=True,
        blank=True,
        help_text="Architecture family by which folds hold out; null in records of the published study, "
        "which stated the families of its four models apart",
    )
    revision = models.CharField(max_length=64)
    floating_checkpoint_elements = models.BigIntegerField()
    floating_checkpoint_bytes = models.BigIntegerField()
    all_linear_layer_adapter_elements = models.BigIntegerField()
    lora_rank = models.PositiveIntegerField()
    hidden_size = models.PositiveIntegerField()
    intermediate_size = models.PositiveIntegerField()
    num_hidden_layers = models.PositiveIntegerField()
    num_attention_heads = models.PositiveIntegerField()
    num_key_value_heads = models.PositiveIntegerField()
    head_dim = models.PositiveIntegerField()
    vocab_size = models.PositiveIntegerField()
    tie_word_embeddings = models.BooleanField()
    tensor_count = models.PositiveIntegerField()
    largest_transformer_layer_elements = models.BigIntegerField()
    largest_weight_tensor_elements = models.BigIntegerField()
    non_transformer_layer_elements = models.BigIntegerField()
    config_sha256 = Sha256Field()
    shard_header_sha256 = models.JSONField(help_text="sha256 of each checkpoint shard's header, by file name")

    class Meta:
        ordering = ["model_id"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "model_id"], name="architecture_once_per_pool")
        ]

    def __str__(self) -> str:
        return self.model_id

    def ledger_stream(self) -> str:
        return self.pool.stream


class Configuration(LedgerRecord):
    """One setting, of a pool (measured earlier) or of a study (planned). Three seed slots make its label.

    Columns are the source table's; a blank cell is null, never zero. ``actor_micro_batch`` and the other
    batch sizes count samples, lengths count tokens, capacities are MiB.
    """

    pool = models.ForeignKey(
        Pool, null=True, blank=True, on_delete=models.PROTECT, related_name="configurations"
    )
    study = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.PROTECT, related_name="configurations"
    )
    configuration_id = models.CharField(max_length=150)
    case_id = models.CharField(max_length=150)
    source_study = models.CharField(max_length=100, help_text="Column 'study' of the source table")
    model_family = models.CharField(max_length=100)
    model_name = models.CharField(max_length=200)
    model_id = models.CharField(max_length=200)
    workload_id = models.CharField(max_length=100)
    workload_name = models.CharField(max_length=200)
    legacy_dataset_id = models.CharField(max_length=100)
    algorithm = models.CharField(max_length=50)
    adaptation = models.CharField(max_length=50)
    configuration_level = models.CharField(max_length=50)
    condition = models.CharField(max_length=100, blank=True)
    gpu_count = models.PositiveIntegerField()
    rollout_tp_size = models.PositiveIntegerField()
    actor_micro_batch = models.PositiveIntegerField()
    rollout_logprob_micro_batch = models.PositiveIntegerField()
    ref_logprob_micro_batch = models.PositiveIntegerField()
    vllm_gpu_memory_utilization = models.FloatField()
    parameter_offload = models.BooleanField()
    optimizer_offload = models.BooleanField()
    free_cache_engine = models.BooleanField()
    max_prompt_length = models.PositiveIntegerField()
    max_response_length = models.PositiveIntegerField()
    max_model_len = models.PositiveIntegerField()
    max_num_seqs = models.PositiveIntegerField()
    rollout_n = models.PositiveIntegerField()
    train_batch_size = models.PositiveIntegerField()
    train_max_samples = models.IntegerField(null=True)
    val_max_samples = models.IntegerField(null=True)
    total_training_steps = models.PositiveIntegerField()
    gpu_monitor_interval_ms = models.PositiveIntegerField(null=True)
    allocator_trace_enabled = models.BooleanField(null=True)
    allocator_trace_sync = models.IntegerField(null=True)
    save_freq = models.IntegerField(null=True)
    test_freq = models.IntegerField(null=True)
    val_before_train = models.BooleanField(null=True)
    resume_mode = models.CharField(max_length=50, blank=True)
    max_actor_ckpt_to_keep = models.IntegerField(null=True)
    accelerator = models.CharField(max_length=100)
    device_capacity_mib = models.PositiveIntegerField()
    margin_limit_mib = models.PositiveIntegerField()
    peak_measurement = models.CharField(max_length=200)

    class Meta:
        ordering = ["configuration_id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(pool__isnull=False, study__isnull=True)
                | models.Q(pool__isnull=True, study__isnull=False),
                name="configuration_has_one_owner",
            ),
            models.UniqueConstraint(fields=["pool", "configuration_id"], name="configuration_once_per_pool"),
            models.UniqueConstraint(
                fields=["study", "configuration_id"], name="configuration_once_per_study"
            ),
        ]

    def __str__(self) -> str:
        return self.configuration_id

    def get_absolute_url(self) -> str:
        if self.study is not None:
            return reverse("configuration", args=[self.study.slug, self.configuration_id])
        assert self.pool is not None
        return reverse("pool-configuration", args=[self.pool.slug, self.configuration_id])

    def ledger_stream(self) -> str:
        return (self.study or self.pool).stream  # type: ignore[union-attr]


class PoolOutcome(LedgerRecord):
    """A pool configuration's outcome as its source gives it: counts of processes and peaks in MiB."""

    class State(models.TextChoices):
        WITHIN_MARGIN = "within_margin", "within margin"
        ABOVE_MARGIN = "above_margin", "above margin"
        MEMORY_FAILURE = "memory_failure", "memory failure"
        NOT_REPEATED = "not_repeated", "not repeated"

    configuration = models.OneToOneField(Configuration, on_delete=models.PROTECT, related_name="pool_outcome")
    observed_state = models.CharField(max_length=20, choices=State.choices)
    eligible_processes = models.PositiveIntegerField()
    distinct_seeds = models.PositiveIntegerField()
    completed_eligible_processes = models.PositiveIntegerField()
    within_margin_processes = models.PositiveIntegerField()
    above_margin_processes = models.PositiveIntegerField()
    memory_failure_processes = models.PositiveIntegerField()
    max_completed_run_peak_mib = models.FloatField(null=True)
    mean_completed_run_peak_mib = models.FloatField(null=True)
    recorded_attempts = models.PositiveIntegerField()
    documented_completed_attempts = models.PositiveIntegerField()
    excluded_attempts = models.PositiveIntegerField()
    label_scope = models.CharField(max_length=100)

    def __str__(self) -> str:
        return f"{self.configuration}: {self.observed_state}"

    def ledger_stream(self) -> str:
        return self.configuration.ledger_stream()


class SeedSlot(StudyRecord):
    """One planned process: a configuration with a training seed, in a matched pair and period."""

    configuration = models.ForeignKey(Configuration, on_delete=models.PROTECT, related_name="slots")
    seed = models.IntegerField()
    position = models.PositiveIntegerField(help_text="Row of the planned order, from 0")
    experiment_id = models.CharField(max_length=200)
    pair_id = models.CharField(max_length=200, blank=True)
    period = models.PositiveIntegerField(null=True, help_text="Place within the pair, 1 or 2")
    device_ordinals = models.JSONField(default=list, help_text="Allocation ordinals of the task's devices")
    timeout_seconds = models.PositiveIntegerField(null=True)
    settings = models.JSONField(default=dict, help_text="The schedule row, column by column")

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["configuration", "seed"], name="slot_once_per_seed"),
            models.UniqueConstraint(fields=["study", "experiment_id"], name="slot_experiment_once"),
        ]

    def __str__(self) -> str:
        return f"{self.configuration} seed {self.seed}"
