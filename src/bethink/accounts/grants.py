"""What users let other programs do at `/mcp`: registered clients, codes, and tokens that follow each other.

OAuth 2.1 (draft-ietf-oauth-v2-1) for the door of MCP; `web.oauth` speaks it. A client is not stored: its id
says what it registered and is sealed by the master key (RFC 7591, appendix A.5.2), so that strangers, who may
register, fill nothing. A grant is one record from its code to its last token. A code or refresh token that
was used before shows that somebody else has it, and ends the grant (RFC 6749, section 10.5; OAuth 2.1,
section 4.3.1). That a token is an old one is told by the half that all refresh tokens of a grant share.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

import msgspec

from bethink.accounts.register import (
    ACCESS_PREFIX,
    GRANTS,
    OWNER,
    READ,
    TOPIC,
    WRITE,
    Grant,
    digest_of,
    is_loopback,
    new_secret,
)
from bethink.errors import OAuthFault
from bethink.store import Delete, Put, Scan, Versioned, records_of, retry_conflicts
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.accounts.register import Register
    from bethink.principal import Principal
    from bethink.secrets_at_rest import SecretBox

GRANT_SCOPES: Final = (READ, WRITE)
"""What can be granted: no more than the tools of `/mcp` ask for."""
ACCESS_S: Final = 3600
"""An access token that leaked is good for an hour."""
_CODE_S: Final = 120
"""A client redeems its code at once; the specification's most is ten minutes."""
GRANT_DAYS: Final = 60
"""A grant that was not used for so long ends."""
_US: Final = 1_000_000
_CODE_PREFIX: Final = "bc_"
_REFRESH_PREFIX: Final = "br_"
_FAMILY_BYTES: Final = 16
_FAMILY_CHARS: Final = len(_REFRESH_PREFIX) + 22
_NONCE_BYTES: Final = 8
_SEAL_CHARS: Final = 32
_MAX_ID_CHARS: Final = 8_000
_CLIENT_ID: Final = "oauth client "
_CLIENT_SECRET: Final = "oauth secret "  # noqa: S105 - no secret, but what one is made for
"""What digests with the master key are made for: none does two things."""
_VERIFIER_CHARS: Final = range(43, 129)
_MAX_URIS: Final = 10
_MAX_URI_CHARS: Final = 500
_log = log("accounts")

Method = Literal["none", "client_secret_post", "client_secret_basic"]


class OAuthClient(msgspec.Struct, frozen=True, array_like=True):
    """What a client registered: its own name for itself, and where answers may be sent."""

    name: str
    redirect_uris: tuple[str, ...]
    method: Method
    nonce: str

    def redirect_uri(self, given: str) -> str | None:
        """Where to answer: to an address that was registered, on this machine to any port. None: to none.

        Source: OAuth 2.1, sections 2.3.1 and 8.4.2.
        """
        if not given:
            return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None
        fits = given in self.redirect_uris or (
            _is_local(given) and any(_without_port(given) == _without_port(one) for one in self.redirect_uris)
        )
        return given if fits and _is_fit(given) else None


