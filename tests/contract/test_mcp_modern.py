"""A server without a handshake (revision 2026-07-28), and the commands that look after servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bethink.cli import main
from bethink.mcp_client import ServerConfig
from tests.tool_servers import called, hostile, open_servers, until, waiting

pytestmark = pytest.mark.timeout(60)

_MODERN = Path(__file__).parent.parent / "servers" / "modern.py"


@pytest.mark.anyio
async def test_a_change_of_a_modern_server_is_heard_of() -> None:
    config = ServerConfig("modern", "stdio", command=(sys.executable, str(_MODERN)))
    async with open_servers(config) as servers:
        assert (await called(servers, "modern", "grow")).text == "grown"
        assert servers.status("modern").protocol == "2026-07-28"
        await until(lambda: waiting(servers, "modern"), 20)
        assert waiting(servers, "modern") == [("extra", "new")]


def test_the_command_line_lists_servers_and_fails_where_one_is_not_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = hostile().command
    servers = {"good": {"command": program, "args": arguments}, "bad": {"command": "/no/such/program"}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.setenv("BETHINK_MCP_SERVERS_FILE", str(tmp_path / "servers.json"))
    assert main(["mcp-servers", "list", "--json", "--data", str(tmp_path / "data")]) == 1
    found = {one["name"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["good"]["state"] == "ready"
    assert "cannot be started" in found["bad"]["reason"]
    assert main(["mcp-servers", "reconnect", "good", "--data", str(tmp_path / "data")]) == 0
    assert main(["mcp-servers", "accept", "none", "--data", str(tmp_path / "data")]) == 2
