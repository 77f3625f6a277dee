"""Addresses of the jobs."""

from __future__ import annotations

from django.urls import include, path

from studies.views import jobs

job_patterns = [
    path("", jobs.job, name="job"),
    path("live/", jobs.live, name="job-live"),
    path("result.json", jobs.result_document, name="job-result"),
    path("file/", jobs.file, name="job-file"),
    path("cancel/", jobs.cancel, name="job-cancel"),
    path("retry/", jobs.retry, name="job-retry"),
    path("rerun/", jobs.rerun, name="job-rerun"),
]

urlpatterns = [
    path("", jobs.jobs, name="jobs"),
    path("start/", jobs.start_job, name="job-start"),
    path("<int:pk>/", include(job_patterns)),
]
