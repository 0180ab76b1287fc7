"""`bethink mcp-servers`: list and manage the configured MCP servers.

It connects from this process, beside a `serve` that may run: what is accepted or signed in here is
kept, and the `serve` hears of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from bethink.cli.commands import YES, Commands, arg
from bethink.cli.exits import Exit
from bethink.cli.terminal import one_line, printable
from bethink.errors import BadInput, McpUnreachable
from bethink.mcp_client import NamedResource, ResultFile, ServerStatus, Text

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
COMMANDS = Commands()
_SERVER = arg("name SERVER", "its name in the configuration")
_JSON = "each server"
_HELD = {"none": "no sandbox", "sandbox": "in a sandbox", "offline": "in a sandbox without the network"}
_ABOUT = 1_500
"""A reason ends in what the server wrote last, and that in what was wrong."""


@COMMANDS.add("list", json=_JSON)
def _list(session: Session, _: Namespace) -> Exit:
    """Connect to each server and say how it is."""
    import anyio

    servers = session.app.mcp_servers

    async def connect() -> list[ServerStatus]:
        async with anyio.create_task_group() as tasks:
            for status in servers.statuses():
                if status.state != "off":
                    tasks.start_soon(servers.connected, status.name)
        return servers.statuses()

    statuses = session.call(connect)
    for status in statuses:
        _show(session, status)
    if not statuses:
        session.screen.note("No MCP server is configured: add one under [mcpServers.NAME] in bethink.toml.")
    return Exit.OK if all(status.state in {"ready", "off"} for status in statuses) else Exit.FAILED


@COMMANDS.add("reconnect", _SERVER, json=_JSON)
def _reconnect(session: Session, options: Namespace) -> Exit:
    """Connect to a server anew."""
    return _show(session, session.call(session.app.mcp_servers.reconnect, options.name))


@COMMANDS.add("accept", _SERVER, YES, json=_JSON)
def _accept(session: Session, options: Namespace) -> Exit:
    """Show a server's new and changed tools, and accept them."""
    servers, screen = session.app.mcp_servers, session.screen
    session.call(servers.connected, options.name)
    status = servers.status(options.name)
    if status.state != "ready":
        raise McpUnreachable(f"The server {options.name} cannot be reached: {status.reason}")
    to_review = (*status.waiting, *status.unreviewed)
    for tool in to_review:
        screen.note(f"{tool.change}: {tool.name}")
        screen.note(f"    {one_line(tool.description, 1000)}")
    question = "Accept them? Their text is read by the model. [y]es, [n]o: "
    refusal = "These tools need a review: --yes accepts them without asking."
    if to_review and not screen.confirmed(question, yes=options.yes, refusal=refusal):
        return Exit.FAILED
    _show(session, session.call(servers.accept, options.name, status.digest))
    return Exit.OK


@COMMANDS.add("login", _SERVER, json=_JSON)
def _sign_in(session: Session, options: Namespace) -> Exit:
    """Sign in to a server that asks for it."""
    servers, screen = session.app.mcp_servers, session.screen
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
    return _show(session, status)


@COMMANDS.add("resources", _SERVER, json="each resource")
def _resources(session: Session, options: Namespace) -> None:
    """List what a server lets read."""
    found = session.call(session.app.mcp_servers.resources, options.name)
    for one in found:
        about = ", ".join(filter(None, (one.name, one.media_type, one.description)))
        gaps = " (fill the gaps in braces)" if one.template else ""
        session.screen.result(one, f"{one_line(one.uri, 200)}{gaps}  {one_line(about, 200)}")
    if not found:
        session.screen.note(f"{options.name} has no resources.")


@COMMANDS.add("read", _SERVER, arg("uri URI", "the resource's address"), json="each part")
def _read(session: Session, options: Namespace) -> None:
    """Print a resource of a server; of what is no text, what it is."""
    for part in session.call(session.app.mcp_servers.read, options.name, options.uri):
        match part:
            case Text(text):
                session.screen.result(part, printable(text))
            case ResultFile(name, media_type, content):
                about = {"name": name, "media_type": media_type, "size": len(content)}
                session.screen.result(about, f"[{one_line(name)} {media_type}, {len(content):,} bytes]")
            case NamedResource(uri, name):
                session.screen.result(part, f"[{one_line(name)}: {one_line(uri)}]")


@COMMANDS.add("prompts", _SERVER, json="each prompt")
def _prompts(session: Session, options: Namespace) -> None:
    """List the prompts that a server offers."""
    found = session.call(session.app.mcp_servers.prompts, options.name)
    for one in found:
        gaps = " ".join(f"{each.name}=" if each.required else f"[{each.name}=]" for each in one.arguments)
        about = one_line(one.description or one.title, 200)
        session.screen.result(one, f"{one_line(one.name, 80)} {one_line(gaps, 200)}  {about}")
    if not found:
        session.screen.note(f"{options.name} has no prompts.")


@COMMANDS.add(
    "prompt",
    _SERVER,
    arg("prompt PROMPT", "the prompt's name"),
    arg("arguments NAME=VALUE*", "what fills its gaps"),
    json="each text",
)
def _prompt(session: Session, options: Namespace) -> None:
    """Print a prompt of a server with its gaps filled, for example to pipe it into `bethink chat`."""
    from bethink.tools.mcp_library import prompt_text

    given: dict[str, str] = {}
    for pair in options.arguments:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"Give each argument as NAME=VALUE: {one_line(pair)} has no =.")
        given[name] = value
    text = prompt_text(session.call(session.app.mcp_servers.prompt, options.name, options.prompt, given))
    session.screen.result({"text": text}, printable(text))


def _show(session: Session, status: ServerStatus) -> Exit:
    """Print how a server is; whether it is ready."""
    rules = session.app.shared.mcp.rules.get(status.name)
    told = f"{len(status.tools)} tools" if status.tools else ""
    held = _HELD[status.confinement] if status.confinement else ""
    about = ", ".join(filter(None, (told, status.server, status.protocol, held, status.reason)))
    lines = [f"{status.state:<11} {one_line(status.name, 40):<16} {one_line(about, _ABOUT)}"]
    accept = f"bethink mcp-servers accept {status.name}"
    if status.waiting:
        names = one_line(", ".join(tool.name for tool in status.waiting), 200)
        lines.append(f"            not offered: {names}: {accept}")
    elif status.unreviewed:
        lines.append(f"            not reviewed yet: {accept}")
    elif status.suggested and rules is not None and rules.trust != "owner":
        keys = ", ".join(f'{key} = "{value}"' for key, value in status.suggested.items())
        lines.append(f"            says that it reaches nothing outside. If you believe that, set {keys}")
    session.screen.result(status, *lines)
    return Exit.OK if status.state == "ready" else Exit.FAILED
