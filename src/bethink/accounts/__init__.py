"""Who may come in: users, their keys and sign-ins, and the only maker of a `Principal`.

Every door asks `Accounts.authenticate` first. A Bethink without users belongs to
whoever sits at the machine: requests over loopback act as the one local owner,
and no other address may be bound. With users everybody who comes over the
network shows a key or a sign-in; whoever can read the data directory is the operator.
"""

from __future__ import annotations

from bethink.accounts.register import (
    ADMIN,
    CHAT,
    OWNER,
    READ,
    SCOPES,
    WRITE,
    Key,
    Register,
    User,
    is_loopback,
)
from bethink.accounts.service import Accounts, accounts_for

__all__ = [
    "ADMIN",
    "CHAT",
    "OWNER",
    "READ",
    "SCOPES",
    "WRITE",
    "Accounts",
    "Key",
    "Register",
    "User",
    "accounts_for",
    "is_loopback",
]
