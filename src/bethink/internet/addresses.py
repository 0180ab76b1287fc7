"""Which addresses of the network may be opened: every address that is not public is refused.

`connections` asks the `AddressGate` before each connection, with the very address that it is about
to connect to; `pages` checks before each request what the URL itself tells.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.errors import AddressRefused, BadInput, WebError

if TYPE_CHECKING:
    import ssl

    import httpx2


Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host's addresses, best first. Raises `OSError` where there are none."""

_MAX_TRIED = 3
"""Addresses of a host that are tried, one after another."""

_MAX_URL = 4_000
"""Longer ones are refused by most servers, and carry data rather than name a page."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_NUMBER = re.compile(r"\d+|0[xX][0-9a-fA-F]*")

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' own; one cloud's metadata is here
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's own service of every virtual machine, within public space
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays of 6to4, out of use
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
"""IANA's registry of special-purpose IPv4 addresses (RFC 6890), written out: what Python calls
global has changed between its releases."""
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments; Teredo, whose last bits are an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4, which holds an IPv4 address
        "3fff::/20",
    )
)
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""RFC 6052: a network without IPv4 reaches public hosts through these."""


@dataclass(frozen=True, slots=True)
class Exceptions:
    """What the operator opens beside the public web: networks and host names, each with one port or any."""

    networks: tuple[tuple[Network, int | None], ...] = ()
    hosts: tuple[tuple[str, int | None], ...] = ()

    def include(self, host: str, address: Address, port: int) -> bool:
        """Whether a connection to `address`, found under `host`, was opened."""
        by_name = any(host == name and wanted in {None, port} for name, wanted in self.hosts)
        return by_name or any(
            address.version == network.version and address in network and wanted in {None, port}
            for network, wanted in self.networks
        )


def exceptions(entries: Iterable[str]) -> Exceptions:
    """Entries such as `127.0.0.1:8080`, `10.0.0.0/8`, `[::1]:80`, `wiki.lan`, taken apart.

    Raises:
        BadInput: an entry is none of these.
    """
    networks: list[tuple[Network, int | None]] = []
    hosts: list[tuple[str, int | None]] = []
    for entry in entries:
        name, colon, digits = entry.rpartition(":")
        has_port = colon and digits.isdecimal() and (":" not in name or name.endswith("]"))
        port = int(digits) if has_port else None
        name = (name if has_port else entry).strip("[]")
        try:
            networks.append((ipaddress.ip_network(name, strict=False), port))
        except ValueError as error:
            if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?", name) or _ends_in_number(name):
                raise BadInput(
                    f"web_allow_private holds {entry!r}: give an address, a network or a host's name."
                ) from error
            hosts.append((name.casefold(), port))
    return Exceptions(tuple(networks), tuple(hosts))


def checked_url(text: str) -> httpx2.URL:
    """The URL of a page, its fragment gone, if nothing about it speaks against opening it.

    Raises:
        AddressRefused: it is no http(s) URL, holds credentials, or disguises an address.
    """
    import httpx2

    text = text.strip()
    if len(text) > _MAX_URL:
        raise AddressRefused(f"The address is longer than {_MAX_URL:,} characters.")
    try:
        url = httpx2.URL(text).copy_with(fragment=None)
        host = url.raw_host.decode("ascii")
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError) as error:
        raise AddressRefused(f"{text[:200]!r} is not the address of a page.") from error
    if url.scheme not in _DEFAULT_PORTS or not host:
        raise AddressRefused("Only addresses that begin with https:// or http:// are opened.")
    if url.userinfo:
        raise AddressRefused("The address contains a user name or a password: remove it.")
    if not _HOST.fullmatch(host) or port_of(url) > _MAX_PORT:
        raise AddressRefused(f"{text[:200]!r} is not the address of a page.")
    if _ends_in_number(host) and not _is_address(host, ipaddress.IPv4Address):
        raise AddressRefused(f"{host!r} is an address in disguise: write it as four decimal numbers.")
    return url


def port_of(url: httpx2.URL) -> int:
    """The port that a URL leads to."""
    return url.port or _DEFAULT_PORTS[url.scheme]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, looking into those that hold another one."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address in _MAPPED or address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _GLOBAL_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _ends_in_number(host: str) -> bool:
    """Whether URLs' standard would read the host as an IPv4 address (https://url.spec.whatwg.org, 3.5)."""
    return _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) is not None


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """What this machine's own resolver says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def system_trust() -> ssl.SSLContext:
    """Certificates by this machine's own authorities."""
    import httpcore2

    return httpcore2.default_ssl_context()


@dataclass(frozen=True, slots=True)
class AddressGate:
    """What may be connected to: public addresses on `ports`, and what the operator opened.

    `trust` makes what a server's certificate is judged by; it reads files.
    """

    ports: frozenset[int] = frozenset({80, 443})
    opened: Exceptions = field(default_factory=Exceptions)
    resolve: Resolve = system_resolve
    trust: Callable[[], ssl.SSLContext] = system_trust

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, all of which may be connected to.

        Raises:
            AddressRefused: one of them may not.
            WebError: the host has none.
        """
        name = host.casefold().rstrip(".")
        try:
            found = [name] if _is_address(name) else await self.resolve(name, port)
            parsed = [ipaddress.ip_address(address) for address in found]
        except (OSError, UnicodeError, ValueError) as error:
            raise WebError(f"No host is known by the name {host}.") from error
        for address in parsed:
            if self.opened.include(name, address, port):
                continue
            if not is_public(address):
                raise AddressRefused(
                    f"{host} is {address}, which is not on the public internet, and is not opened. Whoever"
                    " runs this Bethink can allow it in the setting web_allow_private."
                )
            if port not in self.ports:
                raise AddressRefused(
                    f"Port {port} is not opened; the setting web_ports names those that are."
                )
        if not parsed:
            raise WebError(f"No host is known by the name {host}.")
        return [str(address) for address in parsed[:_MAX_TRIED]]


def _is_address(host: str, read: Callable[[str], Address] = ipaddress.ip_address) -> bool:
    try:
        read(host)
    except ValueError:
        return False
    return True
