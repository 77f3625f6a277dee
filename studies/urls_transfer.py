"""Addresses of the transfer suites, one for each pool that has one."""

from __future__ import annotations

from django.urls import include, path

from studies.views import transfer, transfer_submissions

suite_patterns = [
    path("", transfer.overview, name="transfer-suite"),
    path("methods/", transfer.methods, name="transfer-methods"),
    path("inputs/<slug:selection>.json", transfer.inputs, name="transfer-inputs"),
    path("tasks/<str:task_id>/inputs.json", transfer.task_inputs, name="transfer-task-inputs"),
    path("submit/", transfer_submissions.submit_predictions, name="transfer-submit"),
    path("submissions/", transfer_submissions.submissions, name="transfer-submissions"),
    path("submissions/<slug:digest>/", transfer_submissions.submission, name="transfer-submission"),
    path("compare/", transfer_submissions.compare, name="transfer-compare"),
    path("queries/", transfer_submissions.queries, name="transfer-queries"),
]

urlpatterns = [
    path("", transfer.index, name="transfer"),
    path("<slug:slug>/", include(suite_patterns)),
]
