"""Which addresses are opened, and which ways of writing one are refused."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import AddressRefused, BadInput
from bethink.internet.addresses import checked_url, exceptions, is_public

PUBLIC = (
    "93.184.215.14",
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700::1111",
    "2a00:1450:4001::200e",
    "64:ff9b::808:808",
)
PRIVATE = (
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_opened(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PRIVATE)
def test_all_others_are_not(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_hidden_in_an_ipv6_address_is_judged_as_itself(
    address: ipaddress.IPv4Address,
) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    assert is_public(mapped) == is_public(address)
    # Python knows fewer as special than there are, and no special one as public.
    assert not (is_public(address) and (address.is_private or address.is_multicast or address.is_reserved))


@given(st.ip_addresses(v=6))
def test_no_special_ipv6_address_is_public(address: ipaddress.IPv6Address) -> None:
    special = address.is_private or address.is_multicast or address.is_reserved or address.is_link_local
    holders = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::ffff:0:0/96"))
    assert not (is_public(address) and special) or any(address in network for network in holders)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1.0x10/",
        "http://1.2.3.4.5/",
        "http://010.8.8.8/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org/",
        "https://",
        "http:///etc",
        "https://user@example.org/",
        "https://user:secret@example.org/",
        "https://example.org@127.0.0.1/",
        "https://exa mple.org/",
        "https://example.org\r\nHost: other/",
        "https://example.org:99999/",
        "https://[::1/",
        "",
        "https://example.org/" + "a" * 5_000,
    ],
)
def test_urls_that_disguise_or_smuggle_something_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        checked_url(url)


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("https://example.org/a?b=c#part", "https://example.org/a?b=c"),
        ("  http://example.org  ", "http://example.org"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
        ("https://4chan.example/", "https://4chan.example/"),
    ],
)
def test_ordinary_urls_are_taken_without_their_fragment(url: str, opened: str) -> None:
    checked = checked_url(url)
    assert str(checked.copy_with(host=checked.raw_host.decode())) == opened


def test_what_the_operator_opened_is_open_and_nothing_beside_it() -> None:
    opened = exceptions(["127.0.0.1:8080", "10.0.0.0/8", "wiki.lan", "[::1]:80", "NAS.lan:5000"])
    loopback, lan = ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("10.9.9.9")
    assert opened.include("anything", loopback, 8080)
    assert not opened.include("anything", loopback, 8081)
    assert opened.include("anything", lan, 22)
    assert opened.include("wiki.lan", ipaddress.ip_address("192.168.0.7"), 443)
    assert not opened.include("evil.wiki.lan", ipaddress.ip_address("192.168.0.7"), 443)
    assert opened.include("x", ipaddress.ip_address("::1"), 80)
    assert not opened.include("x", ipaddress.ip_address("::1"), 81)
    assert opened.include("nas.lan", ipaddress.ip_address("192.168.0.8"), 5000)


@pytest.mark.parametrize(
    "entry", ["http://wiki.lan", "10.0.0.0/99", "a b", "127.1", "", "*.lan", "2130706433"]
)
def test_an_entry_that_means_nothing_is_refused(entry: str) -> None:
    with pytest.raises(BadInput, match="web_allow_private"):
        exceptions([entry])
