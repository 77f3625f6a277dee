"""Addresses of the notifications."""

from __future__ import annotations

from django.urls import path

from notices import feeds, views

urlpatterns = [
    path("", views.subscriptions, name="notices"),
    path("messages/", views.messages_list, name="notices-messages"),
    path("messages/<int:pk>/retry/", views.retry_message, name="notices-retry"),
    path("feed-key/", views.make_feed_key, name="notices-feed-key"),
    path("feed-key/revoke/", views.revoke_feed_key, name="notices-feed-key-revoke"),
    path("feed/<str:key>/", feeds.NoticesFeed(), name="notices-feed"),
    path("unsubscribe/<str:token>/", views.unsubscribe, name="notices-unsubscribe"),
    path("<int:pk>/preview/", views.preview, name="notices-preview"),
    path("<int:pk>/pause/", views.pause, name="notices-pause"),
    path("<int:pk>/resume/", views.resume, name="notices-resume"),
    path("<int:pk>/end/", views.end, name="notices-end"),
]
