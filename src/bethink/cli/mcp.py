"""`bethink mcp`: memory and tools for MCP clients, over standard input and output or on a port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.cli.commands import Commands, arg
from bethink.cli.exits import Exit

if TYPE_CHECKING:
    from argparse import Namespace

_EPILOG = """\
families: memory, vault, knowledge, people, tasks, calendar, schedules, artifacts, web, python
what is switched off is not offered
`--only conversations` offers the memory service for turns of other programs, and nothing else has it
`bethink serve` offers the same at /mcp and can run at the same time on the same data."""
COMMANDS = Commands(_EPILOG)


@COMMANDS.add_alone(
    "",
    arg("--only FAMILIES", "offer only these, separated by commas"),
    arg("--kb NAME", "offer the tools of this knowledge base, and what --only names"),
    arg("--http PORT", "serve /mcp on this port instead, 0 for a free one", type=int),
    arg("--host HOST", "with --http: address to listen on (BETHINK_HOST)"),
)
def _serve(options: Namespace) -> int:
    """Serve until the input ends, SIGINT or SIGTERM."""
    from bethink.cli.session import settings_to_serve
    from bethink.mcp_server.families import families_of

    only = families_of(options.only)
    if options.kb is not None:
        only = (*(name for name in only if name != "knowledge"), f"knowledge:{options.kb}")
    settings = settings_to_serve(options, port=options.http, user=options.user)
    if options.http is None:
        from bethink.mcp_server.stdio import serve_stdio

        serve_stdio(settings, only)
        return Exit.OK
    from bethink.web.endpoints import create_service
    from bethink.web.server import serve

    serve(settings, make=lambda opened: create_service(opened, only=only))
    return Exit.OK
