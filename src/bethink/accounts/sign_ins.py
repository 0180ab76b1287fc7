"""Signing in to the web app, with a key or with a name and a password, and out again.

What the browser's cookie holds is kept as a digest. Guesses are slowed down, and nobody
locks others out by them: a right key always opens; a browser in which somebody signed in
before is counted by itself (OWASP, "Device Cookies"); all others count by name and address,
and wait for their turn, name by name, if an address, which may be a proxy's, sends very many.
The log tells of each failure, never with what was typed as a password or a key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.accounts.register import (
    ADMIN,
    SCOPES,
    SIGN_IN_PREFIX,
    SignIn,
    digest_of,
    is_credential,
    new_secret,
)
from bethink.errors import BadInput, NotSignedIn, TooManyRequests
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.accounts.register import Register, User
    from bethink.principal import Principal


_MOST = 10_000
"""Buckets that are kept; the one that was used longest ago goes first, and is full again then."""
_MINUTE_S = 60


async def never() -> bool:
    """Who waits without a connection is never gone."""
    return False


@dataclass(slots=True)
class Buckets:
    """`per_minute` on average, as many at once; 0 is no limit."""

    per_minute: int
    what: str = "requests"
    monotonic_s: Callable[[], float] = time.monotonic
    _held: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]], repr=False
    )

    def take(self, name: str) -> None:
        """Take one from the bucket.

        Raises:
            TooManyRequests: it is empty; the error says for how long.
        """
        if not self.per_minute:
            return
        if (wait_s := self.wait_s(name)) > 0:
            raise TooManyRequests(
                f"Too many {self.what}: at most {self.per_minute} a minute. Wait {wait_s:.0f} s.",
                retry_after_s=wait_s,
            )
        left, now_s = self._left(name)
        self._held[name] = (left - 1, now_s)
        self._held.move_to_end(name)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)

    def wait_s(self, name: str) -> float:
        """How long until the bucket holds one; 0 where it does."""
        left, _ = self._left(name)
        return 0 if left >= 1 or not self.per_minute else (1 - left) * _MINUTE_S / self.per_minute

    def forgive(self, name: str) -> None:
        """Fill the bucket."""
        self._held.pop(name, None)

    def _left(self, name: str) -> tuple[float, float]:
        now_s = self.monotonic_s()
        left, at_s = self._held.get(name, (self.per_minute, now_s))
        return min(self.per_minute, left + (now_s - at_s) * self.per_minute / _MINUTE_S), now_s


@dataclass(slots=True)
class Queue:
    """Has those who find a bucket empty wait for their turn, which goes around the names that wait.

    For what many people share, such as an address: refusing would let one of them keep all others
    out, and so would one line for all, in which a program stands a hundred times. `longest` is of one
    name, `most` of all of an address: more than one that is no proxy may have connections.
    """

    buckets: Buckets
    longest: int = 8
    most: int = 1_000
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    _inside: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]], repr=False)
    _waiting: dict[str, OrderedDict[str, deque[object]]] = field(
        default_factory=dict[str, OrderedDict[str, deque[object]]], repr=False
    )

    @asynccontextmanager
    async def turn(
        self, address: str, name: str, *, is_gone: Callable[[], Awaitable[bool]] = never
    ) -> AsyncGenerator[None]:
        """Wait for the bucket of the address to hold one, and for the turn of the name.

        Who is inside the block counts as waiting, too; whom `is_gone` tells to be gone waits no longer.

        Raises:
            TooManyRequests: too many are inside already, or nobody waits for the answer any more.
        """
        waiting = sum(len(line) for line in self._names(address).values())
        if self._inside[address, name] >= self.longest or waiting >= self.most:
            raise self._too_many()
        self._inside[address, name] += 1
        try:
            await self._wait(address, name, is_gone)
            yield
        finally:
            self._inside[address, name] -= 1
            if not self._inside[address, name]:
                del self._inside[address, name]

    async def _wait(self, address: str, name: str, is_gone: Callable[[], Awaitable[bool]]) -> None:
        ticket = object()
        self._waiting.setdefault(address, OrderedDict()).setdefault(name, deque()).append(ticket)
        try:
            while True:
                # All wake at the same time, and the first to do so calls the one whose turn it is.
                while self._waiting.get(address) and self.buckets.wait_s(address) <= 0:
                    self.buckets.take(address)
                    self._call_next(address)
                if not self._is_waiting(address, name, ticket):
                    return
                await self.sleep(self.buckets.wait_s(address))
                if await is_gone():
                    raise self._too_many()
        finally:
            if self._is_waiting(address, name, ticket):
                self._waiting[address][name].remove(ticket)
                self._drop_empty(address, name)

    def _call_next(self, address: str) -> None:
        names = self._waiting[address]
        name = next(iter(names))
        names[name].popleft()
        names.move_to_end(name)
        self._drop_empty(address, name)

    def _is_waiting(self, address: str, name: str, ticket: object) -> bool:
        return ticket in self._names(address).get(name, ())

    def _names(self, address: str) -> OrderedDict[str, deque[object]]:
        return self._waiting.get(address) or OrderedDict[str, deque[object]]()

    def _drop_empty(self, address: str, name: str) -> None:
        if not self._waiting[address][name]:
            del self._waiting[address][name]
        if not self._waiting[address]:
            del self._waiting[address]

    def _too_many(self) -> TooManyRequests:
        message = f"Too many {self.buckets.what} at once from this address: try again in some seconds."
        return TooManyRequests(message, retry_after_s=self.longest)


MIN_CHARS, MAX_CHARS = 10, 1000
_COSTS = (2**15, 8, 3)
_BYTES = 32
_SALT_BYTES = 16
_AT_ONCE = 2


class Passwords:
    """Hashes and compares; at most two at once in a process."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def hashed(self, password: str) -> str:
        """What is kept of a password.

        Raises:
            BadInput: it is shorter than ten characters or longer than a thousand.
        """
        if not MIN_CHARS <= len(password) <= MAX_CHARS:
            raise BadInput(f"A password has {MIN_CHARS} to {MAX_CHARS:,} characters.")
        salt = os.urandom(_SALT_BYTES)
        n, r, p = _COSTS
        made = await self._scrypt(password, salt, _COSTS)
        return f"scrypt:{n}:{r}:{p}:{_text(salt)}:{_text(made)}"

    async def fits(self, password: str, kept: str | None) -> bool:
        """Whether it is the password that was kept, at the costs of its day; as dear where none was."""
        salt, made, costs = os.urandom(_SALT_BYTES), b"", _COSTS
        if kept is not None:
            _, *numbers, salt_text, made_text = kept.split(":")
            n, r, p = map(int, numbers)
            salt, made, costs = base64.b64decode(salt_text), base64.b64decode(made_text), (n, r, p)
        return hmac.compare_digest(await self._scrypt(password[:MAX_CHARS], salt, costs), made)

    async def _scrypt(self, password: str, salt: bytes, costs: tuple[int, int, int]) -> bytes:
        n, r, p = costs

        def work() -> bytes:
            return hashlib.scrypt(
                password.encode(), salt=salt, n=n, r=r, p=p, maxmem=128 * n * r * 2, dklen=_BYTES
            )

        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


