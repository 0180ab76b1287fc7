"""What spec 004 documents, run as it is written there: its commands, and its calls by a real MCP client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp_clients import Person, program, text_of, told
from tests.server_process import environment

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]
COMMANDS = Path(sys.executable).parent
CONFIG = """\
path: ./kb
writable: true
embeddings:
  path: sentence-transformers/all-MiniLM-L6-v2
textractor: true
"""


async def run(data: Path, command: str, *words: str) -> str:
    """What a command of the documents prints."""
    process = await asyncio.create_subprocess_exec(
        *(str(COMMANDS / command), *words),
        env=environment(data, None),
        cwd=data.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def asked(client: Client, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


@pytest.mark.requirement("C20", "R139", "R141", "R157", "U13")
async def test_the_documented_commands_and_calls_work_as_they_are_written(tmp_path: Path) -> None:
    data, docs = tmp_path / "data", tmp_path / "docs"
    docs.mkdir()
    (docs / "zebra.md").write_text("# Zebra\n\nA zebra has black stripes.\n")
    (tmp_path / "config.yml").write_text(CONFIG)
    await run(data, "kb-build", "--input", "./docs", "--config", "config.yml", "--export", "kb.tar.gz")
    assert "black stripes" in await run(data, "kb-search", "kb.tar.gz", "zebra stripes")
    words = ("--only", "conversations,knowledge")
    server = program(
        data, *words, COGNICAL_KB_PATH=str(data), COGNICAL_MCP_ENABLED="true", COGNICAL_MCP_MAX_CONTEXT="1"
    )
    archive = tmp_path / "memory.tar.gz"
    async with Client(server, **told(Person(agrees=True), "cognical")) as client:
        (hit,) = (await asked(client, "search", query="zebra stripes", limit=1))["results"]
        assert hit["name"] == "zebra.md"
        added = await asked(client, "add_document", text="A horse has hooves.", metadata={"source": "stable"})
        (hit,) = (await asked(client, "search", query="horse hooves", limit=1))["results"]
        assert hit["document"] == added["id"]
        assert (await asked(client, "is_available"))["available"] is True
        for number in range(2):
            turn = {
                "conversation_id": "c1",
                "user_message": "My violin is old.",
                "assistant_message": f"Oh {number}.",
            }
            await asked(client, "store_conversation", **turn, metadata={"session_id": f"s{number}"})
        (entry,) = (await asked(client, "retrieve_context", query="How is my violin?"))["entries"]
        assert (entry["conversation_id"], entry["user_message"]) == ("c1", "My violin is old.")
        filters = {"conversation_id": "c1", "session_id": "s0"}
        (entry,) = (await asked(client, "search_conversations", query="violin", filters=filters))["entries"]
        assert entry["assistant_message"] == "Oh 0."
        await asked(client, "clear_conversation", conversation_id="c1")
        await asked(client, "export_knowledge_base", path=str(archive))
    assert "My violin is old." in await run(data, "kb-search", str(archive), "old violin")
