"""Who may come in: the only maker of a `Principal`. Every door asks here first.

A Bethink without users belongs to whoever sits at the machine: requests over
loopback act as the one local owner, and no other address may be bound.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from bethink.errors import NotAllowed
from bethink.principal import LOCAL_OWNER, Principal

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    name = host.strip("[]").lower().rstrip(".")
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    # A dual-stack socket names an IPv4 peer so; older Pythons call none of them loopback.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


@dataclass(frozen=True, slots=True)
class Accounts:
    """The owners of this Bethink; there is one, the local owner."""

    time_zone: str = "UTC"

    def authenticate(self, *, audience: str, peer: str | None = None) -> Principal:
        """The principal of a caller who comes through the door `audience`.

        `peer` is the caller's network address, None for a caller in this process.

        Raises:
            NotAllowed: the caller is not on this machine.
        """
        if peer is not None and not is_loopback(peer):
            message = "This Bethink has no users: it answers only to the machine that it runs on."
            raise NotAllowed(message)
        return Principal(owner=LOCAL_OWNER, audience=audience, time_zone=self.time_zone)

    def on_behalf_of(self, owner: str, *, audience: str) -> Principal:
        """The principal of work that this process does for an owner by itself."""
        return Principal(owner=owner, audience=audience, time_zone=self.time_zone)

    def check_bind(self, host: str) -> None:
        """Refuse to listen where others could come in without a key.

        Raises:
            NotAllowed: `host` is reachable from other machines.
        """
        if not is_loopback(host):
            message = (
                f"Refusing to listen on {host}: there is no user with a key, so anybody who reaches it "
                "would own this memory. Bind 127.0.0.1, and put a proxy with authentication before it."
            )
            raise NotAllowed(message)
