"""Opens the configured MCP servers, with all that they stand on. `app` enters it before anything is wired."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from pydantic import ValidationError

from bethink.errors import BadInput
from bethink.mcp_client import OAuth, Pinned, ServerConfig
from bethink.mcp_client.sdk import SdkConnector
from bethink.mcp_client.servers import Servers
from bethink.principal import LOCAL_OWNER
from bethink.settings import variable
from bethink.settings_shapes import McpOAuth, McpServer
from bethink.store import Collection, Delete, Put, Record
from bethink.tools.mcp import McpTools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.mcp_client import Transport
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.store import Store
    from bethink.supervision import Supervise


_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}`, `${env:NAME}` as VS Code writes it, and `${NAME:-default}` as shells do."""


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers to keep, those that are not with the reason, and what was said of their tools."""

    servers: tuple[ServerConfig, ...]
    off: tuple[tuple[ServerConfig, str], ...]
    rules: Mapping[str, McpServer]


def configured(
    servers: Mapping[str, McpServer],
    file: Path | None,
    *,
    variable: Callable[[str], str | None],
    redirect_uri: str,
) -> Configured:
    """The servers of the settings and of the file; a name in both is the settings' one.

    Raises:
        BadInput: the file cannot be read, or a server in it is not valid.
    """
    rules = (_read(file) if file else {}) | dict(servers)
    kept: list[ServerConfig] = []
    off: list[tuple[ServerConfig, str]] = []
    for name, server in rules.items():
        missing: list[str] = []
        config = _config(name, server, _Expander(variable, missing), redirect_uri=redirect_uri)
        if missing:
            off.append(
                (config, f"There is no environment variable {', '.join(missing)}: set it and start again.")
            )
        elif server.disabled or not server.enabled:
            off.append((config, "It is switched off in the configuration."))
        else:
            kept.append(config)
    return Configured(tuple(kept), tuple(off), rules)


@dataclass(frozen=True, slots=True)
class _Expander:
    """Puts variables of the environment in the place of their names; those that are not there are noted."""

    variable: Callable[[str], str | None]
    missing: list[str]

    def text(self, given: str) -> str:
        def found(match: re.Match[str]) -> str:
            value = self.variable(match[1])
            if value is None and match[2] is None:
                self.missing.append(match[1])
            return value or match[2] or ""

        return _VARIABLE.sub(found, given)

    def texts(self, given: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in given.items()}


def _config(name: str, server: McpServer, expand: _Expander, *, redirect_uri: str) -> ServerConfig:
    transport: Transport = "stdio" if server.command else "sse" if server.type == "sse" else "http"
    oauth = McpOAuth() if server.oauth is True else server.oauth or None
    secret = oauth.client_secret if oauth else None
    return ServerConfig(
        name,
        transport,
        command=tuple(map(expand.text, (server.command, *server.args))) if server.command else (),
        env=expand.texts(server.env),
        cwd=expand.text(server.cwd) if server.cwd else None,
        url=expand.text(server.url or ""),
        headers=expand.texts(server.headers),
        start=server.start,
        connect_timeout_s=server.connect_timeout_s,
        call_timeout_s=server.call_timeout_s,
        idle_timeout_s=server.idle_timeout_s,
        ping_every_s=server.ping_every_s,
        pin=server.pin,
        oauth=oauth
        and OAuth(
            oauth.redirect_uri or redirect_uri,
            oauth.scope,
            oauth.client_id,
            expand.text(secret.get_secret_value()) if secret else None,
        ),
    )


def _read(file: Path) -> dict[str, McpServer]:
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"The file of MCP servers {file} cannot be read: {error}") from error
    found: object = document
    if isinstance(document, dict):
        pasted = cast("dict[str, Any]", document)
        found = pasted.get("mcpServers", pasted.get("servers", pasted))
    if not isinstance(found, dict):
        raise BadInput(f"The file {file} holds no servers: it wants an object under `mcpServers`.")
    named = cast("dict[str, Any]", found)
    return {name: _server(file, name, one) for name, one in named.items()}


def _server(file: Path, name: str, given: object) -> McpServer:
    try:
        return McpServer.model_validate(given)
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}".lstrip(": ")
            for detail in error.errors(include_input=False, include_url=False)
        )
        raise BadInput(f"The server {name} in {file} is not valid: {reasons}") from error


class PinnedTools(Record, frozen=True, kw_only=True):
    """The accepted definitions of one server's tools."""

    pinned: Pinned


class SealedTokens(Record, frozen=True, kw_only=True):
    """One server's tokens, unreadable without the master key."""

    sealed: bytes


PINS = Collection("meta", PinnedTools, searchable=False)
TOKENS = Collection("meta", SealedTokens, searchable=False)


@dataclass(frozen=True, slots=True)
class McpKeeping:
    """Keeping in the store."""

    store: Store
    keeper: SecretBox

    async def pinned(self, server: str) -> Pinned | None:
        """The accepted definitions; None where the server was never seen."""
        (found,) = await self.store.get(PINS, LOCAL_OWNER, [f"mcp-pins:{server}"])
        return found.record.pinned if found else None

    async def pin(self, server: str, pinned: Pinned) -> None:
        """Keep the accepted definitions."""
        record = PinnedTools(id=f"mcp-pins:{server}", pinned=pinned)
        await self.store.commit(LOCAL_OWNER, [Put(PINS, record)])

    async def secret(self, server: str) -> str | None:
        """What `keep_secret` kept.

        Raises:
            StorageError: it was sealed with another key.
        """
        (found,) = await self.store.get(TOKENS, LOCAL_OWNER, [f"mcp-tokens:{server}"])
        return await self.keeper.open(found.record.sealed) if found else None

    async def keep_secret(self, server: str, secret: str | None) -> None:
        """Keep a text sealed; None forgets it."""
        id = f"mcp-tokens:{server}"
        change = (
            Delete(TOKENS, id)
            if secret is None
            else Put(TOKENS, SealedTokens(id=id, sealed=await self.keeper.seal(secret)))
        )
        await self.store.commit(LOCAL_OWNER, [change])


_TOPIC = "mcp-servers"
CALLBACK = "/mcp-servers/callback"


@asynccontextmanager
async def open_mcp(
    settings: Settings, store: Store, bus: Bus, *, clock: Clock, keeper: SecretBox, supervise: Supervise
) -> AsyncGenerator[McpTools]:
    """The tools of the configured servers, which are kept while the block lasts; none is waited for.

    Raises:
        BadInput: the file of servers cannot be read or is not valid.
    """
    found = await anyio.to_thread.run_sync(
        partial(
            configured,
            settings.mcp_servers,
            settings.mcp_servers_file,
            variable=variable,
            redirect_uri=f"http://127.0.0.1:{settings.port}{CALLBACK}",
        )
    )
    keeping = McpKeeping(store, keeper)
    servers = Servers(SdkConnector(keeping), keeping, clock, on_accept=partial(bus.publish, _TOPIC))
    tools = McpTools(servers, found.rules)
    if not (found.servers or found.off):
        yield tools
        return

    async def hear() -> None:
        async with bus.subscribe(_TOPIC) as notices:
            async for _ in notices:
                await servers.look_again()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervise, "tools accepted elsewhere", hear)
        async with servers.opened(found.servers, found.off, supervise=supervise):
            yield tools
        tasks.cancel_scope.cancel()
