"""gunicorn's settings of the site, with a clock that is wrong by ``MOVED_SECONDS``: ``--config python:…``.

Read before the site is, so that whatever asks for the time, defaults of columns included, gets this one.
"""

from __future__ import annotations

import datetime as dt
import os

from django.utils import timezone

from rlvram_site.server.settings import *  # noqa: F403

_moved = dt.timedelta(seconds=float(os.environ["MOVED_SECONDS"]))
_right = timezone.now


def _now() -> dt.datetime:
    return _right() + _moved


timezone.now = _now
