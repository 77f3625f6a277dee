"""Requests per minute of one key, person or address, counted in the cache that all workers share."""

from __future__ import annotations

import time

from django.conf import settings
from django.core.cache import caches
from rest_framework.permissions import SAFE_METHODS
from rest_framework.throttling import BaseThrottle

from rlvram_site.api.keys import ApiKey
from rlvram_site.client_address import limited_address

WINDOW = 60  # s


class MinuteThrottle(BaseThrottle):
    """``API_READS_PER_MINUTE`` and ``API_WRITES_PER_MINUTE``; 0 means no limit. A batch is one write."""

    def allow_request(self, request, view) -> bool:
        read = request.method in SAFE_METHODS
        limit = settings.API_READS_PER_MINUTE if read else settings.API_WRITES_PER_MINUTE
        if not limit:
            return True
        now = time.time()
        self._left = WINDOW - now % WINDOW
        key = f"api-rate:{'read' if read else 'write'}:{self._who(request)}:{int(now // WINDOW)}"
        return _counted(key) <= limit

    def wait(self) -> float:
        return self._left

    def _who(self, request) -> str:
        if isinstance(request.auth, ApiKey):
            return f"key-{request.auth.pk}"
        if request.user.is_authenticated:
            return f"user-{request.user.pk}"
        return f"address-{limited_address(request)}"


def _counted(key: str) -> int:
    """The number of this request among those of ``key``; 0 while nothing can be counted."""
    rates = caches["rates"]
    try:
        return rates.incr(key)
    except ValueError:  # the first of its minute, or nothing is kept
        if rates.add(key, 1, WINDOW * 2):
            return 1
    try:
        return rates.incr(key)  # another process was first
    except ValueError:
        return 0
