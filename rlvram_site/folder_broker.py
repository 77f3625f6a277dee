"""The embedded broker: messages as files in a folder, each whole or not there at all.

kombu's own transport writes messages and its table of queues in place, so a full disk or a kill leaves
halves, and the next reader ends at them. Here everything is written beside its place and then named; what is
no message is put aside.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError, ConnectionError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

_PART = ".part"
_OLD_SECONDS = 3600
"""What is still being written or taken after that long was left by a process that was killed."""

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    """A queue is the files ``TIME_ID.QUEUE.msg`` of one folder, the oldest first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tidy_up()

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns() // 1_000_000:015}_{secrets.token_hex(8)}.{queue}.msg"
        try:
            _write(Path(self.data_folder_out) / name, dumps(payload))
        except OSError as error:
            raise ChannelError(f"the message can't be kept: {error.strerror}") from error

    def _get(self, queue: str) -> Any:  # type: ignore[override]
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = Path(self.processed_folder) / name
            try:
                os.replace(folder / name, taken)  # one reader gets it
                text = taken.read_bytes()
            except OSError:
                continue
            try:
                message = loads(text)
                if not isinstance(message, dict) or "body" not in message or "properties" not in message:
                    raise ValueError("no message of Celery's")
            except ValueError as error:
                self._put_aside(taken, error)
                continue
            taken.unlink(missing_ok=True)
            return message
        raise Empty

    def _put_aside(self, path: Path, reason: Exception) -> None:
        logger.error("%s is no whole message and is put aside: %s", path.name, reason)
        with contextlib.suppress(OSError):
            os.replace(path, Path(self.transport_options["damaged_folder"]) / path.name)

    def get_table(self, exchange: str) -> list[Any]:
        file = self._exchange_file(exchange)
        try:
            rows = loads(file.read_bytes())
            return [filesystem.exchange_queue_t(*row) for row in rows]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ChannelError(f"{file.name} can't be read: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            # Every queue is bound again when its worker starts or somebody sends to it.
            logger.error("%s is not whole and is made anew: %s", file.name, error)
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        row = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as rows:
            if row not in rows:
                rows.insert(0, row)

    def _delete(
        self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any
    ) -> None:
        self._purge(queue)
        row = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as rows:
            if row in rows:
                rows.remove(row)

    @contextlib.contextmanager
    def _changing(self, exchange: str) -> Iterator[list[Any]]:
        """The exchange's table, written back if it was changed. One process at a time.

        A worker that starts while the disk is full takes a ``ConnectionError`` for a broker that is not there
        yet, and tries again; at a ``ChannelError`` it would end.
        """
        file = self._exchange_file(exchange)
        try:
            with (self.control_folder / "lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                rows = self.get_table(exchange)
                before = list(rows)
                yield rows
                if rows != before:
                    _write(file, dumps(rows))
        except OSError as error:
            raise ConnectionError(f"{file.name} can't be changed: {error.strerror}") from error

    def _tidy_up(self) -> None:
        """Remove halves, and hand out again what a reader took and did not read."""
        messages = Path(self.data_folder_out)
        for path in [*messages.glob(f"*{_PART}"), *self.control_folder.glob(f"*{_PART}")]:
            if _is_old(path):
                path.unlink(missing_ok=True)
        for path in Path(self.processed_folder).glob("*.msg"):
            if _is_old(path):
                with contextlib.suppress(OSError):
                    os.replace(path, messages / path.name)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _OLD_SECONDS
    except FileNotFoundError:  # another process was quicker
        return False


def _write(path: Path, text: str) -> None:
    """Write a file whole, or leave nothing. Raises ``OSError``."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}{_PART}")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


class Transport(filesystem.Transport):
    """For ``broker_transport``."""

    Channel = Channel
