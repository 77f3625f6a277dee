"""Addresses of tracked issues, and of the two pages that price without one."""

from django.urls import path

from admission.views import conformance, estimates, issues, proposals, recording, records, timeline, tracking

ISSUE = "<str:owner>/<str:name>/<int:number>/"
PAGES = (
    ("", issues.issue, "admission-issue"),
    ("changes/", records.changes, "admission-changes"),
    ("timeline/", timeline.timeline, "admission-timeline"),
    ("witnesses/", records.witnesses, "admission-witnesses"),
    ("receipts/", records.receipts, "admission-receipts"),
    ("proposals/", proposals.proposals, "admission-proposals"),
    ("record/witness/", recording.witness, "admission-record-witness"),
    ("record/verdict/", recording.verdict, "admission-record-verdict"),
    ("s/<str:key>/", issues.statement, "admission-statement"),
    ("s/<str:key>/text/", issues.statement_text, "admission-statement-text"),
)

urlpatterns = [
    path("", issues.issue_list, name="admission"),
    path("calculator/", estimates.calculator, name="admission-calculator"),
    path("replay/", estimates.replay, name="admission-replay"),
    path("followed/", tracking.followed, name="admission-followed"),
    path("followed/<int:pk>/pause/", tracking.pause, name="admission-follow-pause"),
    path("followed/<int:pk>/resume/", tracking.resume, name="admission-follow-resume"),
    path("followed/<int:pk>/stop/", tracking.stop, name="admission-follow-stop"),
    path("conformance/", conformance.page, name="admission-conformance"),
    # An issue of the public forge has three parts in its address, one of another host that host in front.
    *(
        path(f"{issue}{rest}", view, name=name)
        for rest, view, name in PAGES
        for issue in (ISSUE, f"<str:host>/{ISSUE}")
    ),
]
