"""Signing in to the web app, with a key or with a name and a password, and out again.

What the browser's cookie holds is kept as a digest. Failures are slowed down by
name and address and by address: a name alone would let anybody lock its owner out.
The log tells of each, never with what was typed as a password or a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.accounts.limits import Buckets
from bethink.accounts.passwords import Passwords
from bethink.accounts.records import SIGN_IN_PREFIX, SignIn, digest_of, is_credential, new_secret
from bethink.accounts.rights import ADMIN, SCOPES
from bethink.errors import NotSignedIn
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.accounts.records import User
    from bethink.accounts.register import Register
    from bethink.principal import Principal

_A_DAY_US = 86_400_000_000
_FAILURES = 5
"""Of one name from one address, in a minute."""
_FAILURES_OF_ADDRESS = 30
_WRONG = "This opens nothing: check the name and the password, or the key."
_log = log("accounts")


@dataclass(frozen=True, slots=True)
class Signed:
    """A new sign-in. `text` is for the cookie alone."""

    record: SignIn
    user: User
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signing:
    """Signs in and out; a sign-in lasts `days`."""

    register: Register
    days: int = 30
    passwords: Passwords = field(default_factory=Passwords)
    _by_name: Buckets = field(default_factory=lambda: Buckets(_FAILURES, "failed sign-ins"))
    _by_address: Buckets = field(default_factory=lambda: Buckets(_FAILURES_OF_ADDRESS, "failed sign-ins"))

    async def with_key(self, text: str, *, peer: str) -> Signed:
        """Sign in with a key: the browser may do what the key may, for as long as the key lives.

        Raises:
            NotSignedIn: the key opens nothing.
            TooManyRequests: too many failed from this address.
        """
        self._check(peer, "")
        known = await self.register.known()
        key = self.register.key_of(text) if is_credential(text) else None
        user = known.users.get(key.user) if key else None
        now = self.register.clock.now_us()
        if key is None or user is None or user.disabled_at is not None or not key.is_live(now):
            raise self._failed(peer, "", "a key")
        end = min(now + self.days * _A_DAY_US, key.expires_at or now + self.days * _A_DAY_US)
        return await self._signed(user, key.scopes, key=key.id, end=end, peer=peer)

    async def with_password(self, name: str, password: str, *, peer: str) -> Signed:
        """Sign in with a password, with all rights of its user.

        Raises:
            NotSignedIn: name or password is wrong, or the user is disabled; it is not said which.
            TooManyRequests: too many failed for this name from this address, or from this address.
        """
        name = name.strip().lower()
        self._check(peer, name)
        user = (await self.register.known()).named(name)
        # Taken before the hash is tried: many at once shall not be one.
        self._take(peer, name)
        fits = await self.passwords.fits(password, user.password if user else None)
        if user is None or not fits or user.disabled_at is not None:
            _log.warning("a sign-in as %r from %s failed", name[:80], peer)
            raise NotSignedIn(_WRONG)
        self._by_name.forgive(f"{peer} {name}")
        scopes = tuple(scope for scope in SCOPES if scope != ADMIN or user.is_admin)
        end = self.register.clock.now_us() + self.days * _A_DAY_US
        return await self._signed(user, scopes, key=None, end=end, peer=peer)

    async def out(self, principal: Principal) -> None:
        """End the sign-in by which the principal came; nothing happens if they came with a key."""
        if principal.sign_in is not None:
            await self.register.end_sign_in(principal.sign_in)
            _log.info("%s signed out", principal.owner)

    async def _signed(
        self, user: User, scopes: tuple[str, ...], *, key: str | None, end: int, peer: str
    ) -> Signed:
        text = new_secret(SIGN_IN_PREFIX)
        now = self.register.clock.now_us()
        record = SignIn(
            id=digest_of(text), user=user.id, key=key, scopes=scopes, created_at=now, expires_at=end
        )
        await self.register.keep_sign_in(record)
        _log.info("%s signed in from %s", user.name, peer)
        return Signed(record, user, text)

    def _check(self, peer: str, name: str) -> None:
        for buckets, bucket in ((self._by_name, f"{peer} {name}"), (self._by_address, peer)):
            if buckets.wait_s(bucket) > 0:
                buckets.take(bucket)

    def _take(self, peer: str, name: str) -> None:
        self._by_name.take(f"{peer} {name}")
        self._by_address.take(peer)

    def _failed(self, peer: str, name: str, what: str) -> NotSignedIn:
        self._take(peer, name)
        _log.warning("a sign-in with %s from %s failed", what, peer)
        return NotSignedIn(_WRONG)
