"""Bethink as an MCP server: its memory and tools for Claude Desktop, editors and any other MCP client.

`bethink mcp` serves it over stdio, `web` at `/mcp`. `families` says what is
offered, `server` speaks the protocol in both its eras and makes the calls. The SDK takes a second to import:
`server`, `stdio` and `http` are imported only where somebody is to be served.
"""

from __future__ import annotations

from bethink.mcp_server.families import FAMILIES, Offer, offers

__all__ = ["FAMILIES", "Offer", "offers"]
