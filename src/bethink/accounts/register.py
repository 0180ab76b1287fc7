"""The register of users, keys and grants: read into memory, changed in one place, the same in all processes.

What is kept lies under one owner that no user can be. A key and a sign-in are kept as digests. Both are
256 random bits, so that a plain SHA-256 cannot be searched backwards; what a person thinks up is hashed by
scrypt.

Looking up a key is a digest and a dictionary. What is in memory is at most
`FRESH_S` old: then one small record says whether anything changed since, in this
process or another. All changes put that record, so that of two at once one waits.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import msgspec

from bethink.errors import BadInput, UnknownId
from bethink.principal import LOCAL_OWNER
from bethink.store import Collection, Delete, DeleteAll, Put, Record, Scan, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.store import Change, Store

    R = TypeVar("R", bound=Record)


OWNER = "~accounts"
"""Whose records these are. A tilde begins no user's id."""
STATE = "state"
KEY_PREFIX, SIGN_IN_PREFIX, ACCESS_PREFIX = "bk_", "bs_", "ba_"
_BYTES = 32
_HINT = 4
"""Characters of a key's end, by which its owner knows it again."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_CREDENTIAL = re.compile(r"b[aks]_[A-Za-z0-9_-]{43}")
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


class Grant(Record, frozen=True, kw_only=True):
    """That another program may open `/mcp` for a user (`grants`). Secrets are digests, times are of UTC.

    `client` is a digest of the client's id, `key` the key by which its user was signed in. `code` stays after
    it was redeemed, so that a second use is noticed; `family` is the half of all its refresh tokens that
    never changes, `refresh` the whole of the newest. Nothing of it opens anything after `expires_at`.
    """

    user: str
    key: str | None
    client: str
    client_name: str
    redirect_uri: str
    resource: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int
    code: str
    challenge: str
    family: str | None = None
    refresh: str | None = None
    access: str | None = None
    access_scopes: tuple[str, ...] = ()
    access_expires_at: int = 0
    renewed_at: int | None = None


class KeyUse(Record, frozen=True, kw_only=True):
    """When a key was last used; `id` is the key's."""

    at: int


class AccountsState(Record, frozen=True, kw_only=True):
    """One record, put with every change: its version says whether what a process knows is still so."""


USERS = Collection("users", User, searchable=False)
KEYS = Collection("access_keys", Key, ("user",), searchable=False)
SIGN_INS = Collection("sign_ins", SignIn, ("user", "expires_at"), scans=(("expires_at",),), searchable=False)
GRANTS = Collection(
    "grants",
    Grant,
    ("user", "key", "code", "family", "access", "expires_at"),
    scans=(("user",), ("key",), ("code",), ("family",), ("access",), ("expires_at",)),
    searchable=False,
)
KEY_USES = Collection("key_uses", KeyUse, searchable=False)
STATES = Collection("accounts_state", AccountsState, searchable=False)


def new_secret(prefix: str) -> str:
    """A key's or a sign-in's text, which nobody can guess."""
    return prefix + secrets.token_urlsafe(_BYTES)


def digest_of(secret: str) -> str:
    """What of a key's or a sign-in's text is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_credential(text: str) -> bool:
    """Whether a text has the form of a key, a sign-in or an access token."""
    return _CREDENTIAL.fullmatch(text) is not None


def holds_credential(text: str) -> bool:
    """Whether a key, a sign-in or an access token stands in a text."""
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


_T = TypeVar("_T")
TOPIC = "accounts"
FRESH_S = 0.4
"""How old what is known may be: a key that was revoked elsewhere is refused within a second."""
_PAGE = 500
_MAX_SIGN_INS = 1000
"""Of them are kept in memory; any other is read when it comes."""


@dataclass(frozen=True, slots=True)
class AccountsSnapshot:
    """All users and keys, as of one version of the state."""

    version: int
    users: Mapping[str, User]
    keys: Mapping[str, Key]

    def named(self, name: str) -> User | None:
        """The user of this name."""
        return next((user for user in self.users.values() if user.name == name), None)

    def keys_of(self, user: str) -> list[Key]:
        """The user's keys, the newest last."""
        return [key for key in self.keys.values() if key.user == user]

    def has_way_in(self, now_us: int) -> bool:
        """Whether anybody could come in: an enabled user with a live key or a password."""
        enabled = {user.id for user in self.users.values() if user.disabled_at is None}
        return any(key.user in enabled and key.is_live(now_us) for key in self.keys.values()) or any(
            self.users[user].password for user in enabled
        )


