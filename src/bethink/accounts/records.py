"""What is kept of users, keys and sign-ins, and what a key may do: under one owner that no user can be.

A key and a sign-in are kept as digests. Both are 256 random bits, so that a plain
SHA-256 cannot be searched backwards; what a person thinks up is hashed by scrypt.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from typing import TYPE_CHECKING, Literal

from bethink.errors import BadInput
from bethink.store import Collection, Record

if TYPE_CHECKING:
    from collections.abc import Iterable


OWNER = "~accounts"
"""Whose records these are. A tilde begins no user's id."""
STATE = "state"
KEY_PREFIX, SIGN_IN_PREFIX = "bk_", "bs_"
_BYTES = 32
_HINT = 4
_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_CREDENTIAL = re.compile(r"b[ks]_[A-Za-z0-9_-]{43}")
MAX_LABEL = 100


class User(Record, frozen=True, kw_only=True):
    """One who may come in; `id` is the owner of their data. Times are microseconds UTC."""

    name: str
    created_at: int
    is_admin: bool = False
    disabled_at: int | None = None
    password: str | None = None


class Key(Record, frozen=True, kw_only=True):
    """A key of a user. `digest` is of its text, `hint` its last characters."""

    user: str
    digest: str
    hint: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def is_live(self, now_us: int) -> bool:
        """Whether it opens anything at this moment. At the very moment of its end it does not."""
        return self.revoked_at is None and (self.expires_at is None or now_us < self.expires_at)

    def state(self, now_us: int) -> Literal["live", "expired", "revoked"]:
        """How it is with the key at this moment."""
        if self.revoked_at is not None:
            return "revoked"
        return "live" if self.is_live(now_us) else "expired"


class SignIn(Record, frozen=True, kw_only=True):
    """That a browser signed in. `id` is the digest of what its cookie holds.

    `key` is the key that was shown, None where it was a password; then `scopes` are the user's.
    """

    user: str
    key: str | None
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int


class KeyUse(Record, frozen=True, kw_only=True):
    """When a key was last used; `id` is the key's."""

    at: int


class AccountsState(Record, frozen=True, kw_only=True):
    """One record, put with every change: its version says whether what a process knows is still so."""


USERS = Collection("users", User, searchable=False)
KEYS = Collection("access_keys", Key, ("user",), searchable=False)
SIGN_INS = Collection("sign_ins", SignIn, ("user", "expires_at"), scans=(("expires_at",),), searchable=False)
KEY_USES = Collection("key_uses", KeyUse, searchable=False)
STATES = Collection("accounts_state", AccountsState, searchable=False)


def new_secret(prefix: str) -> str:
    """A key's or a sign-in's text, which nobody can guess."""
    return prefix + secrets.token_urlsafe(_BYTES)


def digest_of(secret: str) -> str:
    """What of a key's or a sign-in's text is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hint_of(secret: str) -> str:
    """The end of a key, by which its owner knows it again."""
    return secret[-_HINT:]


def is_credential(text: str) -> bool:
    """Whether a text has the form of a key or of a sign-in."""
    return _CREDENTIAL.fullmatch(text) is not None


def holds_credential(text: str) -> bool:
    """Whether a key or a sign-in stands in a text."""
    return _CREDENTIAL.search(text) is not None


def checked_name(name: str) -> str:
    """A user's name, in small letters.

    Raises:
        BadInput: it has other characters than ASCII letters, digits and `._@-`, or more than 64.
    """
    lowered = name.strip().lower()
    if not _NAME.fullmatch(lowered):
        raise BadInput(
            f"{name[:80]!r} cannot be a user's name: 1 to 64 letters a to z, digits and . _ @ -, "
            "beginning with a letter or a digit."
        )
    return lowered


def checked_label(name: str) -> str:
    """A key's name as one line.

    Raises:
        BadInput: it is empty or longer than 100 characters.
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    if not 0 < len(line) <= MAX_LABEL:
        raise BadInput(f"A key's name has 1 to {MAX_LABEL} characters; it says what the key is for.")
    return line


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


def is_address(host: str) -> bool:
    """Whether this is an address and no name: no other site can be given it by DNS."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


READ, WRITE, CHAT, ADMIN = "read", "write", "chat", "admin"

SCOPES = {
    READ: "read and search memories, conversations, documents and all other data",
    WRITE: "change them, also with the tools of an answer, and approve tool calls",
    CHAT: "chat: start conversations, send messages and files, stop answers",
    ADMIN: "manage users, all keys and MCP servers, read metrics",
}
"""Every scope that a key can have, and what it lets do."""
USUAL = (READ, WRITE, CHAT)
"""What a key has where nobody says."""


def checked_scopes(scopes: Iterable[str], *, is_admin: bool) -> tuple[str, ...]:
    """The scopes in our order, each once.

    Raises:
        BadInput: there is none, one is unknown, or `admin` is given to who is none.
    """
    given = set(scopes)
    if unknown := given - set(SCOPES):
        raise BadInput(f"There is no scope {', '.join(sorted(unknown))}: there are {', '.join(SCOPES)}.")
    if not given:
        raise BadInput(f"A key has at least one scope: {', '.join(SCOPES)}.")
    if ADMIN in given and not is_admin:
        raise BadInput("Only an administrator's key can have the scope admin.")
    return tuple(scope for scope in SCOPES if scope in given)
