"""`bethink people`: people whose records you keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace

PORT = 8005
"""Where spec 001's programs look for the service's MCP server."""
COMMANDS = Commands()


@COMMANDS.add_alone(
    "serve",
    arg("--host HOST", "address to listen on (BETHINK_HOST)"),
    arg("--port PORT", f"port to listen on, 0 for a free one ({PORT})", type=int, default=PORT),
)
def _serve(options: Namespace) -> int:
    """Serve the users API and its MCP server on this machine."""
    from bethink.cli.session import settings_to_serve
    from bethink.web.endpoints import create_service
    from bethink.web.people import service
    from bethink.web.server import serve

    settings = settings_to_serve(options, port=options.port)
    serve(settings, make=lambda opened: create_service(opened, only=["people"], routers=[service]))
    return Exit.OK
