"""Notifications in the admin: staff see who is told of what and what became of it, and change nothing."""

from __future__ import annotations

from django.contrib import admin

from notices.models import FeedKey, Message, Notice, Subscription
from rlvram_site.record_admin import RecordAdmin


@admin.register(Subscription)
class SubscriptionAdmin(RecordAdmin):
    list_display = ["__str__", "user", "timing", "paused", "created_at", "ended_at"]
    list_filter = ["channel", "paused"]
    # The nonce is half of what signs a webhook.
    exclude = ["nonce"]


@admin.register(Message)
class MessageAdmin(RecordAdmin):
    list_display = ["__str__", "subscription", "state", "attempts", "due_at", "delivered_at", "problem"]
    list_filter = ["state"]


@admin.register(Notice)
class NoticeAdmin(RecordAdmin):
    list_display = ["__str__", "kind", "created_at"]
    list_filter = ["kind"]


@admin.register(FeedKey)
class FeedKeyAdmin(RecordAdmin):
    list_display = ["__str__", "user", "created_at", "used_at", "revoked_at"]
    exclude = ["sha256"]
