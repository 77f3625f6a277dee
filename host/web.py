"""Talking to the site: one address, one key, no redirect, tried again as long as that may help."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from host.errors import BadInput, NotHeld, Refused, Unreachable
from host.keys import Key

RETRIES = 12
"""With growing pauses about seven minutes: longer than a site takes to be deployed."""

LONGEST_PAUSE = 60.0  # s
TIMEOUT = (10, 300)  # s: to connect, to wait for an answer
TRY_AGAIN = (429, 500, 502, 503, 504, 507)
KEY_EXPIRES = "Api-Key-Expires"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
Tell = Callable[[str], None]


def on_stderr(text: str) -> None:
    """Tell a person on the terminal."""
    print(text, file=sys.stderr, flush=True)


def plain(text: str) -> str:
    """A text of the site without what a terminal would obey."""
    return _CONTROL.sub(" ", text)


def site_address(url: str) -> str:
    """The site's address without a slash at its end.

    Raises ``BadInput`` for one that can't be asked, or that carries a password.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - looking at it checks it
    except ValueError as error:
        raise BadInput(f"--url can't be read as an address: {error}") from None
    if parts.username or parts.password:
        raise BadInput("--url holds a name or password, expected none: the key says who is asking")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(
            f"--url is {url[:200]!r}, expected https://HOST, for example https://studies.example.org"
        )
    return url.rstrip("/")


class _KeyAuth(requests.auth.AuthBase):
    """Sends the key. As ``auth`` and not as a header, so that no ``~/.netrc`` takes its place."""

    def __init__(self, key: Key) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Api-Key {self._key!s}"
        return request


def _retry(retries: int, tell: Tell) -> Retry:
    class Telling(Retry):
        """Says the first time that it waits, so that nobody wonders."""

        def increment(self, *args: Any, **kwargs: Any) -> Retry:  # type: ignore[override]
            after = super().increment(*args, **kwargs)
            if len(after.history) == 1:
                status, error = after.history[0].status, after.history[0].error
                reason = f"status {status}" if status else f"{type(error).__name__}"
                tell(f"the site does not answer ({reason}); trying again, up to {self.total} times")
            return after

    return Telling(
        total=retries, connect=retries, read=retries, status=retries, redirect=0, other=0,
        allowed_methods=None, status_forcelist=TRY_AGAIN, backoff_factor=1, backoff_max=LONGEST_PAUSE,
        raise_on_status=False, raise_on_redirect=False, respect_retry_after_header=True,
    )  # fmt: skip


class Web:
    """Requests to one site. Writes may be sent twice: the site knows what it has already."""

    def __init__(self, url: str, key: Key, *, retries: int = RETRIES, tell: Tell = on_stderr) -> None:
        self.url = site_address(url)
        self.key = key
        self.retries = retries
        self._tell = tell
        self._key_remarked = False
        self._session = requests.Session()
        self._session.auth = _KeyAuth(key)
        self._session.headers["Accept"] = "application/json"
        adapter = HTTPAdapter(max_retries=_retry(retries, tell))
        once = HTTPAdapter(max_retries=Retry(total=0, redirect=0, raise_on_status=False))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, adapter)
        self._once = once

    def request(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None,
        absent: bool = False, once: bool = False, timeout: tuple[float, float] = TIMEOUT,
    ) -> requests.Response:  # fmt: skip
        """One answer of the site, tried again while that may help unless ``once``. ``absent``: 404 is one.

        Raises ``Refused`` with the site's reason (``NotHeld`` for 409), or ``Unreachable``.
        """
        prepared = self._session.prepare_request(
            requests.Request(method, f"{self.url}/api/v1/{path}", data=body, headers=dict(headers or {}))
        )
        settings = self._session.merge_environment_settings(prepared.url, {}, None, None, None)
        try:
            if once:
                answer = self._once.send(prepared, timeout=timeout, **settings)  # type: ignore[arg-type]
            else:
                answer = self._session.send(prepared, timeout=timeout, allow_redirects=False, **settings)
        except requests.exceptions.RequestException as error:
            raise Unreachable(self._given_up(_network_reason(error), once)) from None
        self._remark_on_key(answer.headers.get(KEY_EXPIRES, ""))
        if answer.is_redirect or answer.is_permanent_redirect:
            raise Refused(_elsewhere(answer), answer.status_code)
        if answer.ok or (absent and answer.status_code == 404):
            return answer
        reason = self.key.hide(plain(reason_of(answer)))
        if answer.status_code in TRY_AGAIN:
            raise Unreachable(self._given_up(reason, once))
        kind = NotHeld if answer.status_code == 409 else Refused
        raise kind(reason, answer.status_code)

    def _remark_on_key(self, expires: str) -> None:
        """Say once that the key expires soon, if the site says so."""
        if expires and not self._key_remarked:
            self._key_remarked = True
            self._tell(f"this key expires on {plain(expires)[:40]}; ask for another one before")

    def json(self, method: str, path: str, body: Any = None, *, once: bool = False) -> dict[str, Any]:
        """The site's JSON answer to a request whose body is JSON. An answer without a body is ``{}``."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {} if sent is None else {"Content-Type": "application/json"}
        answer = self.request(method, path, body=sent, headers=headers, once=once)
        return object_of(answer) if answer.content else {}

    def _given_up(self, reason: str, once: bool) -> str:
        tries = 1 if once else self.retries + 1
        return f"{self.url} given up after {tries} {'try' if tries == 1 else 'tries'}: {reason}"


def object_of(answer: requests.Response) -> dict[str, Any]:
    """The JSON object of an answer. Raises ``Refused`` for anything else: something stands in between."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        kind = answer.headers.get("Content-Type", "nothing")
        raise Refused(
            f"{answer.url} answered {answer.status_code} with {plain(kind)}, expected this site's JSON"
        )
    return found


def reason_of(answer: requests.Response) -> str:
    """Why the site did not do it, in its own words."""
    try:
        error = answer.json()["error"]
        return f"{answer.status_code} {error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason}"


def _elsewhere(answer: requests.Response) -> str:
    place = plain(answer.headers.get("Location", ""))
    parts = urlsplit(place)
    use = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else place
    return f"{answer.status_code}: the site sends this on to {place}; nothing was sent there. Use --url {use}"


def _network_reason(error: Exception) -> str:
    """What went wrong on the way, shortly."""
    cause: Any = error
    while getattr(cause, "args", ()) and isinstance(cause.args[0], Exception):
        cause = cause.args[0]
    return plain(str(getattr(cause, "reason", None) or cause))[:300]
