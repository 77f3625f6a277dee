"""The host's side of the site's API: registering, taking jobs, and holding them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.web import Web


class SiteClient:
    """Calls for one host, with the host's own key."""

    def __init__(self, web: Web, host: str) -> None:
        self.web = web
        self._base = f"hosts/{host}/"

    def register(self, description: Mapping[str, Any]) -> None:
        """Tell the site of this host and its devices. Raises ``NotHeld`` if the name is another machine's."""
        self.web.json("PUT", self._base, description)

    def next_job(self) -> dict[str, Any] | None:
        """Take the next job that waits for this host, with its orders; None while none does."""
        return self.web.json("POST", f"{self._base}next/", {}) or None

    def beat(self, job: int, report: Mapping[str, Any]) -> bool:
        """Say how far it is, once. True: somebody asked for it to stop. Raises ``NotHeld``."""
        return bool(self.web.json("POST", f"{self._base}jobs/{job}/beat/", report, once=True)["cancel"])

    def end(self, job: int, report: Mapping[str, Any]) -> None:
        """Say what was done. Raises ``NotHeld``."""
        self.web.json("POST", f"{self._base}jobs/{job}/end/", report)
