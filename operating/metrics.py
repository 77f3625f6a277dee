"""Measurements for Prometheus: Django's own of this host, and the site's state from its database.

What workers do is read from the jobs' rows, so that one address is enough for the whole site.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Max, OuterRef, Subquery, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from operating import state
from operating.models import Backup
from rlvram_site.client_address import CAME_THROUGH_A_PROXY
from rlvram_site.ledger.checks import last_check
from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from studies.models import Attempt, EvidenceBlob, Job
from studies.services.outcomes.evidence_checks import standing

WINDOW = dt.timedelta(hours=1)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The measurements, for whoever the settings allow; for everybody else there is no such address."""
    if not _may_read(request):
        raise Http404
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)
        body = generate_latest(registry)
    else:
        body = generate_latest(REGISTRY)
    site = CollectorRegistry()
    site.register(SiteCollector())
    return HttpResponse(body + generate_latest(site), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and kind.lower() == "bearer":
        return constant_time_compare(token.strip(), settings.METRICS_TOKEN)
    # Through a proxy everybody would come from the proxy's network.
    if not settings.METRICS_NETWORKS or request.META.get(CAME_THROUGH_A_PROXY):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return any(address in ip_network(network) for network in settings.METRICS_NETWORKS)


class SiteCollector:
    """The site's state at the moment of asking. Its queries don't grow with what is recorded."""

    def collect(self) -> Iterator[Metric]:
        yield from self._parts()
        yield from self._queues()
        yield from self._work()
        yield from self._evidence()
        yield from self._ledger()

    def _parts(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("rlvram_part_up", "1 while a part of the site works", labels=["part"])
        for part in state.parts():
            up.add_metric([part.name], float(part.ok))
        yield up
        yield _gauge("rlvram_disk_free_bytes", "Free where the site keeps its data", state.disk_free_bytes())
        here, known = state.hosts()
        hosts = GaugeMetricFamily("rlvram_gpu_hosts", "GPU hosts, heard of lately or not", labels=["heard"])
        hosts.add_metric(["yes"], here)
        hosts.add_metric(["no"], known - here)
        yield hosts

    def _queues(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("rlvram_queue_jobs", "Jobs that have not ended", labels=["queue", "state"])
        oldest = GaugeMetricFamily(
            "rlvram_queue_oldest_waiting_seconds", "Age of the oldest waiting job", labels=["queue"]
        )
        lapsed = GaugeMetricFamily(
            "rlvram_queue_lapsed_leases", "Running jobs whose worker is not heard of", labels=["queue"]
        )
        age = GaugeMetricFamily(
            "rlvram_queue_lease_age_seconds", "Time since the most silent running job was heard of",
            labels=["queue"],
        )  # fmt: skip
        for queue in state.queues():
            depth.add_metric([queue.name, "waiting"], queue.waiting)
            depth.add_metric([queue.name, "running"], queue.running)
            oldest.add_metric([queue.name], queue.oldest_seconds)
            lapsed.add_metric([queue.name], queue.lapsed)
            if queue.next_lease:
                heard = queue.next_lease - dt.timedelta(seconds=settings.JOB_LEASE_SECONDS)
                age.add_metric([queue.name], max(0.0, (timezone.now() - heard).total_seconds()))
        yield from (depth, oldest, lapsed, age)

    def _work(self) -> Iterator[Metric]:
        since = timezone.now() - WINDOW
        ended = GaugeMetricFamily(
            "rlvram_jobs_ended_last_hour", "Jobs that ended in the last hour", labels=["kind", "state"]
        )
        seconds = GaugeMetricFamily(
            "rlvram_job_seconds_last_hour", "Time that those jobs took, mean and longest",
            labels=["kind", "state", "of"],
        )  # fmt: skip
        took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
        rows = (
            Job.objects.filter(finished_at__gte=since)
            .order_by()
            .values("kind", "state")
            .annotate(number=Count("pk"), mean=Avg(took), longest=Max(took))
        )
        for row in rows:
            labels = [row["kind"], row["state"]]
            ended.add_metric(labels, row["number"])
            for of in ("mean", "longest"):
                if row[of] is not None:
                    seconds.add_metric([*labels, of], row[of].total_seconds())
        yield from (ended, seconds)
        attempts = Attempt.objects.filter(recorded_at__gte=since).count()
        yield _gauge("rlvram_attempts_last_hour", "Attempts recorded in the last hour", attempts)
        files = EvidenceBlob.objects.filter(recorded_at__gte=since).aggregate(
            number=Count("pk"), size=Sum("size_bytes")
        )
        yield _gauge("rlvram_evidence_files_last_hour", "Files of evidence in the last hour", files["number"])
        yield _gauge("rlvram_evidence_bytes_last_hour", "Their size as sent", files["size"] or 0)

    def _evidence(self) -> Iterator[Metric]:
        found = standing()
        lost = GaugeMetricFamily(
            "rlvram_evidence_lost_files",
            "Recorded files that were not whole when last checked",
            labels=["as"],
        )
        lost.add_metric(["damaged"], found.damaged)
        lost.add_metric(["missing"], found.missing)
        yield lost

    def _ledger(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("rlvram_stream_rows", "Recorded rows", labels=["stream"])
        last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence")
        streams = LedgerStream.objects.annotate(length=Subquery(last.values("sequence")[:1]))
        for name, length in streams.order_by("name").values_list("name", "length"):
            rows.add_metric([name], length or 0)
        yield rows
        if check := last_check():
            ok = float(check.passed)
            yield _gauge("rlvram_ledger_check_passed", "1 if the last walk found every chain whole", ok)
            finished = check.finished_at.timestamp()
            yield _gauge("rlvram_ledger_check_timestamp_seconds", "When that was", finished)
        if backup := Backup.objects.first():
            made = backup.finished_at.timestamp()
            yield _gauge("rlvram_backup_timestamp_seconds", "When the last backup was finished", made)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)
