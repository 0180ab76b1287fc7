"""Where connections may lead: a host's addresses, each of them judged.

`connections` asks before each connection; `visit` and `manners` hand it on.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.errors import AddressRefused, WebError
from bethink.internet.addresses import Exceptions, is_public

if TYPE_CHECKING:
    import ssl

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host's addresses, best first. Raises `OSError` where there are none."""

_MAX_TRIED = 3
"""Addresses of a host that are tried, one after another."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """What this machine's own resolver says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def system_trust() -> ssl.SSLContext:
    """Certificates by this machine's own authorities."""
    import httpcore2

    return httpcore2.default_ssl_context()


@dataclass(frozen=True, slots=True)
class Gate:
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
            if not self.opened.include(name, address, port):
                _refuse(host, address, port, ports=self.ports)
        if not parsed:
            raise WebError(f"No host is known by the name {host}.")
        return [str(address) for address in parsed[:_MAX_TRIED]]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse(
    host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int, *, ports: frozenset[int]
) -> None:
    if not is_public(address):
        raise AddressRefused(
            f"{host} is {address}, which is not on the public internet, and is not opened. Whoever runs"
            " this Bethink can allow it in the setting web_allow_private."
        )
    if port not in ports:
        raise AddressRefused(f"Port {port} is not opened; the setting web_ports names those that are.")
