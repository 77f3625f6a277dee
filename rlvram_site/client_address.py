"""Who is at the other end: the client's address behind proxies that are trusted, and no other's word for it.

The middleware is the first of all. Behind it ``REMOTE_ADDR`` is the client, and forwarded headers are there
only if a trusted proxy sent them; so login limits, rate limits and logs need no knowledge of proxies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOCAL_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Where a proxy of one's own stands when nobody says where."""
_FORWARDED = (
    "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_SSL", "HTTP_X_REAL_IP", "HTTP_FORWARDED",
)  # fmt: skip
CAME_THROUGH_A_PROXY = "rlvram.proxied"
_MOST_HOPS = 32
_ONE_NETWORK_BITS = 64


def networks(words: Sequence[str]) -> tuple[Network, ...]:
    """Addresses and networks as such. Raises ``ValueError`` for the first that is neither."""
    return tuple(ip_network(word.strip()) for word in words)


def read_address(text: str) -> Address | None:
    """An address as headers write it, with or without a port; None for anything else."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def behind(peer: str, forwarded_for: str, trusted: Sequence[Network], hops: int) -> str:
    """The address of the client, given the peer of the connection and ``X-Forwarded-For``.

    Read from the right: each trusted proxy has appended whom it saw. The first that is no trusted proxy is
    the client; what stands left of it is only what that client claims. At most ``hops`` proxies are passed.
    """
    found = peer
    for word in reversed(forwarded_for.split(",")[-_MOST_HOPS:]):
        if hops == 0 or not is_trusted(found, trusted):
            break
        address = read_address(word)
        if address is None:
            break
        found, hops = str(address), hops - 1
    return found


def is_trusted(peer: str, trusted: Sequence[Network]) -> bool:
    """Whether ``peer`` is a proxy of ours. A socket file has no address and is of this machine."""
    if not peer:
        return bool(trusted)
    address = read_address(peer)
    return address is not None and any(address in network for network in trusted)


def counted_as(address: str) -> str:
    """Under which address limits count: one subscriber has a whole /64 of IPv6, and could change at will."""
    found = read_address(address)
    if not isinstance(found, IPv6Address):
        return str(found) if found else ""
    return str(ip_network((found, _ONE_NETWORK_BITS), strict=False).network_address)


def client_address(request: HttpRequest) -> str:
    """The client's address; empty when it came over a socket file and nobody said."""
    return str(request.META.get("REMOTE_ADDR", ""))


def limited_address(request: HttpRequest) -> str | None:
    """Under which address the limits of logins and of the API count this request."""
    return counted_as(client_address(request)) or None


class ClientAddressMiddleware:
    """Puts the client's address where everything looks for it, and takes away what nobody may claim."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        peer = str(meta.get("REMOTE_ADDR", ""))
        trusted = settings.TRUSTED_PROXY_NETWORKS
        # For who must know that it came through a proxy at all, whether trusted or not.
        meta[CAME_THROUGH_A_PROXY] = any(name in meta for name in _FORWARDED)
        if is_trusted(peer, trusted):
            forwarded = meta.get("HTTP_X_FORWARDED_FOR", "")
            meta["REMOTE_ADDR"] = behind(peer, forwarded, trusted, settings.TRUSTED_PROXY_HOPS)
        else:
            for name in _FORWARDED:
                meta.pop(name, None)
            if (address := read_address(peer)) is not None:
                meta["REMOTE_ADDR"] = str(address)
        return self.get_response(request)
