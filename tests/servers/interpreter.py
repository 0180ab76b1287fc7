"""An MCP server that runs Python, as others have them: `python interpreter.py [sessions]`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import traceback
from typing import Any

from mcp.server import MCPServer

mcp = MCPServer("interpreter", version="1.0")
states: dict[str, dict[str, Any]] = {}


def ran(code: str, session: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(code, states.setdefault(session, {"__name__": "__main__", "time": time}))  # noqa: S102 - its purpose
        except BaseException:  # noqa: BLE001 - told
            traceback.print_exc(file=said)
    return said.getvalue()


if "sessions" in sys.argv:

    @mcp.tool(structured_output=False)
    def run(code: str, session_id: str = "") -> str:
        """Run Python in a session, a new one where none is named."""
        session = session_id or f"session-{len(states) + 1}"
        return json.dumps({"output": [ran(code, session)], "session_info": {"session_id": session}})

else:

    @mcp.tool(structured_output=False)
    def execute_code(code: str) -> str:
        """Run Python in one state for all."""
        return ran(code, "")


mcp.run()
