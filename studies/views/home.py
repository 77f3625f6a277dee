"""The first page: what changed, the studies, the tracked issues."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studies.models import Study


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "studies/home.html", {"studies": Study.objects.all()})
