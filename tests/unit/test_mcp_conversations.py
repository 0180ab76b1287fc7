"""The memory service of spec 004 over MCP: its six calls, and that no other client loses a tool to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from bethink.conversations.service import ConversationFilter
from bethink.mcp_server.families import offers
from tests.house import open_house
from tests.library import plain_reading
from tests.mcp_clients import Person, text_of
from tests.unit.test_mcp_knowledge import asked, joined

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
FAMILY = "conversations"
TOOLS = {
    "store_conversation",
    "retrieve_context",
    "search_conversations",
    "export_knowledge_base",
    "clear_conversation",
    "is_available",
}
TURN = {
    "conversation_id": "chat-1",
    "user_message": "The violin is in the attic.",
    "assistant_message": "Good to know.",
    "metadata": {"user_id": "ann"},
}


@pytest.mark.requirement("C20", "R139")
async def test_the_calls_of_the_memory_service_answer_as_they_are_documented(tmp_path: Path) -> None:
    async with open_house() as house, joined(house, FAMILY, person=Person(agrees=True)) as client:
        assert {one.name for one in (await client.list_tools()).tools} == TOOLS
        assert await asked(client, "is_available") == {"available": True, "reason": ""}
        stored = await asked(client, "store_conversation", **TURN)
        context = await asked(client, "retrieve_context", query="Where is the violin?", limit=5)
        (entry,) = context["entries"]
        assert entry == {**TURN, "id": stored["id"], "timestamp": entry["timestamp"]}
        assert (len(context["relevance_scores"]), context["total_tokens"] > 5) == (1, True)
        filters = {"conversation_id": "chat-1", "user_id": "ann"}
        found = await asked(client, "search_conversations", query="violin", filters=filters)
        assert found == {"entries": [entry]}
        path = tmp_path / "memory.tar.gz"
        exported = await asked(client, "export_knowledge_base", path=str(path))
        assert exported == {"path": str(path), "conversations": 1, "entries": 1}
        assert await anyio.Path(path).is_file()
        cleared = await asked(client, "clear_conversation", conversation_id="chat-1")
        assert cleared == {"conversation_id": "chat-1", "status": "archived"}
        (held,) = (await house.app.conversations.list(house.me, ConversationFilter(place="archive"))).items
        assert (held.record.origin, held.record.caller_id) == ("tests", "chat-1")


async def test_other_families_keep_their_tools_of_the_same_names() -> None:
    async with open_house() as house:
        every = offers(house.app)
        assert "store_conversation" not in every
        assert "min_similarity" in every["retrieve_context"].tool.parameters["properties"]
        assert offers(house.app, ("memory", FAMILY))["search_conversations"] != every["search_conversations"]
        both = offers(house.app, (FAMILY, "knowledge"))
        assert "min_similarity" not in both["retrieve_context"].tool.parameters["properties"]
        assert {"search", "add_document", *TOOLS} <= both.keys()
        assert not TOOLS & {one.name for one in house.app.toolbox.all}


async def test_files_are_written_only_once_somebody_agreed_and_not_for_other_machines(tmp_path: Path) -> None:
    path = tmp_path / "memory.tar.gz"
    async with open_house() as house:
        async with joined(house, FAMILY) as client:
            await asked(client, "store_conversation", **TURN)
            waits = await client.call_tool("export_knowledge_base", {"path": str(path)})
            assert "All conversations, into the file" in text_of(waits)
        async with joined(house, FAMILY, way="http", person=Person(agrees=True)) as remote:
            refused = await remote.call_tool("export_knowledge_base", {"path": str(path)})
            assert "Only a program on this machine" in text_of(refused)
    assert not await anyio.Path(path).exists()


@pytest.mark.requirement("U9")
async def test_without_memory_a_client_is_told() -> None:
    async with open_house(memory_enabled=False) as house, joined(house, FAMILY) as client:
        answer = await asked(client, "is_available")
        assert answer["available"] is False
        assert "Memory is switched off" in answer["reason"]
        refused = await client.call_tool("store_conversation", TURN)
        assert refused.is_error
        assert "Memory is switched off" in text_of(refused)


@pytest.mark.requirement("U9")
@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("store_conversation", {}, "conversation_id"),
        ("store_conversation", TURN | {"user_message": " "}, "user_message"),
        ("store_conversation", TURN | {"metadata": {"a": 1}}, "metadata"),
        ("store_conversation", TURN | {"metadata": {"since": "x"}}, "metadata"),
        ("retrieve_context", {"query": ""}, "query"),
        ("retrieve_context", {"query": "x", "limit": 0}, "limit"),
        ("search_conversations", {"query": "x", "filters": {"until": "soon"}}, "until"),
        ("clear_conversation", {"conversation_id": "nowhere"}, "nowhere"),
    ],
)
async def test_a_call_that_is_not_valid_names_the_parameter(
    name: str, arguments: dict[str, Any], named: str
) -> None:
    async with open_house() as house, joined(house, FAMILY) as client:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        assert named in text_of(result)
