"""``python scripts/probe.py URL``: exit 0 when the site answers URL with 200, for a container's health check.

The request carries a host name that ``ALLOWED_HOSTS`` admits; the site refuses others.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request


def main(url: str) -> int:
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".*")
    request = urllib.request.Request(url, headers={"Host": host or "localhost"})  # noqa: S310 - http only
    try:
        with urllib.request.urlopen(request, timeout=8) as answer:  # noqa: S310
            return 0 if answer.status == 200 else 1
    except (OSError, urllib.error.URLError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
