"""Addresses of memory admission under ``/api/v1/admission/``."""

from __future__ import annotations

from django.urls import include, path

from admission.api.views import conformance, estimates, evidence, issues, tracking

issue_patterns = [
    path("", issues.IssueDetail.as_view(), name="api-issue"),
    path("status-updates/", issues.StatusList.as_view(), name="api-status-updates"),
    path("corrections/", issues.CorrectionList.as_view(), name="api-corrections"),
    path("thread/", issues.ThreadList.as_view(), name="api-thread"),
    path("versions/", issues.VersionList.as_view(), name="api-versions"),
    path("addresses/", issues.AddressList.as_view(), name="api-addresses"),
    path("gaps/", issues.GapList.as_view(), name="api-gaps"),
    path("events/", issues.EventList.as_view(), name="api-issue-events"),
    path("changes/", evidence.ChangeList.as_view(), name="api-changes"),
    path("heads/", evidence.HeadList.as_view(), name="api-heads"),
    path("reviews/", evidence.ReviewList.as_view(), name="api-reviews"),
    path("receipts/", evidence.ReceiptList.as_view(), name="api-receipts"),
    path("witnesses/", evidence.WitnessList.as_view(), name="api-witnesses"),
    path("later-facts/", evidence.FactList.as_view(), name="api-later-facts"),
    path("measurements/", evidence.MeasurementList.as_view(), name="api-measurements"),
    path("replays/", evidence.ReplayList.as_view(), name="api-replays"),
    path("open-questions/", issues.QuestionList.as_view(), name="api-open-questions"),
    path("question-mentions/", issues.MentionList.as_view(), name="api-question-mentions"),
    path("related-issues/", issues.RelatedList.as_view(), name="api-related-issues"),
    path("proposals/", issues.ProposalList.as_view(), name="api-proposals"),
    path("statements/<str:key>/", issues.Statement.as_view(), name="api-statement"),
]

urlpatterns = [
    path("issues/", issues.IssueList.as_view(), name="api-issues"),
    path("issues/<str:owner>/<str:name>/<int:number>/", include(issue_patterns)),
    path("issues/<str:host>/<str:owner>/<str:name>/<int:number>/", include(issue_patterns)),
    path("followed/", tracking.FollowedList.as_view(), name="api-followed"),
    path("followed/<int:pk>/", tracking.FollowedDetail.as_view(), name="api-followed-one"),
    path("replay/", estimates.Replay.as_view(), name="api-replay"),
    path("prices/", estimates.Prices.as_view(), name="api-prices"),
    path("conformance/", conformance.ConformanceTable.as_view(), name="api-conformance"),
]
