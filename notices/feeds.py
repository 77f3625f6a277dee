"""The Atom feed of one person: what was noticed about everything that they follow by feed."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.syndication.views import Feed
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed

from notices.keys import find_feed_key
from notices.models import Notice, Subscription
from rlvram_site.ledger.canonical import digest

NEWEST = 100


def notices_of(user: Any) -> QuerySet[Notice]:
    """What the person follows by feed, newest first, each from when it was followed."""
    wanted = Q(pk__in=())
    rows = Subscription.objects.filter(
        user=user, channel=Subscription.Channel.FEED, ended_at=None, paused=False
    )
    for row in rows:
        one = Q(created_at__gte=row.created_at)
        if row.issue_id:
            one &= Q(issue=row.issue_id)
        if row.study_id:
            one &= Q(study=row.study_id)
        if row.kinds:
            one &= Q(kind__in=row.kinds)
        wanted |= one
    return Notice.objects.filter(wanted).select_related("issue", "study").order_by("-pk")


class NoticesFeed(Feed):
    """Opened by a key in its address, since feed readers cannot log in."""

    feed_type = Atom1Feed
    title = "RL VRAM studies: what changed"
    subtitle = "What held before and what holds now, for the issues and studies that you follow."

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().__call__(request, *args, **kwargs)
        # The address is a secret: no cache in between may keep it, and no search engine list it.
        response["Cache-Control"] = "private, no-cache"
        response["X-Robots-Tag"] = "noindex"
        return response

    def get_object(self, request: HttpRequest, key: str) -> AbstractBaseUser:
        found = find_feed_key(key)
        if found is None:
            raise Http404("There is no such feed. Its key may have been revoked or replaced.")
        return found.user

    def link(self, user: AbstractBaseUser) -> str:
        return reverse("notices")

    def feed_url(self, user: AbstractBaseUser) -> str:
        # Django would put the address of the request here, and with it the key.
        return reverse("notices")

    def feed_guid(self, user: AbstractBaseUser) -> str:
        return f"urn:sha256:{digest(['notices', user.pk])}"

    def items(self, user: AbstractBaseUser) -> QuerySet[Notice]:
        return notices_of(user)[:NEWEST]

    def item_title(self, item: Notice) -> str:
        return str(item)

    def item_description(self, item: Notice) -> str:
        return f"Before: {item.before}\nNow: {item.now}"

    def item_link(self, item: Notice) -> str:
        return item.path

    def item_guid(self, item: Notice) -> str:
        return f"urn:sha256:{digest(['notice', item.pk])}"

    item_guid_is_permalink = False

    def item_pubdate(self, item: Notice) -> dt.datetime:
        return item.created_at

    def item_updateddate(self, item: Notice) -> dt.datetime:
        return item.created_at

    def item_categories(self, item: Notice) -> list[str]:
        return [item.kind]
