"""A webhook never goes to an address inside our own network, however its name is spelt or resolves."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from notices import webhooks
from notices.webhooks import PostFailed, TargetRefused, address_allowed, check_target, check_url, post

INSIDE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "198.18.0.1", "192.0.2.1",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_are_refused(address, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    assert not address_allowed(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_outside_are_taken(address, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    assert address_allowed(address)


def test_a_network_can_be_allowed(settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["10.1.0.0/16", "fd12::/16"]
    assert address_allowed("10.1.2.3")
    assert address_allowed("::ffff:10.1.2.3")
    assert address_allowed("fd12::5")
    assert not address_allowed("10.2.0.1")
    assert not address_allowed("127.0.0.1")


@settings_of_hypothesis(deadline=None)
@given(st.ip_addresses(v=4))
def test_how_an_address_is_wrapped_does_not_matter(ip):
    number = int(ip)
    wrapped = [
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
    ]
    assert {address_allowed(str(one)) for one in wrapped} == {address_allowed(str(ip))}


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/", "https://", "https://user:pw@example.org/", "https://example.org/#x",
     "//example.org",
     "javascript:alert(1)", "https://exa mple.org/", "https://example.org/\r\nX: y", "https://exämple.org/",
     "https://example.org:99999/", "https://[::1/", "http://example.org/",
     "https://example.org/" + "x" * 500],
)  # fmt: skip
def test_addresses_that_are_none_are_refused(url, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    with pytest.raises(TargetRefused):
        check_url(url)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "169.254.169.254"],
)
def test_spellings_of_inside_are_refused(host, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    with pytest.raises(TargetRefused):
        check_target(f"https://{host}/")


def resolves(monkeypatch, *answers: str) -> list[str]:
    """The name ``receiver.example`` leads to one answer after the other; returns who was connected to."""
    left, connected = list(answers), []
    real = socket.getaddrinfo

    def answer(host, port, *args, **kwargs):
        if host == "receiver.example":
            host = left.pop(0) if len(left) > 1 else left[0]
        return real(host, port, *args, **kwargs)

    def connect(address, *args, **kwargs):
        connected.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(webhooks.socket, "getaddrinfo", answer)
    monkeypatch.setattr(webhooks.socket, "create_connection", connect)
    return connected


def test_a_name_that_leads_inside_later_is_refused_at_that_moment(settings, monkeypatch):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    connected = resolves(monkeypatch, "1.1.1.1", "127.0.0.1")
    check_target("https://receiver.example/")
    with pytest.raises(TargetRefused, match=r"leads to 127\.0\.0\.1"):
        post("https://receiver.example/", b"{}", {})
    assert connected == []


def test_the_connection_goes_to_the_very_address_that_was_checked(settings, monkeypatch):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    # Asked a second time, the name would lead inside.
    connected = resolves(monkeypatch, "1.1.1.1", "127.0.0.1", "127.0.0.1")
    with pytest.raises(PostFailed, match="Nobody listens"):
        post("https://receiver.example/", b"{}", {})
    assert connected == ["1.1.1.1"]


def test_an_unknown_name_is_a_failure_that_may_pass(settings, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(webhooks.socket, "getaddrinfo", unknown)
    with pytest.raises(PostFailed, match=r"receiver\.example is not known"):
        post("https://receiver.example/", b"{}", {})


def test_a_proxy_of_the_environment_is_not_used(receiver, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    post(receiver.url, b"{}", {"Content-Type": "application/json"})
    assert len(receiver.posted) == 1
