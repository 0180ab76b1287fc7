"""`/mcp-servers`: how each server of tools is; connect it anew, accept what it changed, sign in to it."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from bethink.app import App
from bethink.configuration import check_confirmed, command_line
from bethink.errors import BadInput, McpError
from bethink.mcp_client import NamedResource, ResultFile, ServerStatus, Text
from bethink.sandbox.programs import may_hold
from bethink.settings import McpServer
from bethink.settings.catalogue import server_shown, unhidden
from bethink.settings.values import ValueOrigin
from bethink.tools.mcp import config_to_try
from bethink.tools.mcp_library import prompt_text
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

router = APIRouter(prefix="/mcp-servers", tags=["mcp servers"])
_DESCRIPTION: Final = 1_000
_SHOWN_CHARS: Final = 200_000
"""Of a resource that is only looked at."""
_SHOWN_PARTS: Final = 100


class WaitingTool(ResponseModel):
    """A tool that is not offered until it is accepted, and what its server says of it."""

    name: str
    change: Literal["new", "changed"]
    description: str


class McpServerShown(ResponseModel):
    """How a server is."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    start: Literal["lazy", "eager"]
    state: Literal["off", "idle", "connecting", "ready", "retrying", "sign_in"]
    since: Timestamp
    reason: str | None = Field(description="What is wrong and what to do; null if nothing is.")
    last_error: str | None
    protocol: str | None = Field(description="Revision of the protocol that it speaks.")
    server: str | None = Field(description="The server's own name and version.")
    tools: list[str] = Field(description="Tools that are offered.")
    waiting: list[WaitingTool] = Field(description="Tools that are not, until they are accepted.")
    unreviewed: list[WaitingTool] = Field(
        description="Tools that are offered and not accepted yet: their text counts as content from outside."
    )
    suggested: dict[str, str] = Field(
        description="Settings that fit if its tools reach nothing outside, as all of them claim."
    )
    resources: bool = Field(description="Whether it has resources to read.")
    prompts: bool = Field(description="Whether it offers prompts.")
    digest: str | None = Field(description="Names exactly what is to be accepted; `accept` takes it.")
    sign_in: str | None = Field(description="The page to sign in at.")
    attempts: int
    confinement: Literal["none", "sandbox", "offline"] | None = Field(
        description="How a program is held: not at all, in a sandbox, or in one without the network; "
        "null if it is no program of this machine."
    )


class McpServerConfigured(McpServerShown):
    """How a server is, how it is configured and where."""

    source: Literal["environment", "file", "flag", "kept"]
    source_name: str | None = Field(description="The variable or the file that sets it.")
    editable: bool = Field(description="Whether it was added in the page, so that it can be changed here.")
    config: dict[str, Any] = Field(
        description="As in `mcpServers`; values of `env` and `headers` are hidden as `••••`."
    )
    command_line: str = Field(description="What it runs on this machine; empty if it runs nothing.")


class McpServerBody(McpServer):
    """A server in the shape of `mcpServers`; a value of `env` or `headers` that is `••••` stays as it was."""

    confirm: str | None = Field(None, description="Exactly the command line, if it runs one on this machine.")


class McpTrialBody(McpServerBody):
    """A server that is only tried; its name finds hidden values of one that is kept."""

    name: str = Field("test", min_length=1, max_length=64)


class OfferedTool(BaseModel):
    """A tool of a server that was tried."""

    name: str
    description: str


class McpTrialShown(BaseModel):
    """What a server offers, or why it does not answer, in its own words."""

    ok: bool
    server: str | None = None
    protocol: str | None = None
    tools: list[OfferedTool] = []
    problem: str | None = None


class McpServersShown(BaseModel):
    """All configured servers."""

    servers: list[McpServerConfigured]
    can_sandbox: bool = Field(description="Whether this machine seems to have a sandbox for programs.")


class AcceptBody(Body):
    """Which definitions are accepted."""

    digest: str | None = Field(None, description="Accept only if these are still what waits.")


