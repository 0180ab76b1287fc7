"""The configured servers, from the settings and from a JSON file as other programs have it. `app` reads them.

Only the owner of the machine writes either: who may name a program to start, may do everything.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from bethink.errors import BadInput
from bethink.mcp_client import OAuth, ServerConfig
from bethink.settings_shapes import McpOAuth, McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bethink.mcp_client import Transport

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
