"""What an address names: an issue, or a whole repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from admission.sync.errors import NotFollowable
from admission.thread.export import people_s_host

EXPECTED = "expected something like https://HOST/OWNER/NAME/issues/12, OWNER/NAME#12 or OWNER/NAME"
MAX_NUMBER = 2**31 - 1
_NAME = r"[A-Za-z0-9_.-]{1,100}"
_SHORT = re.compile(rf"(?P<owner>{_NAME})/(?P<name>{_NAME})(?:#(?P<number>\d{{1,10}}))?")
_PATH = re.compile(
    rf"/(?P<owner>{_NAME})/(?P<name>{_NAME}?)(?:\.git)?(?:/(?:issues|pull)/(?P<number>\d{{1,10}})(?:/.*)?|/issues)?/?"
)


@dataclass(frozen=True)
class Address:
    """An issue, or with the number 0 a repository, on the forge's ``host`` (its web pages' host)."""

    host: str
    owner: str
    name: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}" + (f"#{self.number}" if self.number else "")

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"


def web_host(api_url: str) -> str:
    """The host of the forge's pages: ``github.com`` for api.github.com, else as a rule the API's own."""
    return people_s_host(urlsplit(api_url).netloc)


def parse_address(text: str, host: str) -> Address:
    """What ``text`` names on the forge whose pages are at ``host``.

    Raises ``NotFollowable`` saying what was expected, also for an address on another host.
    """
    given = text.strip()
    if "://" in given or given.lower().startswith(f"{host}/"):
        parts = urlsplit(given if "://" in given else f"https://{given}")
        if parts.scheme not in ("http", "https"):
            raise NotFollowable(f"“{given[:120]}” is no web address; {EXPECTED}.")
        found = _PATH.fullmatch(parts.path)
        if found is not None and parts.netloc.lower().removeprefix("www.") != host:
            raise NotFollowable(
                f"“{given[:120]}” lies on {parts.netloc[:80]}, while this site follows {host} only."
            )
    else:
        found = _SHORT.fullmatch(given)
    if found is None or {found["owner"], found["name"]} & {".", ".."}:
        raise NotFollowable(f"“{given[:120]}” names no issue; {EXPECTED}.")
    number = int(found["number"] or 0)
    if number > MAX_NUMBER or (found["number"] is not None and number == 0):
        raise NotFollowable(f"{found['number']} is no issue's number; {EXPECTED}.")
    return Address(host, found["owner"], found["name"], number)
