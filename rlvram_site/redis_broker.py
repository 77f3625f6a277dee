"""The broker of production: kombu's Redis, in which a message that is none ends no worker."""

from __future__ import annotations

import logging
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis

logger = logging.getLogger(__name__)


class Channel(redis.Channel):
    """Whoever reaches Redis can push what he likes; what is no message of Celery's is dropped, and said."""

    def _brpop_read(self, **options: Any) -> Any:
        held = set(self.qos._delivered)
        try:
            return super()._brpop_read(**options)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            logger.error("something in the queue is no message and was dropped: %r", error)
            # One that came as far as the worker would keep its place there until it is handed out again.
            for tag in set(self.qos._delivered) - held:
                self.basic_reject(tag, requeue=False)
            return True


class Transport(redis.Transport):
    """In place of kombu's for both schemes."""

    Channel = Channel


def use() -> None:
    """Let ``redis://`` and ``rediss://`` mean this transport."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
