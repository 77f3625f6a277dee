"""What a page says when what is recorded of its study can't be read by the rules that are implemented."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.views.common import study_page


class UnreadableStudy:
    """Middleware: one answer for every page of a study, so that none can forget it.

    A page that can show a part handles what reading raises itself; what it lets through ends here, as a page
    that names the reason. A download gets the reason as text.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match = request.resolver_match
        if not isinstance(exception, UNREADABLE) or match is None or request.path.startswith("/api/"):
            return None
        study = Study.objects.filter(slug=match.kwargs.get("slug", "")).first()
        if study is None:
            return None
        if request.path.endswith((".csv", ".json")):
            return HttpResponse(f"{exception}\n", status=409, content_type="text/plain; charset=utf-8")
        return study_page(
            request, study, "unreadable", marked=match.url_name, problem=str(exception), status=409
        )
