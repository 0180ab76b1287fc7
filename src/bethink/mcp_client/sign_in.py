"""Signing in to a server by OAuth 2.1: who waits for a person, and tokens that outlive the process.

The flow is the SDK's (authorization code with PKCE, dynamic registration,
refresh); the person opens a page, and the web door or the command line hands in
what that page gives back. Source: "Authorization" of the specification, RFC
6749, 7591, 8414, 9207, 9728.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from bethink.errors import McpUnreachable
from bethink.mcp_client import AuthMethod, Hooks, Keeping, OAuth, ServerConfig, SignIn

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthMetadata, OAuthToken


WAIT_S = 600
"""For a person to find the page, their password and their telephone."""
_EARLY_S = 30
"""A token is refreshed so long before it ends: clocks differ, requests take time."""


class SignIns:
    """Those who wait for a sign-in page's answer, by its `state`."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[tuple[str, str | None]]] = {}

    async def wait(self, state: str) -> tuple[str, str | None]:
        """The code and the issuer that the page gave.

        Raises:
            McpUnreachable: nobody signed in.
        """
        self._waiting[state] = answer = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(WAIT_S):
                return await answer
        except TimeoutError as error:
            raise McpUnreachable("Nobody signed in.") from error
        finally:
            del self._waiting[state]

    def answer(self, state: str, code: str, issuer: str | None) -> bool:
        """Hand in what the page gave; False where nobody waits for it."""
        waiting = self._waiting.get(state)
        if waiting is None or waiting.done():
            return False
        waiting.set_result((code, issuer))
        return True


class _Kept(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is kept of a sign-in, sealed. `expires_at` is seconds since 1970."""

    tokens: dict[str, Any] | None = None
    client: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    expires_at: float | None = None


class _Storage:
    """The SDK's storage of tokens, over the port's keeping."""

    def __init__(self, config: ServerConfig, keeping: Keeping) -> None:
        self._config = config
        self._keeping = keeping
        self.kept = _Kept()

    async def load(self) -> None:
        found = await self._keeping.secret(self._config.name)
        self.kept = msgspec.json.decode(found, type=_Kept) if found else _Kept()

    async def save(self) -> None:
        await self._keeping.keep_secret(self._config.name, msgspec.json.encode(self.kept).decode())

    async def get_tokens(self) -> OAuthToken | None:
        from mcp.shared.auth import OAuthToken

        return OAuthToken.model_validate(self.kept.tokens) if self.kept.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.kept.tokens = tokens.model_dump(mode="json", exclude_none=True)
        self.kept.expires_at = time.time() + tokens.expires_in if tokens.expires_in else None
        await self.save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        from mcp.shared.auth import OAuthClientInformationFull

        return OAuthClientInformationFull.model_validate(self.kept.client) if self.kept.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.kept.client = client_info.model_dump(mode="json", exclude_none=True)
        await self.save()

    async def choose_method(self, oauth: OAuth, context: OAuthContext) -> None:
        """Settle how the configured secret is handed over, now that the authorization server is known."""
        client = context.client_info
        if client is not None and client.client_secret and client.client_id == oauth.client_id:
            client.token_endpoint_auth_method = _auth_method(oauth, context.oauth_metadata)
            await self.set_client_info(client)


def signing_in(config: ServerConfig, hooks: Hooks, *, sign_ins: SignIns, keeping: Keeping) -> httpx2.Auth:
    """The authentication of a server's HTTP client."""
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthMetadata

    oauth = config.oauth
    assert oauth is not None  # noqa: S101 - asked for only where it is configured
    storage = _Storage(config, keeping)
    state = ""

    async def show(url: str) -> None:
        nonlocal state
        state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        hooks.on_sign_in(SignIn(url, state))

    async def wait() -> AuthorizationCodeResult:
        try:
            code, issuer = await sign_ins.wait(state)
        finally:
            hooks.on_sign_in(None)
        return AuthorizationCodeResult(code=code, state=state, iss=issuer)

    class Provider(OAuthClientProvider):
        """The SDK's, which forgets on a restart when a token ends and where it is refreshed."""

        async def _initialize(self) -> None:
            await storage.load()
            if storage.kept.client is None and oauth.client_id is not None:
                storage.kept.client = _registered(oauth)
            await super()._initialize()
            if storage.kept.expires_at is not None:
                self.context.token_expiry_time = storage.kept.expires_at - _EARLY_S
            if storage.kept.metadata is not None:
                self.context.oauth_metadata = OAuthMetadata.model_validate(storage.kept.metadata)

        async def _handle_token_response(self, response: httpx2.Response) -> None:
            if self.context.oauth_metadata is not None:
                storage.kept.metadata = self.context.oauth_metadata.model_dump(mode="json", exclude_none=True)
            await super()._handle_token_response(response)

        async def _perform_authorization(self) -> httpx2.Request:
            await storage.choose_method(oauth, self.context)
            return await super()._perform_authorization()

    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "Bethink",
            "redirect_uris": [oauth.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": oauth.scope,
        }
    )
    return Provider(config.url, metadata, storage, show, wait)


def _auth_method(oauth: OAuth, metadata: OAuthMetadata | None) -> AuthMethod:
    """How to hand over the secret: as configured, or as the server takes it; all should take HTTP Basic."""
    known = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
    takes_only_post = bool(known) and "client_secret_basic" not in known and "client_secret_post" in known
    return oauth.token_endpoint_auth_method or (
        "client_secret_post" if takes_only_post else "client_secret_basic"
    )


def _registered(oauth: OAuth) -> dict[str, Any]:
    """What the SDK keeps of a client, for one that was registered by hand."""
    from mcp.shared.auth import OAuthClientInformationFull

    made = OAuthClientInformationFull.model_validate(
        {
            "client_id": oauth.client_id,
            "client_secret": oauth.client_secret,
            "redirect_uris": [oauth.redirect_uri],
            "token_endpoint_auth_method": _auth_method(oauth, None) if oauth.client_secret else "none",
        }
    )
    return made.model_dump(mode="json", exclude_none=True)
