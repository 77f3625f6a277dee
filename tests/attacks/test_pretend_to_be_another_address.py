"""Somebody who wants limits and logs to name another address than his own."""

from __future__ import annotations

from ipaddress import ip_network

import hypothesis.strategies as st
import pytest
from django.http import HttpRequest
from django.test import RequestFactory
from hypothesis import example, given

from rlvram_site.client_address import (
    ClientAddressMiddleware,
    behind,
    client_address,
    counted_as,
    networks,
)

PROXIES = networks(["10.0.3.0/24", "2001:db8:0:3::/64"])


def seen(settings, peer: str, trusted=PROXIES, hops: int = 32, **headers: str) -> HttpRequest:
    """The request as the site sees it behind its first door."""
    settings.TRUSTED_PROXY_NETWORKS, settings.TRUSTED_PROXY_HOPS = trusted, hops
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer)
    ClientAddressMiddleware(lambda request: None)(request)  # type: ignore[arg-type, return-value]
    return request


FORGED = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "https", "X-Real-IP": "192.0.2.9",
          "Forwarded": "for=192.0.2.9;proto=https", "X-Forwarded-Host": "evil.example"}  # fmt: skip


@pytest.mark.parametrize("trusted", [(), PROXIES])
def test_headers_of_a_stranger_change_nothing(settings, trusted):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    request = seen(settings, "198.51.100.7", trusted, **FORGED)
    assert client_address(request) == "198.51.100.7"
    assert not request.is_secure()
    assert not set(request.headers) & set(FORGED)


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.3.1", "192.0.2.9", "192.0.2.9"),
        ("10.0.3.1", "1.1.1.1, 192.0.2.9", "192.0.2.9"),
        ("10.0.3.1", "1.1.1.1, 192.0.2.9, 10.0.3.2", "192.0.2.9"),
        ("10.0.3.1", "10.0.3.9, 192.0.2.9", "192.0.2.9"),
        ("10.0.3.1", "192.0.2.9:4711", "192.0.2.9"),
        ("10.0.3.1", "[2001:db8::7]:443", "2001:db8::7"),
        ("10.0.3.1", "::ffff:192.0.2.9", "192.0.2.9"),
        ("::ffff:10.0.3.1", "192.0.2.9", "192.0.2.9"),
        ("10.0.3.1", "192.0.2.9, not an address", "10.0.3.1"),
        ("10.0.3.1", "", "10.0.3.1"),
        ("", "192.0.2.9", "192.0.2.9"),
        ("10.0.4.1", "192.0.2.9", "10.0.4.1"),
    ],
)
def test_the_rightmost_address_that_is_no_proxy_of_ours_is_the_client(settings, peer, forwarded, client):
    assert client_address(seen(settings, peer, **{"X-Forwarded-For": forwarded})) == client


def test_one_proxy_alone_is_believed_once(settings):
    """``BEHIND_PROXY`` without a list: a client in the same private network can't name another one."""
    local = (ip_network("10.0.0.0/8"),)
    request = seen(settings, "10.0.3.1", local, 1, **{"X-Forwarded-For": "192.0.2.9, 10.7.7.7"})
    assert client_address(request) == "10.7.7.7"


@given(claimed=st.text(alphabet="0123456789abcdef.:, []x", max_size=60))
@example(claimed="10.0.3.4, 10.0.3.5")
def test_whatever_a_client_claims_the_proxy_says_who_it_is(claimed):
    assert behind("10.0.3.1", f"{claimed}, 192.0.2.9", PROXIES, 32) == "192.0.2.9"


def test_a_subscriber_with_a_whole_network_counts_once():
    assert counted_as("2001:db8:1:2:aaaa::1") == counted_as("2001:db8:1:2:bbbb::2") == "2001:db8:1:2::"
    assert counted_as("192.0.2.9") == "192.0.2.9"


def test_the_api_counts_by_that_address(client, db, settings):
    settings.PUBLIC_READ, settings.API_READS_PER_MINUTE = True, 3
    settings.TRUSTED_PROXY_NETWORKS, settings.TRUSTED_PROXY_HOPS = PROXIES, 32

    def statuses(**more: str) -> list[int]:
        return [client.get("/api/v1/", **more).status_code for _ in range(4)]

    through = {"REMOTE_ADDR": "10.0.3.1", "headers": {"X-Forwarded-For": "203.0.113.1"}}
    assert sorted(statuses(**through))[-1] == 429
    other = {"REMOTE_ADDR": "10.0.3.1", "headers": {"X-Forwarded-For": "203.0.113.2"}}
    assert client.get("/api/v1/", **other).status_code == 200
    forged = [
        client.get(
            "/api/v1/", REMOTE_ADDR="203.0.113.77", headers={"X-Forwarded-For": f"192.0.2.{n}"}
        ).status_code
        for n in range(5)
    ]
    assert 429 in forged
