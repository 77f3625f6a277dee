"""Arrangements of tables that somebody keeps: an address of this site under a name of their own."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST


class SavedView(models.Model):
    """One person's own; it can be dropped, unlike what is recorded."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    path = models.CharField(max_length=400)
    query = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "ledger"
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["user", "path", "name"], name="one_view_of_a_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


class SavedViewForm(forms.ModelForm):
    class Meta:
        model = SavedView
        fields = ("name", "path", "query")

    def clean_path(self) -> str:
        path = str(self.cleaned_data["path"])
        if not path.startswith("/") or path.startswith("//"):
            raise ValidationError("Expected the path of a page of this site, from its first slash.")
        return path


def _person(request: HttpRequest) -> User:
    """Who is logged in; only called behind ``login_required``."""
    assert isinstance(request.user, User)
    return request.user


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def saved_views(request: HttpRequest) -> HttpResponse:
    """The person's views; a posted one is kept, and one of the same page and name is replaced."""
    form, person = SavedViewForm(request.POST or None), _person(request)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        view, _ = SavedView.objects.update_or_create(
            user=person, path=given["path"], name=given["name"], defaults={"query": given["query"]}
        )
        messages.success(request, f"The view {view.name} is kept.")
        return redirect(view.address)
    views = SavedView.objects.filter(user=person)
    return render(
        request, "saved_views.html", {"views": views, "form": form}, status=400 if form.errors else 200
    )


@login_required
@require_POST
def drop_view(request: HttpRequest, pk: int) -> HttpResponse:
    SavedView.objects.filter(user=_person(request), pk=pk).delete()
    return redirect("saved-views")
