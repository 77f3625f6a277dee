"""The verifier as a file to take along: whoever checks a ledger needs nothing else of this site."""

from __future__ import annotations

from pathlib import Path

from django.http import FileResponse, HttpRequest

from host import rlvram_verify


def verifier(request: HttpRequest) -> FileResponse:
    """``rlvram_verify.py`` as it stands here."""
    path = Path(rlvram_verify.__file__)
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="text/x-python")
