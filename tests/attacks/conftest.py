"""The same keys and studies as for the API, and evidence in a folder of the test's own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.api.conftest import _fresh_rates, anonymous, study, uploader

__all__ = ["_fresh_rates", "anonymous", "study", "uploader"]


@pytest.fixture
def store(settings, tmp_path) -> Path:
    """Where evidence lies."""
    settings.MEDIA_ROOT = tmp_path
    return tmp_path / "evidence"


def put(api, content: bytes, study: str = "demo"):
    """Send bytes as evidence of a study."""
    return api.put(f"studies/{study}/evidence/{sha256_of(content)}/", content)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def attempt(api, name: str, *files: tuple[str, bytes], private: bool = False):
    """Record an attempt that names these files."""
    entries = [
        {"name": file, "sha256": sha256_of(content), "size_bytes": len(content), "private": private}
        for file, content in files
    ]
    body = {"invocation_id": name, "unplanned": True, "exit_code": 1, "files": entries}
    return api.post("studies/demo/attempts/", body)
