"""Recorded rows in the admin: everybody on the staff reads all of them, nobody changes or deletes one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from rlvram_site.access import is_staff


class RecordAdmin(admin.ModelAdmin):
    """Read only. A subclass that lets staff add rows says so in ``has_add_permission``."""

    list_display: Any = ["__str__", "recorded_at"]
    list_select_related = True
    list_per_page = 50
    show_full_result_count = False
    actions: Any = None

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_staff(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
