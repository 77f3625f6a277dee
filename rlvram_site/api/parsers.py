"""Reading bodies with a limit: JSON (plain or gzip), forms with files, and raw bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, MultiPartParser

from rlvram_site.api.errors import TooLarge
from rlvram_site.strict_json import JsonError, read_json

CHUNK = 1 << 20
DEEPEST = 40
"""Levels of nesting that a JSON body may have."""


def announced_length(request: Any) -> int:
    """``Content-Length`` in bytes; 0 where there is none or it is no number."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _unpacked(packed: bytes, limit: int) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        body = inflate.decompress(packed, limit + 1)
    except zlib.error as error:
        raise ParseError(f"The body is announced as gzip and can't be unpacked: {error}") from error
    if len(body) <= limit and not inflate.eof:
        raise ParseError("The body is announced as gzip and ends too early.")
    return body


class BoundedJSONParser(BaseParser):
    """JSON of at most ``API_MAX_JSON_BYTES``, also once unpacked (``Content-Encoding: gzip``).

    No child of REST framework's own: that is handed the body only after Django's limit for forms.
    """

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type=None, parser_context=None) -> Any:
        limit = settings.API_MAX_JSON_BYTES
        body = stream.read(limit + 1)
        encoding = (parser_context or {})["request"].headers.get("Content-Encoding", "identity").lower()
        if len(body) <= limit and encoding == "gzip":
            body = _unpacked(body, limit)
        elif encoding not in ("identity", "gzip"):
            raise ParseError(f"Content-Encoding is {encoding!r}, expected gzip or none.")
        if len(body) > limit:
            raise TooLarge(f"The body has more than {limit} bytes, expected at most that many.")
        try:
            return read_json(body, max_depth=DEEPEST)
        except JsonError as error:
            raise ParseError(f"The body can't be read as JSON: {error}") from error


class BoundedMultiPartParser(MultiPartParser):
    """A form with files, of at most ``API_MAX_UPLOAD_BYTES`` in all."""

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        limit = settings.API_MAX_UPLOAD_BYTES
        if announced_length((parser_context or {})["request"]) > limit:
            raise TooLarge(f"The body has more than {limit} bytes, expected at most that many.")
        return super().parse(stream, media_type, parser_context)


class RawParser(BaseParser):
    """The bytes as they come; the view reads them in chunks with ``raw_chunks``."""

    media_type = "application/octet-stream"

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        return stream


def raw_chunks(request: Any) -> Iterator[bytes]:
    """The body in chunks, unpacked if it is announced as gzip. Unpacked chunks are bounded in size."""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise ParseError(f"Content-Encoding is {encoding!r}, expected gzip or none.")
    inflate = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    source = request._request
    while chunk := source.read(CHUNK):
        if inflate is None:
            yield chunk
            continue
        while chunk:
            try:
                yield inflate.decompress(chunk, CHUNK)
            except zlib.error as error:
                raise ParseError(f"The body is announced as gzip and can't be unpacked: {error}") from error
            chunk = inflate.unconsumed_tail
    if inflate is not None and not inflate.eof:
        raise ParseError("The body is announced as gzip and ends too early.")