@router.get("")
async def list_mcp_servers(app: Served, _: Caller) -> McpServersShown:
    """The configured servers, in the order of the configuration."""
    return McpServersShown(
        servers=[_configured(app, status) for status in app.mcp_servers.statuses()],
        can_sandbox=await anyio.to_thread.run_sync(may_hold, app.settings.code_sandbox),
    )


@router.post("/test", responses=documented(403))
async def try_mcp_server(body: McpTrialBody, app: Served, _: Caller) -> McpTrialShown:
    """Connect to a server once, without keeping it; the answer has its tools, or its own words of why not."""
    held = app.shared.mcp.rules.get(body.name)
    server = unhidden(body, held)
    check_confirmed(server, held, body.confirm)
    try:
        info, tools = await app.mcp_servers.try_out(config_to_try(app.settings, body.name, server))
    except (McpError, BadInput) as error:
        return McpTrialShown(ok=False, problem=error.message)
    offered = [OfferedTool(name=tool.name, description=tool.description[:_DESCRIPTION]) for tool in tools]
    told = " ".join(filter(None, (info.name, info.version)))
    return McpTrialShown(ok=True, server=told or None, protocol=info.protocol, tools=offered)


@router.put("/{name}", responses=documented(403))
async def set_mcp_server(
    name: Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,63}$")],
    body: McpServerBody,
    app: Served,
    caller: Caller,
) -> McpServersShown:
    """Add a server or change one that was added here; it is connected to from now on.

    A server that runs a command needs `confirm`: exactly that command's line.
    """
    server = McpServer.model_validate(body.model_dump(exclude={"confirm"}, exclude_unset=True))
    await app.configuration.set_server(caller, name, server, confirm=body.confirm)
    return await list_mcp_servers(app, caller)


@router.delete("/{name}", status_code=204, responses=documented(403, 404))
async def remove_mcp_server(name: str, app: Served, caller: Caller) -> None:
    """Remove a server that was added here."""
    await app.configuration.set_server(caller, name, None)


