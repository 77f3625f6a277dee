"""Lists of configurations as tables: sortable, paged in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import django_tables2 as tables
from django.db.models import F, QuerySet
from django.utils.safestring import SafeString

from rlvram_site.templatetags.display import NOTHING, mib_margin, state
from studies.estimation.labels import Label, Resolution
from studies.models import Configuration
from studies.services.scores.panel_lines import PanelLine, PanelNumbers, lines_of
from studies.text.words import method_words

NUMBER = {"th": {"class": "number"}, "td": {"class": "number"}}


def offloaded(configuration: Configuration) -> str:
    """What is offloaded to the host, in words."""
    parts = [
        name
        for name, moved in (
            ("parameters", configuration.parameter_offload),
            ("optimizer", configuration.optimizer_offload),
        )
        if moved
    ]
    return ", ".join(parts) or "nothing"


class ConfigurationTable(tables.Table):
    """Settings that lists have in common. Rows are configurations with ``state_order`` annotated."""

    configuration_id = tables.Column(
        verbose_name="Configuration", linkify=lambda record: record.get_absolute_url()
    )
    model_name = tables.Column(verbose_name="Model")
    workload_id = tables.Column(verbose_name="Workload")
    configuration_level = tables.Column(verbose_name="Level")
    gpu_count = tables.Column(verbose_name="GPUs", attrs=NUMBER)
    actor_micro_batch = tables.Column(verbose_name="Micro-batch", attrs=NUMBER)
    vllm_gpu_memory_utilization = tables.Column(verbose_name="Reservation", attrs=NUMBER)
    offload = tables.Column(
        verbose_name="Offloaded",
        empty_values=(),
        order_by=("parameter_offload", "optimizer_offload"),
    )

    class Meta:
        template_name = "tables/_table.html"
        order_by = "configuration_id"
        per_page = 50
        empty_text = "No configuration matches these filters."

    def render_workload_id(self, record: Configuration) -> str:
        return record.workload_name

    def prepare_page(self) -> None:
        """Load what the rows of the page need together, once the page is known."""

    def render_offload(self, record: Configuration) -> str:
        return offloaded(record)


class PoolTable(ConfigurationTable):
    """Configurations measured earlier, with their outcomes as the source gives them."""

    source_study = tables.Column(verbose_name="Measured in")
    label = tables.Column(verbose_name="Label", empty_values=(), order_by="state_order")
    peak = tables.Column(
        verbose_name="Largest completed peak",
        accessor="pool_outcome__max_completed_run_peak_mib",
        attrs=NUMBER,
        default=NOTHING,
    )
    processes = tables.Column(
        verbose_name="Completed",
        empty_values=(),
        order_by="pool_outcome__completed_eligible_processes",
    )
    attempts = tables.Column(
        verbose_name="Attempts", accessor="pool_outcome__recorded_attempts", attrs=NUMBER
    )

    class Meta(ConfigurationTable.Meta):
        sequence = ("configuration_id", "label", "peak", "...")

    def render_label(self, record: Configuration) -> SafeString:
        return state(record.pool_outcome.observed_state)

    def render_peak(self, value: float, record: Configuration) -> str:
        return mib_margin(value, record.margin_limit_mib)

    def order_peak(self, queryset: QuerySet[Configuration], is_descending: bool) -> tuple[Any, bool]:
        """No peak is neither large nor small: it comes last either way, on both database engines."""
        peak = F("pool_outcome__max_completed_run_peak_mib")
        order = peak.desc(nulls_last=True) if is_descending else peak.asc(nulls_last=True)
        return queryset.order_by(order, "configuration_id"), True

    def render_processes(self, record: Configuration) -> str:
        outcome = record.pool_outcome
        return f"{outcome.completed_eligible_processes} of {outcome.eligible_processes}"


class PlannedTable(ConfigurationTable):
    """Planned configurations with label, slots and who approved them, read for the page alone."""

    label = tables.Column(verbose_name="Label", empty_values=(), order_by="state_order")
    seeds = tables.Column(
        verbose_name="Seeds", empty_values=(), orderable=False, attrs={"td": {"class": "seeds"}}
    )
    approved = tables.Column(verbose_name="Approved by", empty_values=(), orderable=False)

    class Meta(ConfigurationTable.Meta):
        sequence = ("configuration_id", "label", "seeds", "approved", "...")

    def __init__(self, *args: Any, panel: PanelNumbers, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._panel = panel
        self.rows_by_pk: Mapping[int, PanelLine] = {}

    def prepare_page(self) -> None:
        records = {row.record.pk: row.record for row in self.paginated_rows}
        self.rows_by_pk = {line.configuration.pk: line for line in lines_of(self._panel, records)}

    def render_label(self, record: Configuration) -> SafeString:
        resolution = self.rows_by_pk[record.pk].resolution
        return state(resolution.state, known_words(resolution) if resolution.label is None else "")

    def render_seeds(self, record: Configuration) -> str:
        return self.rows_by_pk[record.pk].seeds

    def render_approved(self, record: Configuration) -> str:
        predicted = self.rows_by_pk[record.pk].predicted
        if not predicted:
            return NOTHING
        approving = [method for method, answer in predicted.items() if answer == Label.WITHIN_MARGIN.value]
        return ", ".join(map(method_words, approving)) or "nobody"


def known_words(resolution: Resolution) -> str:
    """What is known of a configuration while it has no label."""
    known = []
    if resolution.known_memory_failure:
        known.append("a failure known")
    if resolution.known_margin_exceedance:
        known.append("an exceedance known")
    return ", ".join(known)
