"""The witnesses' page, and each file that somebody needs to check one without this site."""

from __future__ import annotations

import base64

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from rlvram_site.witness.authority import address
from rlvram_site.witness.models import HeadSignature, SigningKey, StampProblem, TimeStamp
from rlvram_site.witness.stamping import content_of

PER_PAGE = 50


def witnesses(request: HttpRequest) -> HttpResponse:
    """Stamps, keys, the last signed heads, and what the authority did not answer."""
    context = {
        "page_of_rows": Paginator(TimeStamp.objects.order_by("-pk"), PER_PAGE).get_page(
            request.GET.get("page")
        ),
        "keys": SigningKey.objects.order_by("-pk"),
        "signed": HeadSignature.objects.order_by("-pk").first(),
        "problems": StampProblem.objects.order_by("pk")[:PER_PAGE],
        "authority": address() if settings.TIMESTAMP_URL else "",
    }
    return render(request, "witnesses.html", context)


def witness_file(request: HttpRequest, kind: str, number: int, ending: str) -> HttpResponse:
    """What was stamped or signed (json), the answer (tsr), the signature (sig), or a key (pem)."""
    if (kind, ending) == ("keys", "pem"):
        content = get_object_or_404(SigningKey, pk=number).public_key.encode()
    elif kind == "stamps" and ending in ("json", "tsr"):
        stamp = get_object_or_404(TimeStamp, pk=number)
        content = content_of(stamp.covers) if ending == "json" else base64.b64decode(stamp.response)
    elif kind == "heads" and ending in ("json", "sig"):
        signed = get_object_or_404(HeadSignature, pk=number)
        content = content_of(signed.covers) if ending == "json" else base64.b64decode(signed.signature)
    else:
        raise Http404(f"{kind} have no file that ends in .{ending}")
    answer = HttpResponse(content, content_type="application/octet-stream")
    answer.headers["Content-Disposition"] = f'attachment; filename="{kind}-{number}.{ending}"'
    return answer
