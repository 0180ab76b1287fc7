"""Streamable HTTP: the application that `web` answers from at `/mcp`.

The SDK takes a second to import, which no start of a server shall pay: `web.endpoints` imports
this module with the first request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from bethink.accounts import is_loopback
from bethink.mcp_server.server import McpDoor
from bethink.principal import PRINCIPAL, Principal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.app import App


_IDLE_S = 900
"""A client that goes without a word leaves its session: a quarter of an hour later that ends."""


@asynccontextmanager
async def open_mcp(app: App, only: Sequence[str]) -> AsyncGenerator[ASGIApp]:
    """What answers MCP clients; `only` names the families that it offers, none for all."""
    async with serving(McpDoor(app, "http", only)) as answer:
        yield answer


@asynccontextmanager
async def serving(door: McpDoor) -> AsyncGenerator[ASGIApp]:
    """The SDK's own server for one path, with its checks of Host and Origin beside those of `web`.

    Opened again, its sessions are new ones.
    """
    settings = door.app.settings
    # Where others may come in, the web door alone knows the names and pages that are its own.
    is_local = is_loopback(settings.host) and not settings.public_urls
    names = ("127.0.0.1", "localhost", "[::1]")
    manager = StreamableHTTPSessionManager(
        app=door.server(),
        session_idle_timeout=_IDLE_S,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=is_local,
            allowed_hosts=[name + port for name in names for port in ("", ":*")],
            allowed_origins=[f"http://{name}{port}" for name in names for port in ("", ":*")],
        ),
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope["user"] = _user(scope["state"][PRINCIPAL])
        await manager.asgi_app(scope, receive, send)

    async with manager.run():
        yield answer


def _user(principal: Principal) -> AuthenticatedUser:
    """Who asks, as the SDK compares it: a session serves only the key or grant that began it."""
    client = principal.came_with or principal.owner
    return AuthenticatedUser(
        AccessToken(token="", client_id=client, scopes=sorted(principal.rights), subject=principal.owner)
    )
