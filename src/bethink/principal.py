"""Who acts: made only by `accounts`, carried by every call that touches an owner's data."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL_OWNER = "local"
"""The owner of a Bethink that has no users: whoever sits at the machine."""

PRINCIPAL = "principal"
"""Where in the state of a request a door puts who asks."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An owner, seen through one door.

    `audience` names the door and client that receive what is read. `rights` are
    the scopes of the key that was shown (`accounts.rights`). `time_zone` is an
    IANA name. `key` is the id of the key, `sign_in` that of the sign-in by which they came.
    """

    owner: str
    audience: str = "local"
    rights: frozenset[str] = frozenset({"read", "write", "chat", "admin"})
    time_zone: str = "UTC"
    key: str | None = None
    sign_in: str | None = None
