"""`bethink mcp-servers`: the configured servers of tools, looked at and looked after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import add_json, add_yes

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands


def register(commands: Commands) -> None:
    """Add the commands."""
    family = commands.add("mcp-servers", None, "look after the MCP servers whose tools are used")
    under = commands.under(family)
    listing = under.add("list", list_servers, "connect to each server and say how it is")
    reconnect = under.add("reconnect", reconnect_server, "connect to a server anew")
    accept = under.add("accept", accept_tools, "show a server's new and changed tools, and accept them")
    login = under.add("login", sign_in, "sign in to a server that asks for it")
    for parser in (reconnect, accept, login):
        parser.add_argument("name", metavar="SERVER", help="its name in the configuration")
    add_yes(accept)
    for parser in (listing, reconnect, accept, login):
        add_json(parser, "server")


def list_servers(options: argparse.Namespace) -> int:
    """How each server is."""
    from bethink.cli import mcp_tending

    return mcp_tending.run(options, mcp_tending.show_all)


def reconnect_server(options: argparse.Namespace) -> int:
    """Connect to one."""
    from bethink.cli import mcp_tending

    return mcp_tending.run(options, mcp_tending.reconnect)


def accept_tools(options: argparse.Namespace) -> int:
    """Accept what one of them changed."""
    from bethink.cli import mcp_tending

    return mcp_tending.run(options, mcp_tending.accept)


def sign_in(options: argparse.Namespace) -> int:
    """Sign in to one."""
    from bethink.cli import mcp_tending

    return mcp_tending.run(options, mcp_tending.sign_in)
