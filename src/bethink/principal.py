"""Who acts: made only by `accounts`, carried by every call that touches an owner's data."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL_OWNER = "local"
"""The owner of a Bethink that has no users: whoever sits at the machine."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An owner, seen through one door.

    `audience` names the door and client that receive what is read. `time_zone`
    is an IANA name.
    """

    owner: str
    audience: str = "local"
    rights: frozenset[str] = frozenset({"read", "write"})
    time_zone: str = "UTC"