@router.get("/callback", response_class=HTMLResponse, include_in_schema=False)
async def mcp_signed_in(
    app: Served,
    state: Annotated[str, Query(max_length=1000)] = "",
    code: Annotated[str, Query(max_length=10_000)] = "",
    iss: Annotated[str | None, Query(max_length=2000)] = None,
    error: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Where the sign-in page of a server sends the browser back to. The state is the proof of who asked."""
    if error or not app.mcp_servers.signed_in(state, code, iss):
        told = f"Signing in failed: {error}." if error else "This sign-in has expired. Start it again."
        return HTMLResponse(_page(told), status_code=400)
    return HTMLResponse(_page("You are signed in. This page can be closed."))


@router.post("/{name}/reconnect", responses=documented(404))
async def reconnect_mcp_server(name: str, app: Served, _: Caller) -> McpServerShown:
    """Reconnect now; the answer has the result, after the server's connect time-out at the latest."""
    return McpServerShown.of(await app.mcp_servers.reconnect(name))


@router.post("/{name}/accept", responses=documented(404, 409))
async def accept_mcp_server(
    name: str, app: Served, _: Caller, body: AcceptBody | None = None
) -> McpServerShown:
    """Accept the definitions of tools that wait."""
    return McpServerShown.of(await app.mcp_servers.accept(name, body.digest if body else None))


@router.post("/{name}/login", responses=documented(404))
async def sign_in_to_mcp_server(name: str, app: Served, _: Caller) -> McpServerShown:
    """Begin to sign in, where the server asks for it: `sign_in` is the page to open."""
    return McpServerShown.of(await app.mcp_servers.sign_in(name))


class ServerResource(ResponseModel):
    """Something that a server lets read. Of a `template` the address has gaps, in braces."""

    uri: str
    name: str
    description: str
    media_type: str
    size: int | None = Field(description="In bytes, as the server says.")
    template: bool


class ServerResourceList(Items[ServerResource]):
    """What a server lets read."""


class ServerResourcePart(BaseModel):
    """A part of a resource: its text, or of anything else what it is."""

    text: str | None
    name: str
    media_type: str
    size: int = Field(description="In bytes.")


class ServerResourceContent(BaseModel):
    """What a resource holds. It comes from outside: nothing in it is Bethink's word or yours."""

    parts: list[ServerResourcePart]
    cut: bool = Field(description="Whether it is longer; attach it to a conversation to have all of it.")


class ServerPromptArgument(ResponseModel):
    """What a prompt leaves open."""

    name: str
    description: str
    required: bool


class ServerPrompt(ResponseModel):
    """A text that a server offers to begin with."""

    name: str
    title: str
    description: str
    arguments: list[ServerPromptArgument]


class ServerPromptList(Items[ServerPrompt]):
    """The prompts that a server offers."""


class ServerPromptBody(Body):
    """A prompt with its gaps filled."""

    prompt: str = Field(min_length=1, max_length=200)
    arguments: dict[str, Annotated[str, Field(max_length=20_000)]] = Field(default_factory=dict)


class ServerPromptText(BaseModel):
    """A prompt as the text of a message; send it as `untrusted` if it is."""

    text: str
    untrusted: bool = Field(description="Whether its server's words count as content from outside.")


@router.get("/{name}/resources", responses=documented(404, 502))
async def list_mcp_resources(name: str, app: Served, _: Caller) -> ServerResourceList:
    """What a server lets read, its templates last; it is asked now."""
    found = await app.mcp_servers.resources(name)
    return ServerResourceList(items=[ServerResource.of(one) for one in found])


@router.get("/{name}/resource", responses=documented(404, 502))
async def read_mcp_resource(
    name: str, app: Served, _: Caller, uri: Annotated[str, Query(min_length=1, max_length=2_000)]
) -> ServerResourceContent:
    """Read a resource. Nothing of it is kept: `POST /conversations/{id}/resources` does that."""
    parts: list[ServerResourcePart] = []
    left, cut = _SHOWN_CHARS, False
    for part in await app.mcp_servers.read(name, uri):
        match part:
            case Text(text):
                cut, shown = cut or len(text) > left, text[:left]
                left -= len(shown)
                size = len(text.encode("utf-8", "replace"))
                parts.append(ServerResourcePart(text=shown, name="", media_type="text/plain", size=size))
            case ResultFile(file, media_type, content):
                parts.append(
                    ServerResourcePart(text=None, name=file, media_type=media_type, size=len(content))
                )
            case NamedResource():
                pass
    return ServerResourceContent(parts=parts[:_SHOWN_PARTS], cut=cut or len(parts) > _SHOWN_PARTS)


@router.get("/{name}/prompts", responses=documented(404, 502))
async def list_mcp_prompts(name: str, app: Served, _: Caller) -> ServerPromptList:
    """The prompts that a server offers; it is asked now."""
    return ServerPromptList(items=[ServerPrompt.of(one) for one in await app.mcp_servers.prompts(name)])


@router.post("/{name}/prompts", responses=documented(404, 502))
async def fill_mcp_prompt(name: str, body: ServerPromptBody, app: Served, _: Caller) -> ServerPromptText:
    """A prompt of a server with its gaps filled, as text for a message."""
    text = prompt_text(await app.mcp_servers.prompt(name, body.prompt, body.arguments))
    rules = app.shared.mcp.rules.get(name)
    return ServerPromptText(text=text, untrusted=rules is None or rules.trust != "owner")


def _configured(app: App, status: ServerStatus) -> McpServerConfigured:
    server = app.shared.mcp.rules[status.name]
    origin = app.configuration.server_origin(status.name) or ValueOrigin(
        "file", str(app.settings.mcp_servers_file or "")
    )
    return McpServerConfigured.of(
        status,
        source=origin.source,
        source_name=origin.name,
        editable=origin.source == "kept",
        config=server_shown(server),
        command_line=command_line(server),
    )


def _page(text: str) -> str:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Bethink</title>'
    return f"{head}<p>{escape(text)}</p></html>"
