"""Who asks, and may they: the only maker of a `Principal`. Every door calls `authenticate` first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.accounts.grants import Grants
from bethink.accounts.register import (
    ACCESS_PREFIX,
    ADMIN,
    FRESH_S,
    KEY_PREFIX,
    KEY_USES,
    OWNER,
    SCOPES,
    TOPIC,
    KeyUse,
    digest_of,
    is_credential,
    is_loopback,
)
from bethink.accounts.sign_ins import BrowserSignIns
from bethink.clock import check_time_zone
from bethink.errors import BadInput, NotAllowed, NotSignedIn, StorageError, TooManyRequests
from bethink.principal import LOCAL_OWNER, Principal
from bethink.store import Put
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from bethink.accounts.register import AccountsSnapshot, Register, User
    from bethink.settings import Settings
    from bethink.settings.live import Switch

_ALL = frozenset(SCOPES)
_SETTINGS = frozenset(
    {
        "time_zone",
        "user",
        "requests_per_minute",
        "owner_requests_per_minute",
        "sign_in_days",
    }
)
_WRITE_USES_S = 30
"""How often it is written when keys were last used: as exact as a person needs it."""
_HOW = "Send a key as `Authorization: Bearer bk_…` or as the header `api-key`, or sign in at /."
_log = log("accounts")


@dataclass(slots=True)
class Accounts:
    """The users of this Bethink and their ways in.

    `user` names whom the operator acts for: who works in this process. With
    `needs_users` nobody comes over the network without a key, also while there are no users.
    """

    register: Register
    time_zone: str = "UTC"
    user: str = ""
    needs_users: bool = False
    requests_per_minute: int = 0
    owner_requests_per_minute: int = 0
    sign_in_days: int = 30
    own_zone: Callable[[str], str | None] = field(default=lambda _owner: None, repr=False)
    """The time zone that an owner named, if they did; `app` sets it."""
    signing: BrowserSignIns = field(init=False)
    grants: Grants = field(init=False)
    _visits: dict[int, tuple[Principal, Callable[[], None]]] = field(
        default_factory=dict[int, tuple[Principal, "Callable[[], None]"]], repr=False
    )
    _has_visits: anyio.Event = field(default_factory=anyio.Event, repr=False)
    _uses: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self.signing = BrowserSignIns(self.register, self.sign_in_days)
        self.grants = Grants(self.register)

    def zone_of(self, owner: str) -> str:
        """The owner's time zone."""
        return self.own_zone(owner) or self.time_zone

    async def remade(self, wanted: Settings, changed: AbstractSet[str]) -> Switch | None:
        """What has other settings hold: the time zone, who the operator is, rates and sign-ins."""
        if changed.isdisjoint(_SETTINGS):
            return None
        await anyio.to_thread.run_sync(check_time_zone, wanted.time_zone)

        async def switch() -> None:
            self.time_zone, self.user = wanted.time_zone, wanted.user
            self.requests_per_minute = wanted.requests_per_minute
            self.owner_requests_per_minute = wanted.owner_requests_per_minute
            self.sign_in_days = self.signing.days = wanted.sign_in_days

        return switch

    async def authenticate(
        self,
        *,
        audience: str,
        peer: str | None = None,
        credential: str | None = None,
        resource: str | None = None,
    ) -> Principal:
        """The principal of a caller who comes through the door `audience`.

        `peer` is the caller's network address, None for a caller in this process;
        `credential` is the key, sign-in or access token that was shown. A token opens only the `resource`
        that it was granted for; a door that is none takes no tokens.

        Raises:
            NotSignedIn: there are users, and what was shown opens nothing.
            TooManyRequests: this key, or this owner, asks too often.
            NotAllowed: there are no users, and the caller is not on this machine.
            StorageError: the users cannot be read.
        """
        if peer is None and credential is None:
            return await self._operator(audience)
        known = await self.register.known()
        if not known.users and not self.needs_users:
            if not is_loopback(peer or ""):
                raise NotAllowed(
                    "This server has no users: it accepts connections only from its own machine."
                )
            return Principal(LOCAL_OWNER, audience, _ALL, self.zone_of(LOCAL_OWNER))
        if credential is None:
            raise NotSignedIn(f"This needs a key. {_HOW}")
        if not is_credential(credential):
            raise self._refused("it has not the form of one", peer)
        if credential.startswith(KEY_PREFIX):
            principal = self._by_key(known, credential, audience=audience, peer=peer)
        elif credential.startswith(ACCESS_PREFIX):
            principal = await self._by_grant(known, credential, resource, audience=audience, peer=peer)
        else:
            principal = await self._by_sign_in(known, credential, audience=audience, peer=peer)
        await self._spend("key", principal.came_with or "", self.requests_per_minute)
        await self._spend("owner", principal.owner, self.owner_requests_per_minute)
        return principal

    async def _spend(self, what: str, name: str, per_minute: int) -> None:
        """Count a request, of all that come to any process."""
        if not per_minute:
            return
        wait_s = await self.register.bus.take(f"requests:{what}:{name}", per_minute)
        if wait_s:
            raise TooManyRequests(
                f"Too many requests: at most {per_minute} a minute. Wait {wait_s:.0f} s.",
                retry_after_s=wait_s,
            )

    async def recognises(self, credential: str | None) -> bool:
        """Whether a key or a sign-in opens anything now; asking is not counted as a use of it.

        Raises:
            StorageError: the users cannot be read.
        """
        if credential is None or not is_credential(credential):
            return False
        known = await self.register.known()
        now = self.register.clock.now_us()
        if credential.startswith(KEY_PREFIX):
            key = self.register.key_of(credential)
            return key is not None and key.id in known.keys and key.is_live(now)
        if credential.startswith(ACCESS_PREFIX):
            return await self.grants.is_access(credential)
        sign_in = await self.register.sign_in(digest_of(credential))
        return sign_in is not None and now < sign_in.expires_at

    async def needs_key(self) -> bool:
        """Whether nobody is let in over the network without a key: there are users, or must be.

        While the store cannot be read, what was known last holds.
        """
        try:
            known = await self.register.known()
        except StorageError:
            known = self.register.last_known
        return self.needs_users or bool(known.users)

    async def find_user(self, name_or_id: str) -> User | None:
        """The user with this id or name."""
        known = await self.register.known()
        return known.users.get(name_or_id) or known.named(name_or_id)

    def on_behalf_of(self, owner: str, *, audience: str) -> Principal:
        """The principal of work that this process does for an owner by itself."""
        return Principal(owner, audience, _ALL, self.zone_of(owner))

    async def check_bind(self, host: str) -> bool:
        """Whether the first user is to be made before anybody can come in, where a key is needed to.

        Raises:
            NotAllowed: `host` is reachable from other machines, and none of the users has a way in.
        """
        if is_loopback(host) and not self.needs_users:
            return False
        known = await self.register.refresh()
        if known.has_way_in(self.register.clock.now_us()):
            return False
        if not known.users:
            return True
        what = f"listen on {host}" if not is_loopback(host) else "serve public_urls"
        raise NotAllowed(
            f"Refusing to {what}: no user has a password or a live key, so nobody could come in. Give one "
            "(`bethink users password NAME`, `bethink users key add NAME`), or bind 127.0.0.1."
        )

    async def is_valid(self, principal: Principal) -> bool:
        """Whether the key, sign-in or grant by which a principal came in is still good."""
        known = await self.register.known()
        now = self.register.clock.now_us()
        if principal.sign_in is not None:
            sign_in = await self.register.sign_in(principal.sign_in)
            if sign_in is None or now >= sign_in.expires_at:
                return False
        if principal.key is not None:
            key = known.keys.get(principal.key)
            if key is None or not key.is_live(now):
                return False
        if principal.grant is not None and not await self.grants.is_live(principal.grant):
            return False
        if principal.came_with is None:
            return True
        user = known.users.get(principal.owner)
        return user is not None and user.disabled_at is None

    @contextmanager
    def watched(self, principal: Principal, end: Callable[[], None]) -> Generator[None]:
        """Have `end` called within a second if what the principal came with ends inside the block."""
        self._count = number = self._count + 1
        self._visits[number] = (principal, end)
        self._has_visits.set()
        try:
            yield
        finally:
            self._visits.pop(number, None)
            if not self._visits:
                self._has_visits = anyio.Event()

    @asynccontextmanager
    async def opened(self, supervise: Supervise) -> AsyncGenerator[Accounts]:
        """Visits are ended and uses of keys are written inside."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervise, "keys ended elsewhere", self._hear)
            tasks.start_soon(supervise, "keys that end", self._look)
            tasks.start_soon(supervise, "uses of keys", self._write_always)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self._write_uses()

    async def last_uses(self, keys: Iterable[str]) -> dict[str, int]:
        """When each of the keys was last used, as far as it ever was; half a minute may not be told yet."""
        ids = list(keys)
        found = await self.register.store.get(KEY_USES, OWNER, ids)
        kept = {id: item.record.at for id, item in zip(ids, found, strict=True) if item is not None}
        return kept | {id: at for id, at in self._uses.items() if id in ids}

    async def _operator(self, audience: str) -> Principal:
        if not self.user:
            return Principal(LOCAL_OWNER, audience, _ALL, self.zone_of(LOCAL_OWNER))
        known = await self.register.known()
        if (user := known.named(self.user.strip().lower())) is None:
            raise BadInput(f"There is no user {self.user[:80]!r}: `bethink users list` shows them.")
        return self._principal(user, audience, _ALL)

    def _principal(self, user: User, audience: str, scopes: Iterable[str]) -> Principal:
        """A user with what the scopes give them now: who is no administrator any more has no such keys."""
        rights = frozenset(scopes) - (frozenset() if user.is_admin else {ADMIN})
        return Principal(user.id, audience, rights, self.zone_of(user.id))

    def _by_key(self, known: AccountsSnapshot, text: str, *, audience: str, peer: str | None) -> Principal:
        key = self.register.key_of(text)
        if key is None:
            raise self._refused("nobody has it", peer)
        user = self._enabled(known, key.user, peer)
        self._use(known, key.id, peer)
        return replace(self._principal(user, audience, key.scopes), key=key.id)

    async def _by_sign_in(
        self, known: AccountsSnapshot, text: str, *, audience: str, peer: str | None
    ) -> Principal:
        sign_in = await self.register.sign_in(digest_of(text))
        now = self.register.clock.now_us()
        if sign_in is None or now >= sign_in.expires_at:
            raise NotSignedIn("You are signed out: sign in again.")
        self._use(known, sign_in.key, peer)
        user = self._enabled(known, sign_in.user, peer)
        principal = self._principal(user, audience, sign_in.scopes)
        return replace(principal, key=sign_in.key, sign_in=sign_in.id)

    def _use(self, known: AccountsSnapshot, id: str | None, peer: str | None) -> None:
        """Note a use of a key, or of the one by which somebody signed in, if it was one."""
        if id is None:
            return
        key, now = known.keys.get(id), self.register.clock.now_us()
        if key is None or not key.is_live(now):
            raise self._refused(f"{id} was revoked or has expired", peer)
        self._uses[id] = now

    async def _by_grant(
        self, known: AccountsSnapshot, text: str, resource: str | None, *, audience: str, peer: str | None
    ) -> Principal:
        grant = None if resource is None else await self.grants.opened_by(text, resource)
        if grant is None:
            raise self._refused("it is no access token of this door, or over", peer)
        self._use(known, grant.key, peer)
        user = self._enabled(known, grant.user, peer)
        principal = self._principal(user, audience, grant.access_scopes)
        return replace(principal, key=grant.key, grant=grant.id)

    def _enabled(self, known: AccountsSnapshot, id: str, peer: str | None) -> User:
        user = known.users.get(id)
        if user is None or user.disabled_at is not None:
            raise self._refused(f"its user {user.name if user else id} is disabled", peer)
        return user

    def _refused(self, why: str, peer: str | None) -> NotSignedIn:
        """The refusal; the log has the reason, the caller does not."""
        _log.warning("a key from %s was refused: %s", peer or "here", why)
        return NotSignedIn(f"This key is not valid: it is unknown, revoked or expired. {_HOW}")

    async def _hear(self) -> None:
        async with self.register.bus.subscribe(TOPIC) as notices:
            async for _ in notices:
                await self._end_gone()

    async def _look(self) -> None:
        """Keys end by themselves, too, and a notice may be lost."""
        while True:
            await self._has_visits.wait()
            await anyio.sleep(FRESH_S)
            await self._end_gone()

    async def _end_gone(self) -> None:
        try:
            await self.register.refresh()
            gone = {
                principal
                for principal in {principal for principal, _ in self._visits.values()}
                if not await self.is_valid(principal)
            }
        except StorageError as error:
            _log.error("it cannot be seen whose keys are still good: %s", error)
            return
        for principal, end in list(self._visits.values()):
            if principal in gone:
                end()

    async def _write_always(self) -> None:
        while True:
            await anyio.sleep(_WRITE_USES_S)
            await self._write_uses()

    async def _write_uses(self) -> None:
        uses, self._uses = self._uses, {}
        if not uses:
            return
        try:
            await self.register.store.commit(
                OWNER, [Put(KEY_USES, KeyUse(id=id, at=at)) for id, at in uses.items()]
            )
        except StorageError as error:
            self._uses = uses | self._uses
            _log.warning("when keys were last used is not written yet: %s", error)


def accounts_for(settings: Settings, register: Register) -> Accounts:
    """The accounts as the settings want them."""
    return Accounts(
        register,
        settings.time_zone,
        settings.user,
        needs_users=settings.needs_users or not is_loopback(settings.host),
        requests_per_minute=settings.requests_per_minute,
        owner_requests_per_minute=settings.owner_requests_per_minute,
        sign_in_days=settings.sign_in_days,
    )
