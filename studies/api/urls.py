"""Addresses of the studies under ``/api/v1/``."""

from __future__ import annotations

from django.urls import include, path, register_converter

from studies.api.views import (
    attempts,
    beginnings,
    evidence,
    hosts,
    jobs,
    plan,
    predictions,
    questions,
    refusals,
    results,
)


class Sha256Converter:
    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(Sha256Converter, "sha256")

study_patterns = [
    path("", plan.StudyDetailView.as_view(), name="api-study"),
    path("head/", plan.StudyHead.as_view(), name="api-head"),
    path("protocol/", plan.ProtocolView.as_view(), name="api-protocol"),
    path("amendments/", plan.AmendmentList.as_view(), name="api-amendments"),
    path("configurations/", plan.ConfigurationList.as_view(), name="api-configurations"),
    path("configurations/<str:configuration>/", plan.ConfigurationDetail.as_view(), name="api-configuration"),
    path("slots/", plan.SlotList.as_view(), name="api-slots"),
    path("orders/", hosts.StudyOrders.as_view(), name="api-orders"),
    path("slots/<str:slot>/", plan.SlotDetail.as_view(), name="api-slot"),
    path("attempts/", attempts.AttemptList.as_view(), name="api-attempts"),
    path("attempts/batch/", attempts.AttemptBatch.as_view(), name="api-attempt-batch"),
    path("attempts/by-id/<str:invocation>/", attempts.AttemptDetail.as_view(), name="api-attempt"),
    path("attempts/by-id/<str:invocation>/verdict/", attempts.AttemptVerdict.as_view(), name="api-verdict"),
    path("attempts/by-id/<str:invocation>/files/", evidence.AttemptFiles.as_view(), name="api-attempt-files"),
    path("evidence/", evidence.EvidenceSummary.as_view(), name="api-evidence-summary"),
    path("evidence/<sha256:sha256>/", evidence.EvidenceBytes.as_view(), name="api-evidence"),
    path("exclusions/", evidence.ExclusionList.as_view(), name="api-exclusions"),
    path("events/", evidence.EventList.as_view(), name="api-events"),
    path("prediction-sets/", predictions.PredictionSetList.as_view(), name="api-prediction-sets"),
    path("predictions/", predictions.PredictionList.as_view(), name="api-predictions"),
    path("seals/", predictions.SealList.as_view(), name="api-seals"),
    path("allocations/", beginnings.AllocationList.as_view(), name="api-allocations"),
    path("non-launches/", beginnings.NonLaunchList.as_view(), name="api-non-launches"),
    path("fits/", results.FitList.as_view(), name="api-fits"),
    path("configurations-flat/", results.FlatConfigurations.as_view(), name="api-configurations-flat"),
    path("confusion/", results.Confusion.as_view(), name="api-confusion"),
    path("pairs/", results.Pairs.as_view(), name="api-pairs"),
    path("costs/", results.Costs.as_view(), name="api-costs"),
    path("refusals/", refusals.RefusalList.as_view(), name="api-refusals"),
    path("evaluations/", predictions.EvaluationList.as_view(), name="api-evaluations"),
]

job_patterns = [
    path("", jobs.JobDetail.as_view(), name="api-job"),
    path("result/", jobs.JobResultView.as_view(), name="api-job-result"),
    path("cancel/", jobs.JobCancel.as_view(), name="api-job-cancel"),
    path("retry/", jobs.JobRetry.as_view(), name="api-job-retry"),
    path("rerun/", jobs.JobRerun.as_view(), name="api-job-rerun"),
]

host_patterns = [
    path("", hosts.HostDetail.as_view(), name="api-host"),
    path("next/", hosts.HostNextJob.as_view(), name="api-host-next"),
    path("jobs/<int:job>/beat/", hosts.HostJobBeat.as_view(), name="api-host-beat"),
    path("jobs/<int:job>/end/", hosts.HostJobEnd.as_view(), name="api-host-end"),
]

urlpatterns = [
    path("hosts/", hosts.HostList.as_view(), name="api-hosts"),
    path("hosts/<str:host>/", include(host_patterns)),
    path("jobs/", jobs.JobList.as_view(), name="api-jobs"),
    path("jobs/<int:job>/", include(job_patterns)),
    path("predict/", questions.Predict.as_view(), name="api-predict"),
    path("predict/grid/", questions.PredictGrid.as_view(), name="api-predict-grid"),
    path("study-check/", beginnings.StudyCheck.as_view(), name="api-study-check"),
    path("studies/", plan.StudyList.as_view(), name="api-studies"),
    path("studies/<slug:study>/", include(study_patterns)),
    path("pools/", plan.PoolList.as_view(), name="api-pools"),
    path("pools/<slug:pool>/architectures/", beginnings.ArchitectureList.as_view(), name="api-architectures"),
    path("transfer/", include("studies.api.transfer")),
    path(
        "pools/<slug:pool>/configurations/",
        plan.PoolConfigurationList.as_view(),
        name="api-pool-configurations",
    ),
]
