"""An MCP server of the revision 2026-07-28, over the SDK, that asks before it answers."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

mcp = MCPServer("modern", version="1.0")


class City(BaseModel):
    city: str


async def which() -> Elicit[City]:
    return Elicit("Which city?", City)


@mcp.tool()
async def book(place: Annotated[City, Resolve(which)]) -> str:
    """Book."""
    return f"booked {place.city}"


mcp.run()
