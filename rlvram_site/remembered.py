"""Pages of studies and pools, remembered under the ledger's heads: nothing else changes what they say.

Only what everybody gets is remembered: an answer to somebody who is logged in, one with a form of theirs, a
message or a cookie is made anew each time.
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.contrib.messages import get_messages
from django.core.cache import cache
from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_cache_control

from host.version import product_version
from rlvram_site.ledger.models import LedgerEntry, LedgerStream

PREFIXES = ("/studies/", "/pools/")
LIVE = ("/attempts/", "/slots/", "/evidence/", "/refused/")
"""Parts of addresses whose pages also say which files are on the disk, or what was not recorded."""

LARGEST = 2_000_000  # bytes of a page that is kept
KEPT = 24 * 3600  # s; an answer under its head never goes stale, so this only bounds memory


class RememberedPages:
    """Answers a page from memory, or with 304 to a browser that has it, while nothing was recorded since."""

    def __init__(self, get_response) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _may_be_remembered(request):
            return self.get_response(request)
        key = _key(request)
        etag = f'W/"{key}"'
        if request.headers.get("If-None-Match") == etag:
            return _marked(HttpResponseNotModified(), etag)
        kept = cache.get(f"page:{key}")
        if kept is not None:
            content, content_type = kept
            return _marked(HttpResponse(content, content_type=content_type), etag)
        response = self.get_response(request)
        if _is_everybodys(request, response):
            cache.set(f"page:{key}", (response.content, response.headers["Content-Type"]), KEPT)
            _marked(response, etag)
        return response


def _may_be_remembered(request: HttpRequest) -> bool:
    return (
        settings.REMEMBER_PAGES
        and request.method == "GET"
        and request.path.startswith(PREFIXES)
        and not any(part in request.path for part in LIVE)
        and not request.user.is_authenticated
        and not get_messages(request)
    )


def _key(request: HttpRequest) -> str:
    """Digest of all that decides what the page says: the streams' heads, the address, the code.

    The heads of all studies and pools, since a page also names its study's parent, follow-ups and pool. A
    stream's own order is that in which its records became visible; that of primary keys is not.
    """
    last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence").values("sha256")[:1]
    streams = LedgerStream.objects.filter(Q(name__startswith="study/") | Q(name__startswith="pool/"))
    heads = streams.annotate(head=Subquery(last)).order_by("pk").values_list("head", flat=True)
    place = (request.get_host(), request.scheme or "", request.get_full_path(), product_version())
    parts = [*place, *(head or "" for head in heads)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def _is_everybodys(request: HttpRequest, response: HttpResponse) -> bool:
    return (
        response.status_code == 200
        and not response.streaming
        and not response.cookies
        and not request.session.modified
        and "CSRF_COOKIE" not in request.META
        and len(response.content) <= LARGEST
    )


def _marked(response: HttpResponse, etag: str) -> HttpResponse:
    response.headers["ETag"] = etag
    patch_cache_control(response, private=True, no_cache=True)
    return response
