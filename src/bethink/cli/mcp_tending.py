"""What `bethink mcp-servers` does. It connects from this process, beside a `serve` that may run.

What is accepted or signed in here is kept, and a running `serve` hears of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio
import msgspec

from bethink.cli.exits import Exit
from bethink.cli.session import opened
from bethink.cli.terminal import Screen, one_line
from bethink.errors import BadInput, McpUnreachable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from bethink.cli.session import Session
    from bethink.mcp_client import ServerStatus

_COLUMN = 16


def run(options: argparse.Namespace, command: Callable[[Session, Screen, argparse.Namespace], int]) -> int:
    """A command on an open session."""
    with opened(options) as session:
        return command(session, Screen.of_process(is_data=options.json), options)


def show_all(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Connect to all at once, and say how each is."""
    servers = session.app.mcp_servers

    async def connect() -> list[ServerStatus]:
        async with anyio.create_task_group() as tasks:
            for status in servers.statuses():
                if status.state != "off":
                    tasks.start_soon(servers.connected, status.name)
        return servers.statuses()

    statuses = session.call(connect)
    for status in statuses:
        _tell(screen, status, is_json=options.json)
    if not statuses:
        screen.note("No MCP server is configured: add one under [mcpServers.NAME] in bethink.toml.")
    is_well = all(status.state in {"ready", "off"} for status in statuses)
    return Exit.OK if is_well else Exit.FAILED


def reconnect(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Connect to one, and say how it is."""
    status = session.call(session.app.mcp_servers.reconnect, options.name)
    _tell(screen, status, is_json=options.json)
    return Exit.OK if status.state == "ready" else Exit.FAILED


def accept(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Show what waits, ask, and accept exactly that."""
    servers = session.app.mcp_servers
    session.call(servers.connected, options.name)
    status = servers.status(options.name)
    if status.state != "ready":
        raise McpUnreachable(f"The server {options.name} cannot be reached: {status.reason}")
    to_review = (*status.waiting, *status.unreviewed)
    for tool in to_review:
        screen.note(f"{tool.change}: {tool.name}")
        screen.note(f"    {one_line(tool.description, 1000)}")
    if to_review and not options.yes:
        if not screen.can_ask:
            raise BadInput("Somebody must look at these tools: --yes accepts them without asking.")
        answer = screen.ask("Accept them? Their text is read by the model. [y]es, [n]o: ")
        if (answer or "n").strip().lower() not in {"y", "yes"}:
            return Exit.FAILED
    _tell(screen, session.call(servers.accept, options.name, status.digest), is_json=options.json)
    return Exit.OK


def sign_in(session: Session, screen: Screen, options: argparse.Namespace) -> int:
    """Show the page; take what it gave back."""
    servers = session.app.mcp_servers
    status = session.call(servers.sign_in, options.name)
    if status.sign_in:
        screen.note("Open this page and sign in:")
        screen.line(status.sign_in)
        screen.note("The browser then goes to an address that begins with the one that you configured, or")
        screen.note("http://127.0.0.1:8484/mcp-servers/callback. It may say that it cannot be reached.")
        found = parse_qs(urlsplit((screen.ask("Paste that address: ") or "").strip()).query)
        given = {name: values[0] for name, values in found.items()}
        if not servers.signed_in(given.get("state", ""), given.get("code", ""), given.get("iss")):
            raise BadInput("That is not the address that the sign-in page gave.")
        session.call(servers.connected, options.name)
        status = servers.status(options.name)
    _tell(screen, status, is_json=options.json)
    return Exit.OK if status.state == "ready" else Exit.FAILED


def _tell(screen: Screen, status: ServerStatus, *, is_json: bool) -> None:
    if is_json:
        screen.line(msgspec.json.encode(status).decode())
        return
    told = f"{len(status.tools)} tools" if status.tools else ""
    about = ", ".join(filter(None, (told, status.server, status.protocol, status.reason)))
    screen.line(f"{status.state:<11} {one_line(status.name, 40):<{_COLUMN}} {one_line(about, 300)}")
    if status.waiting:
        names = ", ".join(tool.name for tool in status.waiting)
        screen.line(
            f"            not offered: {one_line(names, 200)}: bethink mcp-servers accept {status.name}"
        )
    elif status.unreviewed:
        screen.line(f"            not looked at yet: bethink mcp-servers accept {status.name}")
