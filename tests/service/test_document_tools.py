"""The tools over a conversation's files as the model meets them: names, schemas and replies of spec 002."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.agent.toolbox import CallResult
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolCall, ToolMessage
from bethink.tool import NewFile, ToolContext
from bethink.tools.documents import DATA
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of
from tests.papers import pdf

# A process is started for each file, on machines where others are at work.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

REPORT = pdf(
    ["Results of the quarter", "Sales grew in the north."],
    ["The climate of the valley", "Glaciers melt faster every summer."],
    ["Staff", "Twelve people work in the kitchen."],
)
NOTES = b"Shopping: smoked paprika, onions.\n"


class Counting(HashingEmbeddings):
    """Counts the texts that it embeds."""

    texts = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        return await super().embed(texts)


class Desk:
    """A conversation, and calls as its runs make them."""

    def __init__(self, house: House, conversation: str) -> None:
        self.house = house
        self.conversation = conversation

    async def add(self, name: str, content: bytes) -> str:
        file = NewFile(name, "application/octet-stream", content)
        return (await self.house.app.files.add(self.house.me, self.conversation, file)).id

    async def call(self, name: str, **arguments: object) -> ToolMessage:
        house = self.house
        prepared = house.app.toolbox.prepare(ToolCall("call", name, json.dumps(arguments)))
        if isinstance(prepared, ToolMessage):
            return prepared
        files = partial(house.app.files.held, house.me, self.conversation)
        context = ToolContext(house.me, self.conversation, "run", "message", files=files)
        items = [item async for item in house.app.toolbox.run([prepared], context)]
        (result,) = [item.message for item in items if isinstance(item, CallResult)]
        return result

    async def told(self, name: str, **arguments: object) -> str:
        return (await self.call(name, **arguments)).content


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_house() as house:
        yield Desk(house, await house.new())


@pytest.mark.requirement("R86", "R88", "C14")
async def test_the_schemas_are_those_of_the_source_document(desk: Desk) -> None:
    schemas = {name: desk.house.app.toolbox.get(name) for name in ("extract_file_content", "rag_search")}
    extract, search = (one.parameters for one in schemas.values() if one is not None)
    assert extract["required"] == ["file_url"]
    assert extract["properties"]["page_number"] | {"minimum": 1} == {
        "description": "Page number (1-indexed)",
        "type": "integer",
        "default": 1,
        "minimum": 1,
    }
    assert search["required"] == ["query"]
    assert search["properties"]["file_urls"]["items"] == {"type": "string"}


@pytest.mark.requirement("R86", "R196", "R209")
async def test_a_page_is_given_with_its_number_and_how_many_there_are(desk: Desk) -> None:
    await desk.add("report.pdf", REPORT)
    told = await desk.call("extract_file_content", file_url="report.pdf", page_number=2)
    assert told.content == (
        f"=== Page 2 ===\n[report.pdf has 3 pages.]\n[{DATA}]\n\n"
        "The climate of the valley\nGlaciers melt faster every summer."
    )
    assert told.untrusted


@pytest.mark.requirement("R86")
@pytest.mark.parametrize("page", [0, -1, 4, 10**12, "two"])
async def test_a_page_that_is_not_there_is_said(desk: Desk, page: object) -> None:
    await desk.add("report.pdf", REPORT)
    told = await desk.call("extract_file_content", file_url="report.pdf", page_number=page)
    assert told.error in {"bad_input", "invalid_arguments"}
    assert "page" in told.content


@pytest.mark.requirement("R86")
async def test_a_file_is_known_by_its_id_its_address_and_its_name(desk: Desk) -> None:
    file = await desk.add("Notes.txt", NOTES)
    for named in (
        file,
        f"/files/{file}",
        f"http://127.0.0.1:8484/files/{file}",
        "files/3xBuckeT/docs/Notes.txt",
        "files/3xBuckeT/docs/%4eotes.txt",
        "notes.TXT",
    ):
        assert "paprika" in await desk.told("extract_file_content", file_url=named)
    missing = await desk.told("extract_file_content", file_url="other.pdf")
    assert missing == (
        "There is no file 'other.pdf' in this conversation. There are: Notes.txt."
        " The library has no document of this name."
    )


@pytest.mark.requirement("C14")
async def test_the_names_of_the_program_behind_the_source_document_do_the_same(desk: Desk) -> None:
    await desk.add("report.pdf", REPORT)
    page = await desk.told("file_content_extraction_tool", file_url="report.pdf", page=3)
    assert page.startswith("=== Page 3 ===")
    found = await desk.told("rag_tool", request="Who works in the kitchen?", file_url="report.pdf")
    assert "Twelve people" in found


@pytest.mark.requirement("R88", "P3c")
async def test_passages_are_quoted_with_file_and_page(desk: Desk) -> None:
    await desk.add("report.pdf", REPORT)
    await desk.add("notes.txt", NOTES)
    told = await desk.call("rag_search", query="How fast do glaciers melt?", max_passages=1)
    assert told.content == (
        f"Found 1 relevant passage:\n[{DATA}]\n\n"
        "**From: report.pdf (Page 2)**\n> The climate of the valley\n> Glaciers melt faster every summer."
    )
    assert told.untrusted
    assert "**From: notes.txt**\n> Shopping: smoked paprika" in await desk.told("rag_search", query="paprika")


@pytest.mark.requirement("R88")
async def test_only_the_files_that_are_named_are_searched(desk: Desk) -> None:
    await desk.add("report.pdf", REPORT)
    await desk.add("notes.txt", NOTES)
    told = await desk.told("rag_search", query="glaciers and smoked paprika", file_urls=["notes.txt"])
    assert "notes.txt" in told
    assert "report.pdf" not in told
    nothing = await desk.told("rag_search", query="glaciers", file_urls=["notes.txt"])
    assert nothing == "No passage of the documents answers this."


async def test_what_cannot_be_searched_is_told_and_does_not_stop_the_rest(desk: Desk) -> None:
    told = await desk.told("rag_search", query="x")
    assert told == "This conversation has no readable files. The library has no documents."
    await desk.add("photo.png", b"\x89PNG\r\n\x1a\n")
    await desk.add("broken.pdf", b"%PDF-1.4")
    await desk.add("notes.txt", NOTES)
    told = await desk.told("rag_search", query="paprika")
    assert "[Not searched: broken.pdf: This PDF is damaged: it cannot be opened.]" in told
    assert "photo.png" not in told
    assert "> Shopping" in told
    named = await desk.told("rag_search", query="paprika", file_urls=["photo.png"])
    assert "photo.png is an image" in named


@pytest.mark.requirement("R89")
async def test_passages_are_embedded_once_and_only_when_they_are_searched() -> None:
    embeddings = Counting()
    async with open_house(ports=ports_of(embeddings=embeddings)) as house:
        desk = Desk(house, await house.new())
        await desk.add("report.pdf", REPORT)
        await desk.told("extract_file_content", file_url="report.pdf")
        before = embeddings.texts
        await desk.told("rag_search", query="glaciers")
        assert embeddings.texts - before == 3 + 1
        await desk.told("rag_search", query="sales")
        assert embeddings.texts - before == 3 + 2


async def test_without_the_embedding_model_words_are_searched_and_it_is_told() -> None:
    async with open_house(ports=ports_of(embeddings=NoEmbeddings())) as house:
        desk = Desk(house, await house.new())
        await desk.add("notes.txt", NOTES)
        told = await desk.told("rag_search", query="paprika")
        assert "[Passages were found by words only: The embedding model is not there.]" in told
        assert "> Shopping" in told


async def test_a_search_that_has_no_time_goes_on_when_it_is_asked_again() -> None:
    async with open_house(ports=ports_of(), documents_search_timeout_s=1e-9) as house:
        desk = Desk(house, await house.new())
        await desk.add("notes.txt", NOTES)
        assert "notes.txt was not read in time: ask again." in await desk.told("rag_search", query="paprika")


@pytest.mark.requirement("R90")
async def test_what_was_read_goes_with_its_conversation() -> None:
    embeddings = Counting()
    async with open_house(ports=ports_of(embeddings=embeddings)) as house:
        desk, other = Desk(house, await house.new()), Desk(house, await house.new())
        for one in (desk, other):
            await one.add("notes.txt", NOTES)
            await one.told("rag_search", query="paprika")
        held = house.app.passages
        assert held.count == 1
        await house.app.runs.delete_conversation(house.me, desk.conversation)
        assert held.count == 1
        await house.app.runs.delete_conversation(house.me, other.conversation)
        assert held.count == 0


@pytest.mark.requirement("R90")
async def test_what_was_read_is_not_held_long_behind_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bethink.recall.passages._KEPT_S", 0.01)
    async with open_house() as house:
        desk = Desk(house, await house.new())
        await desk.add("notes.txt", NOTES)
        await desk.told("rag_search", query="paprika")
        with anyio.fail_after(20):
            while house.app.passages.count:
                await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("R90")
async def test_forgetting_leaves_nothing_of_what_was_read(desk: Desk) -> None:
    await desk.add("notes.txt", NOTES)
    await desk.told("rag_search", query="paprika")
    fact = (await desk.house.app.memory.add(desk.house.me, NewFact("Shopping: smoked paprika, onions."))).fact
    await desk.house.app.forgetting.forget(desk.house.me, [fact.id])
    assert desk.house.app.passages.count == 0
    assert "no readable files" in await desk.told("rag_search", query="paprika")


async def test_what_a_file_says_makes_a_run_ask_before_it_sends() -> None:
    llm = ScriptedLlm(
        [[ScriptedCall("extract_file_content", {"file_url": "notes.txt"})], "Paprika and onions."]
    )
    async with open_house(llm) as house:
        desk = Desk(house, await house.new())
        file = await desk.add("notes.txt", NOTES)
        run = await house.app.runs.start(house.me, desk.conversation, "What do I need?", files=[file])
        await house.events(run)
        (told,) = [
            m.message for m in await house.messages(desk.conversation) if isinstance(m.message, ToolMessage)
        ]
        assert told.content.endswith("smoked paprika, onions.")
        assert told.untrusted


async def test_the_tools_can_be_switched_off() -> None:
    async with open_house(documents_enabled=False) as house:
        assert house.app.toolbox.get("rag_search") is None
