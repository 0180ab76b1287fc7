"""Connections that lead nowhere else than where they were judged to lead. `http_get` opens them.

A host's name is looked up once, every address of it is judged, and the connection
goes to one of these very addresses: a name that answers differently a moment
later (DNS rebinding) changes nothing. TLS still checks the name.

Importing this takes a tenth of a second: `ready` does it in a thread, before the
first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import httpcore2

if TYPE_CHECKING:
    from bethink.internet.addresses import AddressGate


def _network() -> httpcore2.AsyncNetworkBackend:
    # Its declaration says less than it is: a stand-in for machines without anyio.
    return cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())


@dataclass(frozen=True, slots=True)
class GatedBackend(httpcore2.AsyncNetworkBackend):
    """httpcore's way to the network, through an `AddressGate`."""

    gate: AddressGate
    _network: httpcore2.AsyncNetworkBackend = field(default_factory=_network)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        *more: Any,  # noqa: ANN401 - what httpcore says of time and sockets is handed on
        **named: Any,  # noqa: ANN401
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to one of the addresses that were judged."""
        *others, last = await self.gate.addresses(host, port)
        for address in others:
            try:
                return await self._network.connect_tcp(address, port, *more, **named)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(last, port, *more, **named)

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts."""
        await self._network.sleep(seconds)