_UNREAD = AccountsSnapshot(-1, {}, {})


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made. `text` is shown once, and kept nowhere."""

    key: Key
    text: str = field(repr=False)


@dataclass(slots=True)
class Register:
    """The register of one app. `monotonic_s` says how old what is known is, whatever the date."""

    store: Store
    clock: Clock
    bus: Bus
    new_id: Callable[[], str]
    monotonic_s: Callable[[], float] = time.monotonic
    _known: AccountsSnapshot = _UNREAD
    _by_digest: dict[str, Key] = field(default_factory=dict[str, Key], repr=False)
    _sign_ins: dict[str, SignIn] = field(default_factory=dict[str, SignIn], repr=False)
    _checked_s: float = float("-inf")
    _lock: anyio.Lock = field(default_factory=anyio.Lock, repr=False)

    @property
    def last_known(self) -> AccountsSnapshot:
        """All users and keys, as they were when they could last be read."""
        return self._known

    async def known(self) -> AccountsSnapshot:
        """All users and keys, as they were less than half a second ago.

        Raises:
            StorageError: they cannot be read: nobody comes in then.
        """
        if self.monotonic_s() - self._checked_s < FRESH_S:
            return self._known
        return await self.refresh()

    async def refresh(self) -> AccountsSnapshot:
        """All users and keys as they are now."""
        async with self._lock:
            now_s = self.monotonic_s()
            (state,) = await self.store.get(STATES, OWNER, [STATE])
            version = state.version if state else 0
            if version != self._known.version:
                # Before the first change there is nothing to read.
                users = await self._all(USERS) if version else []
                keys = await self._all(KEYS) if version else []
                self._known = AccountsSnapshot(
                    version, {user.id: user for user in users}, {key.id: key for key in keys}
                )
                self._by_digest = {key.digest: key for key in keys}
                self._sign_ins = {}
            self._checked_s = now_s
            return self._known

    def key_of(self, text: str) -> Key | None:
        """The key with this text, whether it is live or not, among those that `known` gave last."""
        return self._by_digest.get(digest_of(text))

    async def sign_in(self, id: str) -> SignIn | None:
        """The sign-in with this digest, whether it is over or not."""
        await self.known()
        if (held := self._sign_ins.get(id)) is not None:
            return held
        (found,) = await self.store.get(SIGN_INS, OWNER, [id])
        if found is None:
            return None
        if len(self._sign_ins) >= _MAX_SIGN_INS:
            self._sign_ins.clear()
        self._sign_ins[id] = found.record
        return found.record

    async def add_user(self, name: str, *, is_admin: bool = False, password: str | None = None) -> User:
        """A new user. The first one is an administrator, and has what the local owner had.

        `password` is its hash (`passwords.hashed`).

        Raises:
            BadInput: the name is unfit or taken.
        """
        name = checked_name(name)

        def change(known: AccountsSnapshot) -> tuple[User, Sequence[Change]]:
            if known.named(name) is not None:
                raise BadInput(f"There is a user {name} already.")
            is_first = not known.users
            made = User(
                id=LOCAL_OWNER if is_first else self.new_id(),
                name=name,
                created_at=self.clock.now_us(),
                is_admin=is_admin or is_first,
                password=password,
            )
            return made, [Put(USERS, made, if_version=0)]

        return await self._change(change)

    async def change_user(
        self,
        user: str,
        *,
        disabled: bool | None = None,
        is_admin: bool | None = None,
        password: str | None = None,
    ) -> User:
        """Change what is given. A user who is disabled, or has a new password, is signed out everywhere.

        What they let other programs do ends with it.

        Raises:
            UnknownId: there is no such user.
        """

        def change(known: AccountsSnapshot) -> tuple[User, Sequence[Change]]:
            held = _user(known, user)
            values: dict[str, Any] = {}
            if disabled is not None:
                values["disabled_at"] = (held.disabled_at or self.clock.now_us()) if disabled else None
            if is_admin is not None:
                values["is_admin"] = is_admin
            if password is not None:
                values["password"] = password
            made = msgspec.structs.replace(held, **values)
            is_out = disabled or password is not None
            theirs = {"user": user}
            ended: list[Change] = [DeleteAll(SIGN_INS, theirs), DeleteAll(GRANTS, theirs)] if is_out else []
            return made, [Put(USERS, made), *ended]

        return await self._change(change)

    async def remove_user(self, user: str) -> User:
        """Remove a user with all keys, sign-ins and grants; what they own is not touched.

        Raises:
            UnknownId: there is no such user.
        """

        def change(known: AccountsSnapshot) -> tuple[User, Sequence[Change]]:
            return _user(known, user), [
                Delete(USERS, user),
                DeleteAll(KEYS, {"user": user}),
                DeleteAll(SIGN_INS, {"user": user}),
                DeleteAll(GRANTS, {"user": user}),
                *(Delete(KEY_USES, key.id) for key in known.keys_of(user)),
            ]

        return await self._change(change)

    async def add_key(
        self, user: str, name: str, *, scopes: Iterable[str] = USUAL, expires_at: int | None = None
    ) -> NewKey:
        """A new key of a user; `expires_at` is microseconds UTC.

        Raises:
            UnknownId: there is no such user.
            BadInput: the name or a scope is unfit, or the end is past.
        """
        name, given = checked_label(name), tuple(scopes)
        text = new_secret(KEY_PREFIX)
        now = self.clock.now_us()
        if expires_at is not None and expires_at <= now:
            raise BadInput("The key would already have expired: give a time in the future.")

        def change(known: AccountsSnapshot) -> tuple[NewKey, Sequence[Change]]:
            held = _user(known, user)
            made = Key(
                id=self.new_id(),
                user=user,
                digest=digest_of(text),
                hint=text[-_HINT:],
                name=name,
                scopes=checked_scopes(given, is_admin=held.is_admin),
                created_at=now,
                expires_at=expires_at,
            )
            return NewKey(made, text), [Put(KEYS, made, if_version=0)]

        return await self._change(change)

    async def revoke_key(self, key: str, *, user: str | None = None) -> Key:
        """End a key, and what was signed in and granted with it. One that was revoked stays so.

        Raises:
            UnknownId: there is no such key, or it is not of `user`.
        """
        signed_in = [item for item in await self._all(SIGN_INS) if item.key == key]

        def change(known: AccountsSnapshot) -> tuple[Key, Sequence[Change]]:
            held = known.keys.get(key)
            if held is None or user not in (None, held.user):
                raise UnknownId("There is no key with this id.")
            made = msgspec.structs.replace(held, revoked_at=held.revoked_at or self.clock.now_us())
            ended = [Delete(SIGN_INS, item.id) for item in signed_in]
            return made, [Put(KEYS, made), DeleteAll(GRANTS, {"key": key}), *ended]

        return await self._change(change)

    async def keep_sign_in(self, sign_in: SignIn) -> None:
        """Keep a new sign-in. Nothing that is known changes by it."""
        await self.store.commit(OWNER, [Put(SIGN_INS, sign_in, if_version=0)])

    async def end_sign_in(self, id: str) -> None:
        """End a sign-in; one that is not there is ended."""
        await self._change(lambda _known: (None, [Delete(SIGN_INS, id)]))

    async def end_grant(self, id: str, *, user: str | None = None) -> Grant:
        """End a grant: no token of it opens anything any more.

        Raises:
            UnknownId: there is no such grant, or it is not of `user`.
        """
        (found,) = await self.store.get(GRANTS, OWNER, [id])
        if found is None or user not in (None, found.record.user):
            raise UnknownId("There is no connected program with this id.")
        await self._change(lambda _known: (None, [Delete(GRANTS, id)]))
        return found.record

    async def clear_ended(self) -> int:
        """Remove the sign-ins and grants that are over, which open nothing any more; how many."""
        return await self._clear(SIGN_INS) + await self._clear(GRANTS)

    async def _clear(self, collection: Collection[R]) -> int:
        scan = Scan(collection, order="expires_at", high=self.clock.now_us(), limit=_PAGE)
        count = 0
        while items := (await self.store.scan(OWNER, scan))[0].items:
            await self.store.commit(OWNER, [Delete(collection, item.record.id) for item in items])
            count += len(items)
        return count

    @retry_conflicts
    async def _change(self, change: Callable[[AccountsSnapshot], tuple[_T, Sequence[Change]]]) -> _T:
        """Commit what a change of what is known comes to; what it made."""
        known = await self.refresh()
        made, changes = change(known)
        await self.store.commit(
            OWNER, [*changes, Put(STATES, AccountsState(id=STATE), if_version=known.version)]
        )
        await self.refresh()
        await self.bus.publish(TOPIC)
        return made

    async def _all(self, collection: Collection[R]) -> list[R]:
        return [one async for one in records_of(self.store, OWNER, Scan(collection, limit=_PAGE))]


def _user(known: AccountsSnapshot, id: str) -> User:
    if (found := known.users.get(id)) is None:
        raise UnknownId("There is no such user.")
    return found
