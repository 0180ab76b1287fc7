"""An MCP server of the revision 2026-07-28, over the SDK, with resources and prompts."""

from __future__ import annotations

from mcp.server import MCPServer

mcp = MCPServer("library", version="1.0")


@mcp.resource("memo://today", mime_type="text/plain")
def today() -> str:
    """What is on today."""
    return "Nothing"


@mcp.resource("memo://{day}", mime_type="text/plain")
def day(day: str) -> str:
    """What is on a day."""
    return f"On {day}"


@mcp.prompt()
def plan(day: str) -> str:
    """Plan a day."""
    return f"Plan {day}."


mcp.run()
