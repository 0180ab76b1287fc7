"""`/mcp-servers`: how each server of tools is; connect it anew, accept what it changed, sign in to it."""

from __future__ import annotations

from html import escape
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from bethink.web.deps import Body, Caller, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

router = APIRouter(prefix="/mcp-servers", tags=["mcp servers"])


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
    digest: str | None = Field(description="Names exactly what is to be accepted; `accept` takes it.")
    sign_in: str | None = Field(description="The page to sign in at.")
    attempts: int


class McpServersShown(BaseModel):
    """All configured servers."""

    servers: list[McpServerShown]


class AcceptBody(Body):
    """Which definitions are accepted."""

    digest: str | None = Field(None, description="Accept only if these are still what waits.")


@router.get("")
async def list_mcp_servers(app: Served, _: Caller) -> McpServersShown:
    """The configured servers, in the order of the configuration."""
    return McpServersShown(servers=[McpServerShown.of(status) for status in app.mcp_servers.statuses()])


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


def _page(text: str) -> str:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Bethink</title>'
    return f"{head}<p>{escape(text)}</p></html>"
