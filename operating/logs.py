"""Log lines: as text or as JSON, with the ids of request and job, and without any secret.

What must not be in a log is taken out of the finished line, so that it does not matter who wrote it there.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from functools import lru_cache

from django.conf import settings
from pythonjsonlogger.json import JsonFormatter

request_id: ContextVar[str] = ContextVar("request_id", default="")
job_id: ContextVar[str] = ContextVar("job_id", default="")

_SHAPES = (
    # An API key: prefix, point, secret.
    (re.compile(r"\b[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}\b"), "[key]"),
    # Secrets in addresses: of feeds and unsubscribing, and passwords of databases and brokers.
    (re.compile(r"(/notices/(?:feed|unsubscribe)/)[^/\s\"']+"), r"\1[secret]"),
    (re.compile(r"(://[^/\s:@\"']*:)[^/\s@\"']+@"), r"\1[secret]@"),
    (re.compile(r"(?i)((?:api-key|bearer|token|basic) )[A-Za-z0-9._~+/=-]{16,}"), r"\1[secret]"),
    (re.compile(r"(?i)((?:sessionid|csrftoken)=)[^;\s\"']+"), r"\1[secret]"),
)
_NAMED = ("SECRET_KEY", "FORGE_TOKEN", "FORGE_WEBHOOK_SECRET", "METRICS_TOKEN", "EMAIL_HOST_PASSWORD")
_SHORTEST = 8


def redacted(line: str) -> str:
    """``line`` without keys, passwords and whatever the settings hold as a secret."""
    if (known := _known()) is not None:
        line = known.sub("[secret]", line)
    for shape, instead in _SHAPES:
        line = shape.sub(instead, line)
    return line


@lru_cache(maxsize=1)
def _known() -> re.Pattern[str] | None:
    values = [getattr(settings, name, "") or "" for name in _NAMED]
    values += getattr(settings, "SECRET_KEY_FALLBACKS", [])
    values += [database.get("PASSWORD") or "" for database in settings.DATABASES.values()]
    long = sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True)
    return re.compile("|".join(re.escape(value) for value in long)) if long else None


class Ids(logging.Filter):
    """Gives each record the ids under which it was written."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id, record.job_id = request_id.get(), job_id.get()
        named = [f"{name}={value}" for name, value in _ids(record).items() if value]
        record.ids = f" [{' '.join(named)}]" if named else ""
        return True


def _ids(record: logging.LogRecord) -> dict[str, str]:
    return {"request": getattr(record, "request_id", ""), "job": getattr(record, "job_id", "")}


class Text(logging.Formatter):
    """A line for people; what a stranger sends can't begin a new one."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.replace("\r", "\\r").replace("\n", "\\n")
        return super().formatMessage(record)


class JsonLines(JsonFormatter):
    """One JSON object a line: time, level, logger, message, ids, and what else the record carries."""

    def __init__(self) -> None:
        super().__init__(
            "{asctime}{levelname}{name}{message}", style="{", datefmt="%Y-%m-%dT%H:%M:%S%z",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            reserved_attrs=[*_RESERVED, "ids", "request", "taskName"], json_ensure_ascii=False,
        )  # fmt: skip

    def format(self, record: logging.LogRecord) -> str:
        for name in ("request_id", "job_id"):
            if not getattr(record, name, ""):
                record.__dict__.pop(name, None)
        return redacted(super().format(record))


_RESERVED = [*logging.LogRecord("", 0, "", 0, "", None, None).__dict__, "message", "asctime"]