_A_DAY_US = 86_400_000_000
_END_DIGITS = 20
BROWSER_DAYS = 180
"""A browser is known again for so long."""
_FAILURES = 5
"""Of one name from one address, in a minute."""
_FAILURES_OF_ADDRESS = 30
"""With keys, in a minute: a right one is let in all the same."""
_TRIES_OF_ADDRESS = 30
"""With passwords, in a minute; beyond, each waits two seconds longer."""
_WRONG = "Sign-in failed: check the name and the password, or the key."
_log = log("accounts")


@dataclass(frozen=True, slots=True)
class NewSignIn:
    """A new sign-in. `text` is for the cookie alone, and so is `browser`, by which it is known again."""

    record: SignIn
    user: User
    text: str = field(repr=False)
    browser: str = field(default="", repr=False)


@dataclass(slots=True)
class BrowserSignIns:
    """Signs in and out; a sign-in lasts `days`."""

    register: Register
    days: int = 30
    passwords: Passwords = field(default_factory=Passwords)
    _by_name: Buckets = field(default_factory=lambda: Buckets(_FAILURES, "failed sign-ins"))
    _by_address: Buckets = field(default_factory=lambda: Buckets(_FAILURES_OF_ADDRESS, "failed sign-ins"))
    _queue: Queue = field(default_factory=lambda: Queue(Buckets(_TRIES_OF_ADDRESS, "sign-ins")))

    def count_failure(self, peer: str) -> None:
        """Note that somebody at an address tried a secret that opens nothing.

        Raises:
            TooManyRequests: too many did.
        """
        self._by_address.take(peer)

    async def with_key(self, text: str, *, peer: str) -> NewSignIn:
        """Sign in with a key: the browser may do what the key may, for as long as the key lives.

        Raises:
            NotSignedIn: the key opens nothing.
            TooManyRequests: it opens nothing, and too many failed from this address.
        """
        known = await self.register.known()
        key = self.register.key_of(text) if is_credential(text) else None
        user = known.users.get(key.user) if key else None
        now = self.register.clock.now_us()
        if key is None or user is None or user.disabled_at is not None or not key.is_live(now):
            self._by_address.take(peer)
            _log.warning("a sign-in with a key from %s failed", peer)
            raise NotSignedIn(_WRONG)
        end = min(now + self.days * _A_DAY_US, key.expires_at or now + self.days * _A_DAY_US)
        return await self._signed(user, key.scopes, key=key.id, end=end, peer=peer)

    async def with_password(
        self,
        name: str,
        password: str,
        *,
        peer: str,
        browser: str = "",
        is_gone: Callable[[], Awaitable[bool]] = never,
    ) -> NewSignIn:
        """Sign in with a password, with all rights of its user; `browser` is what a former sign-in gave.

        `is_gone` tells while they wait for their turn whether nobody waits for the answer any more.

        Raises:
            NotSignedIn: name or password is wrong, or the user is disabled; it is not said which.
            TooManyRequests: too many failed for this name from this address, or wait for their turn.
        """
        name = name.strip().lower()
        user = (await self.register.known()).named(name)
        is_known = user is not None and self._knows(browser, user)
        counted = digest_of(browser) if is_known else f"{peer} {name}"
        # Taken before the hash is tried: many at once shall not be one.
        self._by_name.take(counted)
        async with nullcontext() if is_known else self._queue.turn(peer, name, is_gone=is_gone):
            fits = await self.passwords.fits(password, user.password if user else None)
        if user is None or not fits or user.disabled_at is not None:
            _log.warning("a sign-in as %r from %s failed", name[:80], peer)
            raise NotSignedIn(_WRONG)
        self._by_name.forgive(counted)
        scopes = tuple(scope for scope in SCOPES if scope != ADMIN or user.is_admin)
        now = self.register.clock.now_us()
        signed = await self._signed(user, scopes, key=None, end=now + self.days * _A_DAY_US, peer=peer)
        return replace(
            signed, browser=_browser_of(user, f"{now + BROWSER_DAYS * _A_DAY_US}.{new_secret('')}")
        )

    async def out(self, principal: Principal) -> None:
        """End the sign-in by which the principal came; nothing happens if they came with a key."""
        if principal.sign_in is not None:
            await self.register.end_sign_in(principal.sign_in)
            _log.info("%s signed out", principal.owner)

    async def _signed(
        self, user: User, scopes: tuple[str, ...], *, key: str | None, end: int, peer: str
    ) -> NewSignIn:
        text = new_secret(SIGN_IN_PREFIX)
        now = self.register.clock.now_us()
        record = SignIn(
            id=digest_of(text), user=user.id, key=key, scopes=scopes, created_at=now, expires_at=end
        )
        await self.register.keep_sign_in(record)
        _log.info("%s signed in from %s", user.name, peer)
        return NewSignIn(record, user, text)

    def _knows(self, browser: str, user: User) -> bool:
        """Whether the user signed in with this browser, and has had the same password since."""
        told, _, _ = browser.rpartition(".")
        end, _, _ = told.partition(".")
        if user.password is None or not end.isdecimal() or len(end) > _END_DIGITS:
            return False
        is_ours = hmac.compare_digest(_browser_of(user, told).encode(), browser.encode())
        return is_ours and self.register.clock.now_us() < int(end)


def _browser_of(user: User, told: str) -> str:
    """By what a browser is known again: sealed by the hash of the password, and void with it."""
    key = f"{user.id} {user.password}".encode()
    return f"{told}.{hmac.new(key, told.encode(), hashlib.sha256).hexdigest()}"
