"""The host's side of the site's API: registering, and holding a job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import requests

from host.upload import FIRST_PAUSE, LONGEST_PAUSE, TIMEOUT, TRIES, TRY_AGAIN, Refused, Unreachable


class NotHeld(Exception):
    """The job is somebody else's, or has ended."""


class SiteClient:
    """Calls for one host, tried again with growing pauses while that may help."""

    def __init__(self, url: str, key: str, host: str) -> None:
        self.url = url.rstrip("/")
        self.base = f"{self.url}/api/v1/hosts/{host}/"
        self.session = requests.Session()
        self.session.headers.update({"Authorization": f"Api-Key {key}", "Accept": "application/json"})

    def register(self, description: Mapping[str, Any]) -> None:
        """Tell the site of this host and its devices."""
        self._call("PUT", self.base, description)

    def claim(self, job: int) -> dict[str, Any]:
        """Take a job; raises ``NotHeld`` if it is not to be had."""
        return self._call("POST", f"{self.base}jobs/{job}/claim/", {})

    def beat(self, job: int, report: Mapping[str, Any], *, tries: int = 1) -> bool:
        """Say how far it is. True: somebody asked for it to stop. Raises ``NotHeld``."""
        return bool(self._call("POST", f"{self.base}jobs/{job}/beat/", report, tries)["cancel"])

    def end(self, job: int, report: Mapping[str, Any]) -> None:
        """Say what was done. Raises ``NotHeld``."""
        self._call("POST", f"{self.base}jobs/{job}/end/", report)

    def _call(self, method: str, url: str, body: Mapping[str, Any], tries: int = TRIES) -> dict[str, Any]:
        pause, problem = FIRST_PAUSE, ""
        for number in range(tries):
            if number:
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            try:
                answer = self.session.request(method, url, json=body, timeout=TIMEOUT)
            except requests.RequestException as error:
                problem = str(error)
                continue
            if answer.ok:
                found: dict[str, Any] = answer.json()
                return found
            problem = f"{answer.status_code} {answer.text[:300]}"
            if answer.status_code == 409:
                raise NotHeld(problem)
            if answer.status_code not in TRY_AGAIN:
                raise Refused(problem)
        raise Unreachable(f"{url}: {problem}")