@dataclass(frozen=True, slots=True)
class Clients:
    """Registers clients and knows them again, without keeping anything of them."""

    box: SecretBox

    async def register(self, name: str, redirect_uris: Sequence[str], method: Method) -> str:
        """The id of a new client.

        Raises:
            OAuthFault: an answer could be sent elsewhere than to a web page by https, or to this machine.
        """
        if not 0 < len(redirect_uris) <= _MAX_URIS or not all(map(_is_fit, redirect_uris)):
            raise OAuthFault(
                f"Give 1 to {_MAX_URIS} redirect URIs with https, or with http to this machine "
                "(127.0.0.1, [::1] or localhost), without a fragment.",
                "invalid_redirect_uri",
            )
        client = OAuthClient(name, tuple(redirect_uris), method, secrets.token_hex(_NONCE_BYTES))
        told = base64.urlsafe_b64encode(msgspec.json.encode(client)).decode().rstrip("=")
        return f"{told}.{await self._seal(told)}"

    async def get(self, id: str) -> OAuthClient | None:
        """The client with this id, if this Bethink gave it."""
        told, _, seal = id.rpartition(".")
        if (
            len(id) > _MAX_ID_CHARS
            or not id.isascii()
            or not hmac.compare_digest(await self._seal(told), seal)
        ):
            return None
        try:
            return msgspec.json.decode(
                base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)), type=OAuthClient
            )
        except (binascii.Error, msgspec.MsgspecError):
            return None

    async def secret(self, id: str) -> str:
        """The secret of the client with this id; the same each time."""
        return await self.box.digest(_CLIENT_SECRET + id)

    async def checked(self, id: str, *, basic: str | None, posted: str | None) -> OAuthClient:
        """The client that asks, by the way to show its secret that it registered.

        Raises:
            OAuthFault: nobody has this id, or the secret is not its own.
        """
        client = await self.get(id)
        if client is None:
            raise OAuthFault("This Bethink gave no such client id: register again.", "invalid_client")
        shown = {"none": None, "client_secret_post": posted, "client_secret_basic": basic}[client.method]
        if client.method == "none":
            return client
        if not hmac.compare_digest((await self.secret(id)).encode(), (shown or "").encode()):
            raise OAuthFault(f"The client's secret is missing or wrong ({client.method}).", "invalid_client")
        return client

    async def _seal(self, told: str) -> str:
        return (await self.box.digest(_CLIENT_ID + told))[:_SEAL_CHARS]


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """What a client asks its user to grant; `redirect_uri` is one of the client's."""

    client_id: str
    client: OAuthClient
    redirect_uri: str
    challenge: str
    scopes: tuple[str, ...]
    resource: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a client gets; its scopes are those of the access token."""

    access: str
    refresh: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grants:
    """The grants of all users."""

    register: Register

    async def give(self, principal: Principal, asked: GrantRequest, scopes: Iterable[str]) -> str:
        """Let the client do what it asked for, as far as `scopes` say; the code for its first tokens."""
        code, now = new_secret(_CODE_PREFIX), self.register.clock.now_us()
        grant = Grant(
            id=self.register.new_id(),
            user=principal.owner,
            key=principal.key,
            client=digest_of(asked.client_id),
            client_name=asked.client.name,
            redirect_uri=asked.redirect_uri,
            resource=asked.resource,
            scopes=tuple(scope for scope in asked.scopes if scope in set(scopes)),
            created_at=now,
            expires_at=now + _CODE_S * _US,
            code=digest_of(code),
            challenge=asked.challenge,
        )
        await self.register.store.commit(OWNER, [Put(GRANTS, grant, if_version=0)])
        _log.info("%s let %r use /mcp: %s", grant.user, grant.client_name, ", ".join(grant.scopes))
        return code

    @retry_conflicts
    async def redeem(
        self, client_id: str, code: str, *, verifier: str, redirect_uri: str | None, resource: str | None
    ) -> Tokens:
        """The first tokens of a grant, for its code.

        Raises:
            OAuthFault: it is none of this client, was used before, which ends the grant, or is over.
        """
        found = await self._found("code", code, client_id)
        if found is None:
            raise OAuthFault("The code is unknown or over: ask the user again.", "invalid_grant")
        grant = found.record
        if grant.family is not None:
            await self._end_reused(grant, "code")
        _check_resource(grant, resource)
        if redirect_uri not in (None, grant.redirect_uri):
            raise OAuthFault("The redirect URI is another one than the code was sent to.", "invalid_grant")
        if len(verifier) not in _VERIFIER_CHARS or not hmac.compare_digest(
            _challenge(verifier), grant.challenge
        ):
            raise OAuthFault("The code verifier does not fit the code challenge.", "invalid_grant")
        family = _REFRESH_PREFIX + secrets.token_urlsafe(_FAMILY_BYTES)
        return await self._next(found, family, grant.scopes)

    @retry_conflicts
    async def renew(
        self, client_id: str, token: str, *, scopes: Sequence[str] = (), resource: str | None = None
    ) -> Tokens:
        """The next tokens of a grant, for its refresh token; none of before opens anything then.

        Raises:
            OAuthFault: it is none of this client, was used before, which ends the grant, or is over.
        """
        family = token[:_FAMILY_CHARS]
        found = await self._found("family", family, client_id)
        if found is None:
            raise OAuthFault("The refresh token is unknown or over: ask the user again.", "invalid_grant")
        grant = found.record
        if digest_of(token) != grant.refresh:
            await self._end_reused(grant, "refresh token")
        _check_resource(grant, resource)
        if unknown := set(scopes) - set(grant.scopes):
            raise OAuthFault(f"The user did not grant {', '.join(sorted(unknown))[:200]}.", "invalid_scope")
        wanted = tuple(scope for scope in grant.scopes if scope in (scopes or grant.scopes))
        return await self._next(found, family, wanted)

    async def end(self, client_id: str, token: str) -> None:
        """End the grant that a token of this client belongs to, if there is one (RFC 7009)."""
        found = await self._found("access", token, client_id)
        if found is None:
            found = await self._found("family", token[:_FAMILY_CHARS], client_id)
        if found is not None:
            await self._delete(found.record)

    async def of(self, user: str | None = None) -> list[Grant]:
        """The grants of a user, or of all, that were redeemed and are not over, the oldest first."""
        now = self.register.clock.now_us()
        scan = Scan(GRANTS, where={} if user is None else {"user": user})
        grants = [one async for one in records_of(self.register.store, OWNER, scan)]
        live = [one for one in grants if one.family is not None and now < one.expires_at]
        return sorted(live, key=lambda grant: grant.created_at)

    async def is_access(self, token: str) -> bool:
        """Whether this is an access token that is good for anything."""
        return await self._of_access(token) is not None

    async def opened_by(self, access: str, resource: str | None) -> Grant | None:
        """The grant whose access token this is now, if it is for this resource (RFC 8707, section 2)."""
        grant = await self._of_access(access)
        return grant if grant is not None and grant.resource == resource else None

    async def _of_access(self, token: str) -> Grant | None:
        found = await self._found("access", token)
        is_good = found is not None and self.register.clock.now_us() < found.record.access_expires_at
        return found.record if found is not None and is_good else None

    async def is_live(self, id: str) -> bool:
        """Whether a grant is neither ended nor over."""
        (found,) = await self.register.store.get(GRANTS, OWNER, [id])
        return found is not None and self.register.clock.now_us() < found.record.expires_at

    async def _found(self, key: str, secret: str, client_id: str | None = None) -> Versioned[Grant] | None:
        """The live grant of which this is the secret, if it is of this client."""
        scan = Scan(GRANTS, where={key: digest_of(secret)}, limit=1)
        for found in (await self.register.store.scan(OWNER, scan))[0].items:
            is_theirs = client_id is None or found.record.client == digest_of(client_id)
            if is_theirs and self.register.clock.now_us() < found.record.expires_at:
                return found
        return None

    async def _next(self, found: Versioned[Grant], family: str, scopes: tuple[str, ...]) -> Tokens:
        known, now = await self.register.known(), self.register.clock.now_us()
        user, key = known.users.get(found.record.user), known.keys.get(found.record.key or "")
        is_over = found.record.key is not None and (key is None or not key.is_live(now))
        if user is None or user.disabled_at is not None or is_over:
            raise OAuthFault("The user may not come in any more.", "invalid_grant")
        tokens = Tokens(new_secret(ACCESS_PREFIX), family + new_secret(""), scopes)
        grant = msgspec.structs.replace(
            found.record,
            family=digest_of(family),
            refresh=digest_of(tokens.refresh),
            access=digest_of(tokens.access),
            access_scopes=scopes,
            access_expires_at=now + ACCESS_S * _US,
            renewed_at=now,
            expires_at=now + GRANT_DAYS * 86_400 * _US,
        )
        await self.register.store.commit(OWNER, [Put(GRANTS, grant, if_version=found.version)])
        return tokens

    async def _end_reused(self, grant: Grant, what: str) -> None:
        _log.warning("the %s of %r was used twice: its grant is ended", what, grant.client_name)
        await self._delete(grant)
        raise OAuthFault(
            f"This {what} was used before, so the grant is ended: ask the user again.", "invalid_grant"
        )

    async def _delete(self, grant: Grant) -> None:
        await self.register.store.commit(OWNER, [Delete(GRANTS, grant.id)])
        await self.register.bus.publish(TOPIC)


def _check_resource(grant: Grant, resource: str | None) -> None:
    if resource not in (None, grant.resource):
        raise OAuthFault(f"The grant is for {grant.resource} alone.", "invalid_target")


def _challenge(verifier: str) -> str:
    """Source: RFC 7636, section 4.2, S256."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _is_fit(uri: str) -> bool:
    """Whether a code may be sent there: to a web page by https, or to this machine."""
    if (
        len(uri) > _MAX_URI_CHARS
        or not uri.isascii()
        or not uri.isprintable()
        or set(uri) & set(' "<>\\^`{|}#')
    ):
        return False
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def _is_local(uri: str) -> bool:
    return uri.startswith("http:") and _is_fit(uri)


def _without_port(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.hostname or "").geturl()
