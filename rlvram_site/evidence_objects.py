"""Where evidence lies when several machines share it: objects in a store that speaks S3."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from rlvram_site.evidence_storage import NAME, StoreUnreachable

_IN_MEMORY_BYTES = 4 << 20
_ABSENT = {"404", "NoSuchKey", "NotFound"}


class EvidenceObjects(S3Storage):
    """Objects in one bucket, below one prefix. An object appears whole or not at all."""

    remote = True

    def get_default_settings(self) -> dict[str, Any]:
        # The keys come from the environment, a profile or the machine's role, as boto3 finds them.
        config = Config(
            connect_timeout=10, read_timeout=60, retries={"max_attempts": 4, "mode": "standard"},
        )  # fmt: skip
        return super().get_default_settings() | {
            "client_config": config, "object_parameters": {"ContentType": "application/gzip"},
            "file_overwrite": True,
        }  # fmt: skip

    def incoming(self) -> Path:
        """The folder in which bytes are gathered before they are sent on, and kept while they are read."""
        folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _save(self, name: str, content: Any) -> str:
        with _reached():
            return super()._save(name, content)

    def open_bytes(self, name: str) -> File:
        """The object's bytes, fetched wholly: a connection that breaks later breaks no answer.

        Raises ``FileNotFoundError``.
        """
        target = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES, dir=str(self.incoming()))  # noqa: SIM115
        try:
            with _reached():
                self.bucket.Object(self._normalize_name(name)).download_fileobj(target)
        except BaseException:
            target.close()
            raise
        target.seek(0)
        return File(target, name)

    def delete(self, name: str) -> None:
        with _reached():
            super().delete(name)

    def stamp(self, name: str) -> str | None:
        """Another text whenever the object was written anew; None without one."""
        try:
            with _reached():
                found = self.connection.meta.client.head_object(
                    Bucket=self.bucket_name, Key=self._normalize_name(name)
                )
        except FileNotFoundError:
            return None
        return f"{found['ContentLength']}-{found['ETag']}-{found['LastModified'].timestamp():.0f}"

    def stored(self) -> Iterator[tuple[str, float]]:
        """Name of everything that is stored, and when it was written: seconds since 1970."""
        prefix = f"{self.location}/" if self.location else ""
        with _reached():
            for item in self.bucket.objects.filter(Prefix=prefix):
                name = item.key.removeprefix(prefix)
                if NAME.match(name):
                    yield name, item.last_modified.timestamp()


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Errors of boto in the words of files: not there, or nothing is known."""
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _ABSENT:
            raise FileNotFoundError("there is no such object") from error
        raise StoreUnreachable(f"the evidence store refused: {error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise StoreUnreachable(f"the evidence store does not answer: {error}") from error
