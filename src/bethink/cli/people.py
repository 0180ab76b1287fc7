"""`bethink people`: the users management service on a port of its own, until it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from bethink.cli.commands import Commands

PORT = 8005
"""Where spec 001's programs look for the service's MCP server."""


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = commands.add("people", None, "people whose records you keep")
    serve = commands.under(parser).add("serve", run, "serve the users API and its MCP server on this machine")
    serve.add_argument("--host", help="address to listen on (BETHINK_HOST)")
    serve.add_argument("--port", type=int, default=PORT, help=f"port to listen on, 0 for a free one ({PORT})")


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    from bethink.cli.exits import Exit
    from bethink.settings import load_settings
    from bethink.telemetry import configure
    from bethink.web.mcp import create_service
    from bethink.web.people_service import router
    from bethink.web.server import serve

    settings = load_settings(
        data_dir=options.data, log_level=options.log_level, host=options.host, port=options.port
    )
    configure(settings.log_level)
    serve(settings, make=lambda opened: create_service(opened, only=["people"], routers=[router]))
    return Exit.OK
