"""Requests per minute of one key, person or address, counted in the cache that all workers share."""

from __future__ import annotations

import time

from django.conf import settings
from django.core.cache import cache
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
        cache.add(key, 0, WINDOW * 2)
        try:
            return cache.incr(key) <= limit
        except ValueError:  # the cache forgot it meanwhile
            return True

    def wait(self) -> float:
        return self._left

    def _who(self, request) -> str:
        if isinstance(request.auth, ApiKey):
            return f"key-{request.auth.pk}"
        if request.user.is_authenticated:
            return f"user-{request.user.pk}"
        return f"address-{limited_address(request)}"
