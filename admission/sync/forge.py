"""One read from the forge: who asks, how long, how much, how often, and what went wrong in plain words.

githubkit sends the request and recognises both kinds of rate limit. Redirects (a transferred issue has one)
are followed here, and only to the same host, so that the token never goes anywhere else.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
from django.conf import settings
from githubkit import GitHub
from githubkit.exception import RateLimitExceeded, RequestError, RequestFailed, RequestTimeout

from admission.sync.addresses import web_host
from admission.sync.errors import ForgeTrouble, NotAllowed, NotFound, RateLimited, SyncError, Unreachable

TRIES = 3
FIRST_WAIT_SECONDS = 1.0
SHORT_LIMIT_SECONDS = 20
"""A limit that ends this soon is waited for; a longer one ends the sync, which goes on later."""
MAX_REDIRECTS = 3
MAX_ANSWER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """What the forge said. ``text`` is None where it said that nothing changed since ``etag``."""

    text: str | None
    etag: str
    next_url: str


def forge_host() -> str:
    """The host of this site's forge, as people read it."""
    return settings.FORGE_HOST.lower() or web_host(settings.FORGE_API_URL)


class Forge:
    """The forge of the settings. Several reads inside ``connected`` share their connections."""

    def __init__(
        self, api_url: str = "", token: str | None = None, *, timeout: float = 0, answer_seconds: float = 0
    ) -> None:
        self.api_url = (api_url or settings.FORGE_API_URL).rstrip("/")
        self.token = settings.FORGE_TOKEN if token is None else token
        self.host = forge_host()
        self._answer_seconds = answer_seconds or settings.FORGE_ANSWER_SECONDS
        self._github: Any = GitHub(
            self.token or None,
            base_url=self.api_url + "/",
            user_agent="rlvram-studies",
            timeout=httpx.Timeout(timeout or settings.FORGE_TIMEOUT_SECONDS),
            follow_redirects=False,
            http_cache=False,
            auto_retry=False,
        )
        self._open = False
        self._used_up_until: dt.datetime | None = None

    @contextmanager
    def connected(self) -> Iterator[Forge]:
        """Keep connections open for several requests."""
        with self._github:
            self._open = True
            try:
                yield self
            finally:
                self._open = False

    def url(self, path: str) -> str:
        return f"{self.api_url}/{path.lstrip('/')}"

    def get(self, url: str, etag: str = "", *, what: str) -> Answer:
        """What is at ``url``, unless it is still what ``etag`` names.

        ``what`` names it for a person. Raises a ``SyncError``.
        """
        with nullcontext() if self._open else self.connected():
            for _ in range(MAX_REDIRECTS + 1):
                self._check_host(url)
                status, headers, text = self._tried(url, etag, what)
                if status in (301, 302, 307, 308) and headers.get("location"):
                    url = urljoin(url, headers["location"])
                    continue
                return Answer(None if status == 304 else text, headers.get("etag", etag), self._next(headers))
        raise ForgeTrouble(f"{self.host} sends us in circles for {what}.")

    def _check_host(self, url: str) -> None:
        wanted, ours = urlsplit(url), urlsplit(self.api_url)
        if (wanted.scheme, wanted.netloc.lower()) != (ours.scheme, ours.netloc.lower()):
            raise ForgeTrouble(
                f"{self.host} points to {wanted.netloc[:80]}, where this site does not follow."
            )

    def _next(self, headers: Mapping[str, str]) -> str:
        links = httpx.Response(200, headers={"link": headers.get("link", "")}).links
        return str(links.get("next", {}).get("url", ""))

    def _tried(self, url: str, etag: str, what: str) -> tuple[int, Mapping[str, str], str]:
        """The answer, after as many tries as cuts, slowness and errors of the forge are worth."""
        wait = FIRST_WAIT_SECONDS
        for attempt in range(1, TRIES + 1):
            if self._used_up_until and self._used_up_until > dt.datetime.now(dt.UTC):
                raise RateLimited(self.host, self._used_up_until)
            try:
                return self._once(url, etag, what)
            except RateLimited as error:
                left = (error.again_at - dt.datetime.now(dt.UTC)).total_seconds() if error.again_at else 0
                if attempt == TRIES or left > SHORT_LIMIT_SECONDS:
                    raise
                time.sleep(max(0.0, left))
                self._used_up_until = None
            except (Unreachable, ForgeTrouble):
                if attempt == TRIES:
                    raise
                time.sleep(wait + random.uniform(0, wait / 2))  # noqa: S311 - only spreads requests
                wait *= 3
        raise AssertionError("the last try returns or raises")

    def _once(self, url: str, etag: str, what: str) -> tuple[int, Mapping[str, str], str]:
        sent = {"If-None-Match": etag} if etag else {}
        try:
            response = self._github.request("GET", url, headers=sent, stream=True).raw_response
            text = self._read(response, what)
        except RateLimitExceeded as error:
            raise self._limited(dt.datetime.now(dt.UTC) + error.retry_after) from None
        except RequestFailed as error:
            raise self._refused(error, what) from None
        except RequestTimeout:
            raise Unreachable(f"{self.host} did not answer in time.") from None
        except (RequestError, httpx.HTTPError) as error:
            cause = error.exc if isinstance(error, RequestError) else error
            raise self._cut(cause) from None
        except ValueError as error:  # a limit whose numbers are none
            raise ForgeTrouble(f"{self.host} answered with a header that makes no sense: {error}") from None
        if response.headers.get("x-ratelimit-remaining") == "0":
            # The next request would be refused; it is not even sent.
            self._used_up_until = _reset(response.headers)
        return response.status_code, response.headers, text

    def _limited(self, until: dt.datetime) -> RateLimited:
        self._used_up_until = until
        return RateLimited(self.host, until)

    def _read(self, response: httpx.Response, what: str) -> str:
        """The body, bounded in size and in time as a whole: a trickle must not hold a worker for ever."""
        end = time.monotonic() + self._answer_seconds
        parts, size = [], 0
        try:
            for part in response.iter_bytes():
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    raise ForgeTrouble(f"The answer for {what} is longer than {MAX_ANSWER_BYTES:,} bytes.")
                if time.monotonic() > end:
                    raise Unreachable(f"{self.host} did not answer in time.")
                parts.append(part)
        finally:
            response.close()
        if response.status_code != 200:
            return ""
        data = b"".join(parts)
        try:
            text = data.decode("utf-8")
            json.loads(text)
        except (ValueError, RecursionError):
            raise ForgeTrouble(
                f"{urlsplit(self.api_url).netloc} answered with something that is no JSON for {what}; "
                "is FORGE_API_URL the address of the API?"
            ) from None
        return text

    def _refused(self, error: RequestFailed, what: str) -> SyncError:
        status = error.response.status_code
        said = _message(error)
        if status == 429 or (status == 403 and "rate limit" in said.lower()):
            return self._limited(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60))
        if status == 401:
            return NotAllowed(f"{self.host} refuses the token in FORGE_TOKEN.")
        if status == 403:
            return NotAllowed(
                f"{self.host} does not show {what}{f': {said}' if said else ''}. {self._token()}"
            )
        if status == 404:
            return NotFound(
                f"{what} was not found on {self.host}. It does not exist, or it is private. {self._token()}"
            )
        if status in (410, 451):
            return NotFound(f"{what} was removed from {self.host}.")
        if status >= 500:
            return ForgeTrouble(f"{self.host} is in trouble itself (error {status}).")
        return NotAllowed(
            f"{self.host} refused to show {what} (error {status}{f': {said}' if said else ''})."
        )

    def _token(self) -> str:
        if self.token:
            return "The token in FORGE_TOKEN may not be allowed to read it."
        return "No token is set (FORGE_TOKEN), so only what is public can be read."

    def _cut(self, cause: BaseException) -> Unreachable:
        chain, seen = cause, []
        while chain is not None and chain not in seen:
            seen.append(chain)
            chain = chain.__cause__ or chain.__context__  # type: ignore[assignment]
        if any(isinstance(item, socket.gaierror) for item in seen) or "Name or service" in str(cause):
            return Unreachable(f"The name {urlsplit(self.api_url).hostname} is not known: no network?")
        if any(isinstance(item, ssl.SSLError) for item in seen):
            return Unreachable(f"The connection to {self.host} is not safe: its certificate is not accepted.")
        if isinstance(cause, httpx.ConnectError):
            return Unreachable(f"{self.host} cannot be reached: no network, or nobody listens there.")
        if isinstance(cause, httpx.TimeoutException):
            return Unreachable(f"{self.host} did not answer in time.")
        return Unreachable(f"The connection to {self.host} was cut ({type(cause).__name__}).")


def _message(error: RequestFailed) -> str:
    try:
        said = error.response.json().get("message", "")
    except (ValueError, AttributeError):
        return ""
    return said[:200].rstrip(".") if isinstance(said, str) else ""


def _reset(headers: Mapping[str, str]) -> dt.datetime | None:
    try:
        return dt.datetime.fromtimestamp(int(headers.get("x-ratelimit-reset", "")), dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
