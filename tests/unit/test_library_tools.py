"""The tools over documents as the model meets them: the library beside the files of a conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from bethink.agent.records import NumberedEvent
from bethink.agent.toolbox import CallResult
from bethink.dial.render import AnswerRenderer
from bethink.documents.model import DocumentEdit, NewDocument
from bethink.documents.records import Document
from bethink.events import MemoryRecalled, MemoryUsed, Place, Recalled
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import Attachment, ToolCall, ToolMessage
from bethink.tool import NewFile, ToolContext
from tests.house import House, open_house
from tests.library import UNREADABLE, finished, plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
LEASE = b"# Lease\n\nThe rent is due on the third of each month.\f# Notice\n\nThree months' notice is needed."


async def kept(house: House, content: bytes = LEASE, name: str = "lease.md") -> Document:
    document = await house.app.library.add(house.me, NewDocument(name=name, content=content))
    await finished(house, document.content)
    return document


class Desk:
    """A conversation, and calls as its runs make them."""

    def __init__(self, house: House, conversation: str) -> None:
        self.house = house
        self.conversation = conversation
        self.events: list[object] = []

    async def call(self, name: str, **arguments: object) -> ToolMessage:
        house = self.house
        prepared = house.app.toolbox.prepare(ToolCall("call", name, json.dumps(arguments)))
        if isinstance(prepared, ToolMessage):
            return prepared
        files = partial(house.app.files.held, house.me, self.conversation)
        context = ToolContext(
            house.me, self.conversation, "run", "message", files=files, label=lambda _: "m1"
        )
        items = [item async for item in house.app.toolbox.run([prepared], context)]
        self.events += [item for item in items if not isinstance(item, CallResult)]
        (result,) = [item.message for item in items if isinstance(item, CallResult)]
        return result

    async def told(self, name: str, **arguments: object) -> str:
        return (await self.call(name, **arguments)).content


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_house() as house:
        yield Desk(house, await house.new())


@pytest.mark.requirement("R88")
async def test_all_documents_are_searched_if_no_file_is_named(desk: Desk) -> None:
    document = await kept(desk.house)
    told = await desk.call("rag_search", query="When is the rent due?")
    assert "**From: lease.md (Page 1)** [m1]\n> " in told.content
    assert "> The rent is due on the third of each month." in told.content
    assert told.untrusted
    (event,) = [event for event in desk.events if isinstance(event, MemoryRecalled)]
    (item,) = event.items
    assert (item.kind, item.title, item.untrusted) == ("passage", "lease.md, page 1", True)
    assert item.source is not None
    assert item.source.startswith(f"document:{document.id}?content={document.content}&page=1&at=")


async def test_a_short_document_is_given_whole_and_once(desk: Desk) -> None:
    await kept(desk.house)
    told = await desk.told("rag_search", query="rent due month, months' notice")
    assert told.count("Three months' notice is needed.") == 1
    assert told.startswith("Found 1 relevant passage:")


@pytest.mark.requirement("R88")
async def test_documents_are_named_by_name_id_and_address(desk: Desk) -> None:
    document = await kept(desk.house)
    await kept(desk.house, b"The rent of the boat is due in May.", "boat.md")
    at = f"document:{document.id}?content={document.content}&page=1&at=0-9"
    for named in ("lease.md", "LEASE.md", document.id, f"/documents/{document.id}?page=2", at):
        told = await desk.told("rag_search", query="rent due", file_urls=[named])
        assert "lease.md" in told
        assert "boat.md" not in told
        assert "Three months" in await desk.told("extract_file_content", file_url=named, page_number=2)
    made = await desk.house.app.library.create_collection(desk.house.me, "Home")
    edit = DocumentEdit(collection=made.id)
    await desk.house.app.library.change(desk.house.me, document.id, edit)
    for collection in (f"collection:{made.id}", "collection: home"):
        told = await desk.told("rag_search", query="rent due", file_urls=[collection])
        assert ("lease.md" in told, "boat.md" in told) == (True, False)
    assert "There is no file 'x.pdf'" in await desk.told("rag_search", query="rent", file_urls=["x.pdf"])


async def test_the_files_of_the_conversation_come_first(desk: Desk) -> None:
    await kept(desk.house, b"The rent of the boat is due in May.", "boat.md")
    file = NewFile("own.md", "text/markdown", b"The rent of the flat is due in June.")
    await desk.house.app.files.add(desk.house.me, desk.conversation, file)
    told = await desk.told("rag_search", query="rent due")
    assert 0 < told.index("own.md") < told.index("boat.md")
    one = await desk.told("rag_search", query="rent due", max_passages=1)
    assert "own.md" in one
    assert "boat.md" not in one


async def test_nothing_that_answers_is_said(desk: Desk) -> None:
    await kept(desk.house)
    told = await desk.call("rag_search", query="glaciers")
    assert told.content == "No passage of the documents answers this."
    assert [event for event in desk.events if isinstance(event, MemoryRecalled)] == []


async def test_pages_that_are_not_there_and_documents_that_cannot_be_read_are_said(desk: Desk) -> None:
    await kept(desk.house)
    assert "has 2 pages: there is no page 3" in await desk.told(
        "extract_file_content", file_url="lease.md", page_number=3
    )
    await kept(desk.house, UNREADABLE, "broken.bin")
    told = await desk.told("extract_file_content", file_url="broken.bin")
    assert told == "broken.bin cannot be read: it is damaged."


async def test_another_owners_documents_are_not_found(desk: Desk) -> None:
    document = await kept(desk.house)
    desk.house = House(
        desk.house.app, desk.house.app.accounts.on_behalf_of("other", audience="web"), desk.house.clock
    )
    for named in (document.id, "lease.md"):
        assert "There is no file" in await desk.told("extract_file_content", file_url=named)
    assert "no readable files" in await desk.told("rag_search", query="rent")


async def test_an_answer_cites_the_page_of_a_document() -> None:
    llm = ScriptedLlm(
        [[ScriptedCall("rag_search", {"query": "When is the rent due?"})], "On the third [m1]."]
    )
    async with open_house(llm) as house:
        document = await kept(house)
        conversation = await house.new()
        events = await house.say("When do I pay?", conversation)
        (used,) = [event for event in events if isinstance(event, MemoryUsed)]
        (recalled,) = [event for event in events if isinstance(event, MemoryRecalled)]
        assert used.ids == (recalled.items[0].id,)
        answer = (await house.messages(conversation))[-1]
        assert answer.message.content == "On the third."
        assert [mark.id for mark in answer.used] == [recalled.items[0].id]
        (kept_ref,) = answer.recalled
        assert kept_ref.source == recalled.items[0].source
        assert f"document:{document.id}?" in str(kept_ref.source)


async def test_a_dial_client_is_given_the_passage_that_an_answer_cites_with_its_page() -> None:
    from aidial_sdk.chat_completion import Choice

    passage = Recalled(
        id="p1",
        kind="passage",
        text="The rent is due on the third.",
        score=0.9,
        at=0,
        source="document:d1?content=c&page=2&at=0-9",
        title="lease.md, page 2",
    )
    other = msgspec.structs.replace(passage, id="p2")
    queue: asyncio.Queue[Any] = asyncio.Queue()
    choice = Choice(queue, 0)
    choice.open()
    renderer = AnswerRenderer(choice, never_uploaded, site="https://bethink.example")
    events = (MemoryRecalled(items=(passage, other)), MemoryUsed(ids=("p1",), marks=()))
    await renderer.render([NumberedEvent(Place(number, 0), event) for number, event in enumerate(events)])
    choice.close()
    sent = [queue.get_nowait().to_dict() for _ in range(queue.qsize())]
    parts = [part["choices"][0]["delta"].get("custom_content") for part in sent]
    (attached,) = [one for part in parts if part for one in part["attachments"]]
    assert attached["title"] == "lease.md, page 2"
    assert attached["data"] == "The rent is due on the third."
    assert attached["reference_url"] == "https://bethink.example/documents/d1?content=c&page=2&at=0-9"


async def never_uploaded(attachment: Attachment) -> str:
    raise AssertionError(attachment.name)


async def test_the_tools_are_offered_to_whoever_has_documents() -> None:
    llm = ScriptedLlm(["Hello.", "Hello again."])
    async with open_house(llm) as house:
        await house.say("Hello!")
        await kept(house)
        await house.say("Hello!")
    without, with_documents = ({tool.name for tool in request.tools} for request in llm.requests)
    assert with_documents - without >= {"rag_search", "extract_file_content"}


async def test_no_passage_comes_into_a_turn_by_itself() -> None:
    llm = ScriptedLlm(["I do not know."])
    async with open_house(llm) as house:
        document = await kept(house)
        await house.app.library.change(house.me, document.id, DocumentEdit(name="rent.md"))
        events = await house.say("When is the rent due?")
        assert [event for event in events if isinstance(event, MemoryRecalled)] == []
        assert "third of each month" not in str(llm.requests[0].messages)
        (first, *_) = await house.app.recall.search(house.me, "When is the rent due?")
        assert first.title == "rent.md, page 1"


@pytest.mark.requirement("R89")
@pytest.mark.parametrize(("tokens", "passages", "vectors"), [(60, 80, 1), (500, 9, 1), (4_000, 1, 4)])
async def test_passages_are_as_long_as_the_settings_say_and_each_window_of_them_has_a_vector(
    tokens: int, passages: int, vectors: int
) -> None:
    text = "\n\n".join(f"Boat {n} left the harbour of town {n * 7} in the fog of May." for n in range(260))
    async with open_house(documents_passage_tokens=tokens) as house:
        library, ports = house.app.library, house.app.ports
        document = await kept(house, text.encode())
        count = (await library.state(house.me, document.id)).content.passages
        assert passages <= count <= 2 * passages
        (hit, *_) = await library.search(house.me, "Which boat left town 1785?")
        assert "Boat 255 " in hit.text
        with anyio.fail_after(20):
            while await ports.index.missing_vectors(house.me.owner, ports.embeddings.model, 1):
                await anyio.lowlevel.checkpoint()
        found = await ports.index.vectors(house.me.owner, ports.embeddings.model, [hit.id])
        assert len(found[hit.id]) == vectors
