"""Addresses of tracked issues, and of the two pages that price without one."""

from django.urls import path

from admission.views import estimates, issues, proposals, records, tracking

ISSUE = "<str:owner>/<str:name>/<int:number>/"

urlpatterns = [
    path("", issues.issue_list, name="admission"),
    path("calculator/", estimates.calculator, name="admission-calculator"),
    path("replay/", estimates.replay, name="admission-replay"),
    path("followed/", tracking.followed, name="admission-followed"),
    path("followed/<int:pk>/pause/", tracking.pause, name="admission-follow-pause"),
    path("followed/<int:pk>/resume/", tracking.resume, name="admission-follow-resume"),
    path("followed/<int:pk>/stop/", tracking.stop, name="admission-follow-stop"),
    path(ISSUE, issues.issue, name="admission-issue"),
    path(f"{ISSUE}changes/", records.changes, name="admission-changes"),
    path(f"{ISSUE}witnesses/", records.witnesses, name="admission-witnesses"),
    path(f"{ISSUE}receipts/", records.receipts, name="admission-receipts"),
    path(f"{ISSUE}proposals/", proposals.proposals, name="admission-proposals"),
    path(f"{ISSUE}s/<str:key>/", issues.statement, name="admission-statement"),
    path(f"{ISSUE}s/<str:key>/text/", issues.statement_text, name="admission-statement-text"),
]
