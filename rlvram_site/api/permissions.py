"""What may be done: a view names the scope it needs; keys carry scopes, people's roles stand for them."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from rest_framework.exceptions import MethodNotAllowed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission

from rlvram_site.access import is_staff
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.owners import may_begin

REVIEWER, UPLOADER = "reviewer", "uploader"

ROLE_SCOPES: dict[str, frozenset[str]] = {
    REVIEWER: frozenset({Scope.READ}),
    UPLOADER: frozenset(
        {Scope.READ, Scope.PLAN, Scope.ATTEMPTS, Scope.EVALUATIONS, Scope.WITNESSES, Scope.JOBS, Scope.HOSTS}
    ),
}
"""Scopes of a signed-in person by the names of their groups; staff have every scope."""


def scopes_of_person(user) -> frozenset[str]:
    """Scopes of a person at a page, signed in or not."""
    if not user.is_authenticated:
        return frozenset({Scope.READ}) if settings.PUBLIC_READ else frozenset()
    if is_staff(user):
        return frozenset(Scope.values)
    names = user.groups.values_list("name", flat=True)
    own = frozenset().union(*(ROLE_SCOPES.get(name, frozenset()) for name in names))
    if Scope.READ in own and may_begin(user):
        own |= {Scope.STUDIES}
    return own | {Scope.READ} if settings.PUBLIC_READ else own


def may_read(user) -> bool:
    """Whether a person reads what is recorded: on pages, through the API, in feeds and messages alike."""
    return Scope.READ in scopes_of_person(user)


def scopes_of(request) -> frozenset[str]:
    """Scopes of whoever makes the request. A key never has more than its owner's role would give a person."""
    own = scopes_of_person(request.user)
    if isinstance(request.auth, ApiKey):
        # Declaring is given to single keys by staff, it belongs to no role.
        return (own | {Scope.DECLARE}) & frozenset(request.auth.scopes)
    return own


class ScopePermission(BasePermission):
    """Asks the view's ``required_scope`` (for writes) and ``Scope.READ`` (for reads).

    A view whose address names a study sets ``study_slug_kwarg``, one whose document does
    ``study_in_document``; a key bound to another study is refused.
    """

    def has_permission(self, request, view) -> bool:
        if not hasattr(view, request.method.lower()):
            raise MethodNotAllowed(request.method)
        needed = Scope.READ if request.method in SAFE_METHODS else view.required_scope(request)
        if needed not in scopes_of(request):
            if request.user.is_authenticated:
                raise PermissionDenied(
                    f"This needs the scope {needed!s}, which the key or role does not have."
                )
            return False
        bound = request.auth.study if isinstance(request.auth, ApiKey) else None
        if bound is not None:
            wanted = view.kwargs.get(getattr(view, "study_slug_kwarg", "study"))
            if getattr(view, "study_in_document", False) and isinstance(request.data, Mapping):
                wanted = request.data.get("study")
            if wanted is not None and wanted != bound.slug:
                raise PermissionDenied(f"This key is bound to the study {bound.slug!r}, not {wanted!r}.")
            if wanted is None and request.method not in SAFE_METHODS:
                raise PermissionDenied(f"This key is bound to the study {bound.slug!r}.")
        return True
