"""An MCP server of the revision 2026-07-28, over the SDK, that offers one more tool when it is asked to."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

mcp = MCPServer("modern", version="1.0")


async def extra() -> str:
    """More."""
    return "more"


@mcp.tool()
async def grow(ctx: Context) -> str:
    """Offer one more tool."""
    mcp.add_tool(extra)
    await ctx.notify_tools_changed()
    return "grown"


mcp.run()
