"""Posting to an address that somebody typed, and never to one inside our own network.

The name is resolved here and the connection goes to the very address that was checked, so that a name that
resolves differently a moment later leads nowhere. Redirects are not followed, nor is a proxy used.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from http.client import HTTPException
from urllib.parse import urlsplit

from django.conf import settings
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

CONNECT_SECONDS, READ_SECONDS, WHOLE_SECONDS = 5.0, 10.0, 30.0
MAX_URL = 500
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class TargetRefused(Exception):
    """The address is none that this site posts to; the text says why, for a person."""


class PostFailed(Exception):
    """It could not be delivered this time; the text says why, for a person."""


def address_allowed(text: str) -> bool:
    """Whether this site posts to that IP address: public ones, and networks that the settings name."""
    ip = ipaddress.ip_address(text.partition("%")[0])
    # What an address stands for decides, not what it is wrapped in.
    ip = _inner(ip)
    if any(ip in ipaddress.ip_network(name) for name in settings.WEBHOOK_ALLOWED_NETWORKS):
        return True
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _inner(ip: IPAddress) -> IPAddress:
    """The IPv4 address that an IPv6 address stands for, else itself."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip
    return ip


def check_url(url: str) -> None:
    """Whether the address can be one to post to, without asking for its name. Raises ``TargetRefused``."""
    if len(url) > MAX_URL or any(ord(sign) <= 32 or ord(sign) > 126 for sign in url):
        raise TargetRefused(
            f"The address must be at most {MAX_URL} printable ASCII characters without blanks."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise TargetRefused("This is no web address; expected something like https://HOST/PATH.") from None
    schemes = {"https", "http"} if settings.WEBHOOK_ALLOWED_NETWORKS else {"https"}
    if parts.scheme not in schemes or not parts.hostname:
        raise TargetRefused("Expected an address such as https://HOST/PATH.")
    if parts.username is not None or parts.password is not None:
        raise TargetRefused("The address must not hold a name or a password.")
    if port == 0 or parts.fragment:
        raise TargetRefused("The address must have no fragment, and no port 0.")


def check_target(url: str) -> None:
    """``check_url``, and whether the name leads to an address outside now. Raises ``TargetRefused``."""
    check_url(url)
    parts = urlsplit(url)
    try:
        _resolve(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    except OSError:
        raise TargetRefused(f"The name {parts.hostname} is not known.") from None


def _resolve(host: str, port: int) -> list[str]:
    """The addresses of a name.

    Raises ``TargetRefused`` if a single one lies inside, ``OSError`` if none is known.
    """
    found = [str(item[4][0]) for item in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for text in found:
        if not address_allowed(text):
            raise TargetRefused(
                f"{host} leads to {text}, which is a private, loopback, link-local or reserved address. "
                "This site posts there only if WEBHOOK_ALLOWED_NETWORKS names its network."
            )
    return list(dict.fromkeys(found))


def _open_socket(connection: HTTPConnection) -> socket.socket:
    """A connection to one of the checked addresses, whatever the name resolves to later."""
    problem: OSError = OSError("it has no address")
    for text in _resolve(connection.host, connection.port):
        try:
            opened = socket.create_connection((text, connection.port), CONNECT_SECONDS)
        except OSError as error:
            problem = error
            continue
        opened.settimeout(READ_SECONDS)
        return opened
    raise problem


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _open_socket(self)


class _SafeConnection(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _open_socket(self)


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post ``body``. Raises ``TargetRefused`` for an address inside, ``PostFailed`` for any other failure.

    The answer's body is never read: what a stranger says is neither shown nor kept. Everything together takes
    at most about ``WHOLE_SECONDS``, also where each byte comes just in time.
    """
    check_url(url)
    parts = urlsplit(url)
    made = _SafeConnection if parts.scheme == "https" else _Connection
    connection = made(parts.hostname or "", parts.port, timeout=READ_SECONDS)
    watch = threading.Timer(WHOLE_SECONDS, _hang_up, [connection])
    watch.daemon = True
    watch.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body=body, headers=headers, preload_content=False)
        status = connection.getresponse().status
    except socket.gaierror:
        raise PostFailed(f"The name {parts.hostname} is not known.") from None
    except ssl.SSLError:
        raise PostFailed("The connection is not safe: its certificate is not accepted.") from None
    except TimeoutError:
        raise PostFailed("It did not answer in time.") from None
    except ConnectionRefusedError:
        raise PostFailed("Nobody listens there.") from None
    except (HTTPError, HTTPException, OSError) as error:
        raise PostFailed(f"The connection was cut ({type(error).__name__}).") from None
    finally:
        watch.cancel()
        connection.close()
    if 300 <= status < 400:
        raise PostFailed(f"It answered with a redirect ({status}), which is not followed.")
    if not 200 <= status < 300:
        raise PostFailed(f"It answered with {status}.")


def _hang_up(connection: HTTPConnection) -> None:
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
