"""Knowledge bases over MCP: the calls of kb-mcp-server and of spec 004, as they are documented there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from bethink.mcp_server.families import offers
from bethink.mcp_server.server import McpDoor
from bethink.messages import tokens_in
from tests.house import House, open_house, ports_of
from tests.library import plain_reading
from tests.mcp_clients import Person, text_of, token_in, told

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]

ZEBRA = {"id": "zebra", "text": "# Zebra\n\nA zebra has black stripes. They confuse flies. Horses have none."}
ACME = {"id": "acme", "text": "The Acme contract ends on the 4th of May."}
TOOLS = {
    "semantic_search",
    "search",
    "retrieve_context",
    "answer_question",
    "add_documents",
    "add_document",
    "list_documents",
    "delete_documents",
    "export_knowledge_base",
}


@asynccontextmanager
async def joined(
    house: House, family: str = "knowledge", *, way: str = "stdio", person: Person | None = None
) -> AsyncGenerator[Client]:
    async with Client(McpDoor(house.app, way, (family,)).server(), **told(person, "tests")) as client:
        yield client


async def asked(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


@pytest.mark.requirement("U13", "R141")
async def test_the_calls_of_kb_mcp_server_answer_as_they_are_documented() -> None:
    async with open_house() as house, joined(house) as client:
        assert {one.name for one in (await client.list_tools()).tools} == TOOLS
        added = await asked(client, "add_documents", documents=[ZEBRA, ACME])
        assert (added["status"], added["count"], len(added["ids"])) == ("success", 2, 2)
        found = await asked(client, "semantic_search", query="black stripes", limit=5, graph=True)
        assert found["results"][0]["name"] == "zebra"
        listed = await asked(client, "list_documents", limit=100)
        assert (listed["count"], {one["name"] for one in listed["documents"]}) == (2, {"zebra", "acme"})
        assert {one["id"] for one in listed["documents"]} == set(added["ids"])
        answered = await asked(client, "answer_question", question="What stripes has a zebra?", limit=3)
        assert answered["answer"] == "A zebra has black stripes. They confuse flies."
        context = await asked(client, "retrieve_context", query="Acme contract", limit=5, min_similarity=0.3)
        assert context["entries"][0]["name"] == "acme"
        assert context["relevance_scores"] == [one["score"] for one in context["entries"]]
        assert min(context["relevance_scores"]) >= 0.3
        assert context["total_tokens"] == sum(tokens_in(one["text"]) for one in context["entries"])
        nothing = await asked(client, "answer_question", question="glacier")
        assert nothing == {"answer": None, "passages": []}


@pytest.mark.requirement("C20")
async def test_the_calls_of_spec_004_find_add_replace_delete_and_export(tmp_path: Path) -> None:
    async with open_house() as house, joined(house, person=Person(agrees=True)) as client:
        metadata = {"name": "zebra.md", "author": "Ann"}
        first = await asked(client, "add_document", text=ZEBRA["text"], metadata=metadata)
        again = await asked(client, "add_document", text="A zebra has white stripes.", metadata=metadata)
        assert first == again
        state = await house.app.library.state(house.me, first["id"])
        assert (state.document.name, state.document.tags) == ("zebra.md", ("author: Ann",))
        (hit,) = (await asked(client, "search", query="zebra stripes", limit=3))["results"]
        assert hit["text"] == "A zebra has white stripes."
        base = await house.app.library.create_collection(house.me, "Animals")
        async with joined(house, "knowledge:Animals", person=Person(agrees=True)) as bound:
            await asked(bound, "add_document", text="A horse has hooves.")
            path = tmp_path / "animals.tar.gz"
            exported = await asked(bound, "export_knowledge_base", path=str(path))
            assert (exported["documents"], await anyio.Path(path).exists()) == (1, True)
        assert await asked(client, "delete_documents", ids=["zebra.md"]) == {"status": "success", "count": 1}
        listed = await house.app.library.list(house.me)
        assert [one.document.collection for one in listed.items] == [base.id]


async def test_a_client_that_is_bound_to_a_base_has_nothing_else() -> None:
    async with open_house() as house, joined(house) as client:
        await house.app.library.create_collection(house.me, "Animals")
        await asked(client, "add_documents", documents=[ACME])
        async with joined(house, "knowledge:Animals") as bound:
            added = await asked(bound, "add_documents", documents=[ZEBRA])
            assert (await asked(bound, "search", query="Acme contract"))["results"] == []
            listed = await asked(bound, "list_documents")
            assert [one["id"] for one in listed["documents"]] == added["ids"]
            missing = await bound.call_tool("delete_documents", {"ids": ["acme"]})
            assert "There is no document 'acme' here" in text_of(missing)
        async with joined(house, "knowledge:Nowhere") as lost:
            assert "not found" in text_of(await lost.call_tool("search", {"query": "x"}))


async def test_what_cannot_be_undone_is_shown_first_and_files_are_not_written_for_other_machines(
    tmp_path: Path,
) -> None:
    async with open_house() as house, joined(house) as client, joined(house, way="http") as remote:
        await house.app.library.create_collection(house.me, "Animals")
        added = await asked(client, "add_documents", documents=[ZEBRA])
        waits = await client.call_tool("delete_documents", {"ids": added["ids"]})
        assert waits.is_error
        assert "zebra" in text_of(waits)
        arguments = {"ids": added["ids"], "confirm": token_in(waits)}
        assert not (await client.call_tool("delete_documents", arguments)).is_error
        path = tmp_path / "kb.tar.gz"
        wanted = {"path": str(path), "base": "Animals"}
        waits = await remote.call_tool("export_knowledge_base", wanted)
        refused = await remote.call_tool("export_knowledge_base", wanted | {"confirm": token_in(waits)})
        assert "/kb/NAME/export" in text_of(refused)
        nameless = await client.call_tool("export_knowledge_base", {"path": str(path)})
        assert "Name the knowledge base" in text_of(nameless)
        assert not await anyio.Path(path).exists()


async def test_a_chat_is_offered_none_of_these_tools() -> None:
    async with open_house(ports=ports_of()) as house:
        assert offers(house.app, ("knowledge",)).keys() == TOOLS
        assert not TOOLS & {one.name for one in house.app.toolbox.all}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("semantic_search", {}),
        ("semantic_search", {"query": ""}),
        ("semantic_search", {"query": "x", "limit": 0}),
        ("retrieve_context", {"query": "x", "min_similarity": 7}),
        ("add_documents", {"documents": []}),
        ("add_documents", {"documents": [{"id": "x"}]}),
        ("add_documents", {"documents": [{"id": "x", "text": ""}]}),
        ("add_document", {"text": "x", "metadata": {"a": 1}}),
        ("delete_documents", {"ids": ["nothing"]}),
    ],
)
async def test_a_call_that_is_not_valid_says_why(name: str, arguments: dict[str, Any]) -> None:
    async with open_house() as house, joined(house) as client:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        assert text_of(result)
