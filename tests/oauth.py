"""An MCP server behind an authorization server, both of our own, on one loopback address.

OAuth 2.1 as the specification asks: metadata, dynamic registration, PKCE, one
use of each refresh token. `tokens` are those that are taken now.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from bethink.web.server import Server, configured, listening


@dataclass
class Guarded:
    """The two servers, and what they gave out."""

    url: str = ""
    expires_in: int = 3600
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    codes: dict[str, str] = field(default_factory=dict[str, str])
    tokens: set[str] = field(default_factory=set[str])
    refresh: set[str] = field(default_factory=set[str])
    refreshed: int = 0
    secret: str | None = None
    auth_methods: tuple[str, ...] = ("none",)
    """How the secret is taken; a client that registers itself is given the secret and the first of these."""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/mcp", self.resource),
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/mcp", self.mcp, methods=["POST", "GET", "DELETE"]),
            ]
        )

    async def resource(self, _: Request) -> Response:
        return JSONResponse({"resource": f"{self.url}/mcp", "authorization_servers": [self.url]})

    async def metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": list(self.auth_methods),
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def register(self, request: Request) -> Response:
        client = {**await request.json(), "client_id": secrets.token_hex(8)}
        if self.secret is not None:
            client |= {"client_secret": self.secret, "token_endpoint_auth_method": self.auth_methods[0]}
        self.clients[client["client_id"]] = client
        return JSONResponse(client, 201)

    async def authorize(self, request: Request) -> Response:
        """The person signs in at once."""
        asked = request.query_params
        assert asked["redirect_uri"] in self.clients[asked["client_id"]]["redirect_uris"]
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_hex(8)
        self.codes[code] = asked["code_challenge"]
        given = {"code": code, "state": asked["state"], "iss": self.url}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(given)}")

    async def token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        if not self.is_proven(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refresh.discard(form["refresh_token"])
            self.refreshed += 1
        else:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if self.codes.pop(form["code"], None) != challenge:
                return JSONResponse({"error": "invalid_grant"}, 400)
        token, refresh = secrets.token_hex(8), secrets.token_hex(8)
        self.tokens.add(token)
        self.refresh.add(refresh)
        given = {"access_token": token, "token_type": "Bearer", "refresh_token": refresh}
        return JSONResponse({**given, "expires_in": self.expires_in})

    def is_proven(self, request: Request, form: dict[str, str]) -> bool:
        """Whether the secret came as it is taken, and in no second way."""
        if self.secret is None:
            return True
        found = {"client_secret_post": form["client_secret"]} if "client_secret" in form else {}
        kind, _, basic = request.headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            found["client_secret_basic"] = unquote(base64.b64decode(basic).decode().partition(":")[2])
        ((method, secret),) = found.items() or {"": ""}.items()
        return method in self.auth_methods and secret == self.secret

    async def mcp(self, request: Request) -> Response:
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            where = f"{self.url}/.well-known/oauth-protected-resource/mcp"
            return Response(
                status_code=401, headers={"www-authenticate": f'Bearer resource_metadata="{where}"'}
            )
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], **_answer(message["method"])})


def _answer(method: str) -> dict[str, Any]:
    match method:
        case "initialize":
            info = {"name": "guarded", "version": "1"}
            return {
                "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            }
        case "tools/list":
            return {"result": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": "ada"}]}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "no such method"}}


@asynccontextmanager
async def guarded(expires_in: int = 3600) -> AsyncGenerator[Guarded]:
    """The servers on a free port."""
    servers, is_ready = Guarded(expires_in=expires_in), anyio.Event()
    with listening("127.0.0.1", 0) as listener:
        servers.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = Server(configured(servers.app()), on_ready=is_ready.set, on_stop=lambda: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            await is_ready.wait()
            yield servers
            server.should_exit = True
