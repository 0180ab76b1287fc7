"""Streamable HTTP: the endpoint that `web` mounts at `/mcp`, made when somebody first asks for it.

The SDK takes a second to import, which no start of a server shall pay. Whoever
mounts it runs `serve` beside its server, for as long as that lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from bethink.accounts import is_loopback
from bethink.principal import PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App
    from bethink.principal import Principal


_IDLE_S = 900
"""A client that goes without a word leaves its session: a quarter of an hour later that ends."""


class Endpoint:
    """An ASGI application for one path. `only` names the families that it offers, none for all."""

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = tuple(only)
        self._asked = anyio.Event()
        self._ready = anyio.Event()
        self._served: ASGIApp | None = None

    async def serve(self, app: App) -> None:
        """Wait for the first request, then serve all of them until cancelled."""
        await self._asked.wait()
        manager = await anyio.to_thread.run_sync(_make, app, self._only)
        try:
            async with manager.run():
                self._served = manager.asgi_app
                self._ready.set()
                await anyio.sleep_forever()
        finally:
            # Served again, its sessions are new ones.
            self._served, self._ready = None, anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self._asked.set()
        await self._ready.wait()
        if (principal := scope.get("state", {}).get(PRINCIPAL)) is not None:
            scope["user"] = _user(principal)
        if self._served is not None:
            await self._served(scope, receive, send)


def _user(principal: Principal) -> AuthenticatedUser:
    """Who asks, as the SDK compares it: a session serves only the key that began it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    client = principal.sign_in or principal.key or principal.owner
    return AuthenticatedUser(
        AccessToken(token="", client_id=client, scopes=sorted(principal.rights), subject=principal.owner)
    )


def _make(app: App, only: Sequence[str]) -> Any:  # noqa: ANN401 - a type of the SDK, which is not imported yet
    """The SDK's own server, with its checks of Host and Origin beside those of `web`."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from bethink.mcp_server.server import Door

    # Where others may come in, the web door alone knows the names and pages that are its own.
    is_local = is_loopback(app.settings.host) and not app.settings.public_urls
    names = ("127.0.0.1", "localhost", "[::1]")
    return StreamableHTTPSessionManager(
        app=Door(app, "http", only).server(),
        session_idle_timeout=_IDLE_S,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=is_local,
            allowed_hosts=[name + port for name in names for port in ("", ":*")],
            allowed_origins=[f"http://{name}{port}" for name in names for port in ("", ":*")],
        ),
    )
