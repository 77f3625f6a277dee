"""Addresses of the whole site; each app keeps its own."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path

from admission.views import tracking
from operating import urls as operating_urls
from rlvram_site import health, manual, saved_views
from rlvram_site.verifier import verifier
from rlvram_site.witness.views import witness_file, witnesses


def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask here for an icon wherever a page names none, as in the admin."""
    return redirect(static("icon.svg"))


handler400 = "rlvram_site.errors.bad_request"
handler403 = "rlvram_site.errors.forbidden"
handler404 = "rlvram_site.errors.not_found"
handler500 = "rlvram_site.errors.server_error"

# One door with its limits and steps, for the admin as well.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("favicon.ico", favicon, name="favicon"),
    path("", include(operating_urls)),
    path("health/live/", health.live, name="health-live"),
    path("health/ready/", health.ready, name="health-ready"),
    path("health/ledger/", health.ledger, name="health-ledger"),
    path("rlvram-verify.py", verifier, name="verifier"),
    path("witnesses/", witnesses, name="witnesses"),
    path("witnesses/<slug:kind>-<int:number>.<slug:ending>", witness_file, name="witness-file"),
    path("", include("rlvram_site.logins.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("rlvram_site.api.urls")),
    path("admission/", include("admission.urls")),
    path("notices/", include("notices.urls")),
    path("search/", include("search.urls")),
    path("views/", saved_views.saved_views, name="saved-views"),
    path("views/<int:pk>/drop/", saved_views.drop_view, name="saved-view-drop"),
    path("docs/", manual.page, name="manual"),
    path("docs/ready/<str:name>", manual.ready_file, name="manual-file"),
    path("docs/<slug:name>/", manual.page, name="manual-page"),
    path("hooks/forge/", tracking.hook, name="forge-hook"),
    path("", include("studies.urls")),
]
