"""The cache that processes share. What is in it can be made again, so a silent server is no error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

_log = logging.getLogger(__name__)


class SharedCache(RedisCache):
    """Redis; while it does not answer, nothing is found and nothing is kept."""

    def add(self, *args: Any, **kwargs: Any) -> bool:
        return self._or(False, super().add, *args, **kwargs)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._or(default, super().get, key, default, version)

    def set(self, *args: Any, **kwargs: Any) -> None:
        self._or(None, super().set, *args, **kwargs)

    def get_many(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return self._or({}, super().get_many, *args, **kwargs)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ``ValueError`` for a key that is not there, also while the server does not answer."""
        found = self._or(None, super().incr, key, delta, version)
        if found is None:
            raise ValueError(f"the cache has no {key!r}")
        return found

    def _or(self, otherwise: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RedisError as error:
            _log.warning("the shared cache does not answer: %s", type(error).__name__)
            return otherwise
