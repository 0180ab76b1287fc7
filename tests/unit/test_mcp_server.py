"""Bethink as an MCP server, in this process: what is offered, asked, refused and told, in both eras."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from mcp import Client, MCPError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    LoggingLevel,
    LoggingMessageNotificationParams,
    SetLevelRequest,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)

from bethink.errors import BadInput
from bethink.events import ToolProgress, Warned
from bethink.mcp_server.families import families_of, offers
from bethink.mcp_server.server import McpDoor
from bethink.memory import NewFact
from bethink.people.service import PersonQuery
from bethink.tool import NewFile, ToolContext, ToolOutput, tool
from tests.house import House, open_house
from tests.mcp_clients import MODES, Mode, Person, text_of, token_in, told

pytestmark = pytest.mark.anyio

ADA = {"name": "Ada", "surname": "Lovelace", "email": "ada@example.org", "about_me": "Writes programs."}


@asynccontextmanager
async def joined(
    house: House, *only: str, mode: Mode = "auto", person: Person | None = None, name: str = "tests"
) -> AsyncGenerator[Client]:
    """A client of this house's server, without a wire between."""
    async with Client(McpDoor(house.app, "stdio", only).server(), mode=mode, **told(person, name)) as client:
        yield client


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_client_stores_it_finds_corrects_and_takes_back(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode=mode) as client:
        stored = await client.call_tool(
            "store_memory", {"content": "User's dog is called Rex", "topics": ["dog"]}
        )
        assert stored.structured_content["change"] == "added"
        found = await client.call_tool("search_memory", {"query": "dog"})
        (one,) = found.structured_content["memories"]
        assert one["content"] == "User's dog is called Rex"
        recalled = await client.call_tool("recall", {"query": "dog", "kinds": ["fact"]})
        assert [hit["id"] for hit in recalled.structured_content["hits"]] == [one["id"]]
        gone = await client.call_tool("retract_memory", {"memory": one["id"]})
        assert not (await client.call_tool("search_memory", {"query": "dog"})).structured_content["memories"]
        back = await client.call_tool("undo_memory_change", {"token": gone.structured_content["undo"]})
        assert back.structured_content["memory"]["state"] == "active"
        history = await client.call_tool("get_memory_history", {"memory": one["id"]})
        assert [item["id"] for item in history.structured_content["memories"]] == [one["id"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("agrees", [True, False])
async def test_a_client_that_can_ask_its_person_has_them_asked(mode: Mode, *, agrees: bool) -> None:
    person = Person(agrees=agrees)
    async with open_house() as house, joined(house, mode=mode, person=person) as client:
        ada = await house.app.people.create(house.me, ADA)
        result = await client.call_tool("delete_user", {"id": ada.id})
        (asked,) = person.asked
        assert "Ada Lovelace, ada@example.org" in asked
        left = (await house.app.people.search(house.me, PersonQuery())).people
        assert (bool(left), result.is_error) == (not agrees, not agrees)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_ask_gets_a_token_for_what_was_shown_and_for_nothing_else(
    mode: Mode,
) -> None:
    async with open_house() as house, joined(house, mode=mode) as client:
        people = house.app.people
        ada = await people.create(house.me, ADA)
        eve = await people.create(house.me, ADA | {"name": "Eve", "email": "eve@example.org"})
        waits = await client.call_tool("delete_user", {"id": ada.id})
        assert waits.is_error
        assert "Ada Lovelace" in text_of(waits)
        token = token_in(waits)
        for wrong in ({"id": eve.id, "confirm": token}, {"id": ada.id, "confirm": token[:-1] + "x"}):
            assert (await client.call_tool("delete_user", wrong)).is_error
        await people.update(house.me, ada.id, {"surname": "Byron"})
        changed = await client.call_tool("delete_user", {"id": ada.id, "confirm": token})
        assert "Ada Byron" in text_of(changed)
        assert len((await people.search(house.me, PersonQuery())).people) == 2
        done = await client.call_tool("delete_user", {"id": ada.id, "confirm": token_in(changed)})
        assert done.structured_content == {"deleted": ada.id}


async def test_a_tool_is_called_by_every_name_that_it_has_and_listed_by_one() -> None:
    async with open_house() as house, joined(house, "people") as client:
        made = await client.call_tool("add_user", ADA)
        id = made.structured_content["id"]
        for name in ("get_user", "get_user_by_id"):
            assert (await client.call_tool(name, {"id": id})).structured_content["surname"] == "Lovelace"
        listed = {one.name for one in (await client.list_tools()).tools}
        assert "get_user" in listed
        assert not listed & {"add_user", "get_user_by_id", "search_user"}
        waits = await client.call_tool("delete_users", {"id": id})
        # What confirms it is named by the name that is listed.
        done = await client.call_tool("delete_user", {"id": id, "confirm": token_in(waits)})
        assert done.structured_content == {"deleted": id}
    async with open_house() as house, joined(house, "memory") as client:
        assert "There is no tool" in text_of(await client.call_tool("add_user", ADA))


async def test_a_confirmation_is_for_one_call() -> None:
    async with open_house() as house, joined(house) as client:
        await house.app.memory.add(house.me, NewFact("User's dog is called Rex"))
        token = token_in(await client.call_tool("delete_all_memories", {}))
        assert not (await client.call_tool("delete_all_memories", {"confirm": token})).is_error
        await house.app.memory.add(house.me, NewFact("User's cat is called Tom"))
        again = await client.call_tool("delete_all_memories", {"confirm": token})
        assert again.is_error
        assert token_in(again) != token
        assert await house.app.memory.count(house.me) == 1


async def test_forgetting_shows_first_what_would_go() -> None:
    async with open_house() as house, joined(house) as client:
        await house.app.memory.add(house.me, NewFact("User's dog is called Rex"))
        waits = await client.call_tool("forget_memory", {"query_or_id": "dog"})
        assert "User's dog is called Rex" in text_of(waits)
        done = await client.call_tool("forget_memory", {"query_or_id": "dog", "confirm": token_in(waits)})
        assert text_of(done).startswith("Forgotten for good: 1 memory")
        assert await house.app.memory.count(house.me) == 0
        nothing = await client.call_tool("forget_memory", {"query_or_id": "dog"})
        assert text_of(nothing).startswith("Nothing was forgotten")


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_tells_its_schemas_and_what_it_may_do(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode=mode) as client:
        found = {one.name: one for one in (await client.list_tools()).tools}
        hints = {name: one.annotations for name, one in found.items() if one.annotations}
        assert len(hints) == len(found) == len(offers(house.app))
        assert hints["search_memory"].read_only_hint
        assert hints["delete_user"].destructive_hint
        assert not hints["store_memory"].destructive_hint
        assert "confirm" in found["delete_user"].input_schema["properties"]
        assert "confirm" not in found["store_memory"].input_schema["properties"]
        structured = {name for name, one in found.items() if one.output_schema}
        assert structured == set(found) - {"forget_memory", "delete_all_memories"}


async def test_only_the_chosen_families_are_offered() -> None:
    async with open_house() as house, joined(house, "people") as client:
        names = {one.name for one in (await client.list_tools()).tools}
        assert names == {"create_user", "get_user", "search_users", "update_user", "delete_user"}
        assert (await client.call_tool("store_memory", {"content": "x"})).is_error
        with pytest.raises(MCPError):
            await client.list_resources()
    with pytest.raises(BadInput, match="There is no family 'cooking': there are memory"):
        families_of("memory, cooking")


@pytest.mark.parametrize("mode", MODES)
async def test_facts_are_resources_page_by_page_and_prompts_are_filled_in(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode=mode) as client:
        for number in range(60):
            await house.app.memory.add(house.me, NewFact(f"User's locker {number} holds item {number * 7}"))
        await house.app.memory.add(house.me, NewFact("User is called Alice", importance=0.9))
        uris: list[str] = []
        cursor: str | None = None
        while True:
            page = await client.list_resources(cursor=cursor)
            uris += [str(one.uri) for one in page.resources]
            if (cursor := page.next_cursor) is None:
                break
        assert (len(uris), uris[0]) == (62, "memory://profile")
        for uri in uris[:2]:
            assert "User is called Alice" in str((await client.read_resource(uri)).contents)
        talk = await house.new()
        assert talk in str((await client.read_resource(f"memory://conversations/{talk}")).contents)
        for uri in ("memory://facts/none", "memory://else", "file:///etc/passwd"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.error.data["uri"] == uri
        asked = await client.get_prompt("what_do_you_know", {"subject": "Alice"})
        assert "User is called Alice" in str(asked.messages[0].content)
        assert len((await client.list_prompts()).prompts) == 3
        with pytest.raises(MCPError, match="subject: is required"):
            await client.get_prompt("what_do_you_know", {})
        with pytest.raises(MCPError, match="There is no prompt"):
            await client.get_prompt("sing", {})


@pytest.mark.parametrize("mode", MODES)
async def test_a_failure_is_our_sentence(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode=mode) as client:
        unknown = await client.call_tool("retract_memory", {"memory": "none"})
        assert (unknown.is_error, "No such" in text_of(unknown) or "no " in text_of(unknown).lower()) == (
            True,
            True,
        )
        wrong = await client.call_tool("search_memory", {"top_k": 5, "colour": "red"})
        assert "query: Field required" in text_of(wrong)
        assert "colour: " in text_of(wrong)
        secret = await client.call_tool("store_memory", {"content": "User's password is hunter2hunter"})
        assert "secrets are not stored" in text_of(secret)
        missing = await client.call_tool("sing", {})
        assert "There is no tool 'sing'" in text_of(missing)


@pytest.mark.requirement("R3")
async def test_what_a_client_reads_names_the_door_and_the_client() -> None:
    seen: list[str] = []

    @tool(effect="read", label="Look", name="web_search", family="web")
    async def look(context: ToolContext) -> str:
        """Look at who asks."""
        seen.append(context.principal.audience)
        return "Seen."

    async with open_house(tools=[look]) as house, joined(house, "web", name="Claude Desktop!") as client:
        assert text_of(await client.call_tool("web_search", {})) == "Seen."
    assert seen == ["mcp-stdio:Claude-Desktop-"]


@pytest.mark.parametrize("mode", MODES)
async def test_progress_reaches_the_client(mode: Mode) -> None:
    @tool(effect="read", label="Work", name="execute_code", family="python")
    async def work(context: ToolContext) -> str:
        """Work in two steps."""
        context.emit(ToolProgress(call=context.call, text="begun", fraction=0.5))
        context.emit(ToolProgress(call=context.call, text="nearly", fraction=0.9))
        return "Done."

    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async with open_house(tools=[work]) as house, joined(house, "python", mode=mode) as client:
        result = await client.call_tool("execute_code", {}, progress_callback=hear)
    assert text_of(result) == "Done."
    assert heard == [(0.5, "begun"), (0.9, "nearly")]


async def test_a_card_that_a_client_gives_comes_back_masked() -> None:
    card = {"num": "4111111111111111", "cvv": "987", "exp_date": "09/2029"}
    async with open_house() as house, joined(house, "people") as client:
        made = await client.call_tool("create_user", ADA | {"credit_card": card})
        found = await client.call_tool("search_users", {"gender": None})
        one = await client.call_tool("get_user", {"id": made.structured_content["id"]})
    for result in (made, found, one):
        assert not result.is_error
        assert "4111111111111111" not in repr(result)
        assert not re.search(r"(?<![\w.])987(?!\w)", text_of(result))


@pytest.mark.parametrize("mode", MODES)
async def test_files_that_a_call_makes_are_in_its_answer(mode: Mode) -> None:
    made = (
        NewFile("chart.png", "image/png", b"\x89PNG"),
        NewFile("talk.wav", "audio/wav", b"RIFF"),
        NewFile("table.csv", "text/csv", b"a,b\n1,2\n"),
        NewFile("table.csv", "text/csv", b"\x00\xff"),
    )

    @tool(effect="read", label="Make", family="memory")
    async def make_files(context: ToolContext) -> ToolOutput:
        """Make files."""
        return ToolOutput("Made.", attachments=tuple([await context.keep(file) for file in made]))

    async with open_house(tools=[make_files]) as house, joined(house, mode=mode) as client:
        result = await client.call_tool("make_files", {})
        said, image, audio, text, blob = result.content
        assert said == TextContent(type="text", text="Made.")
        assert isinstance(image, ImageContent)
        assert (image.mime_type, b64decode(image.data)) == ("image/png", b"\x89PNG")
        assert isinstance(audio, AudioContent)
        assert (audio.mime_type, b64decode(audio.data)) == ("audio/wav", b"RIFF")
        assert isinstance(text, EmbeddedResource)
        assert isinstance(text.resource, TextResourceContents)
        assert text.resource.text == "a,b\n1,2\n"
        assert isinstance(blob, EmbeddedResource)
        assert isinstance(blob.resource, BlobResourceContents)
        assert b64decode(blob.resource.blob) == b"\x00\xff"
        assert len({text.resource.uri, blob.resource.uri}) == 2


async def test_a_file_that_is_too_large_for_an_answer_is_refused_with_a_sentence() -> None:
    @tool(effect="read", label="Make", family="memory")
    async def make_much(context: ToolContext) -> ToolOutput:
        """Make a large file."""
        return ToolOutput("", attachments=(await context.keep(NewFile("x.bin", "a/b", b"0" * 8_000_001)),))

    async with open_house(tools=[make_much]) as house, joined(house) as client:
        result = await client.call_tool("make_much", {})
        assert result.is_error
        assert "x.bin is too large" in text_of(result)


@pytest.mark.parametrize(("level", "heard"), [(None, True), ("info", True), ("error", False)])
async def test_what_a_call_warns_of_is_a_log_message_unless_worse_is_wanted(
    level: LoggingLevel | None, *, heard: bool
) -> None:
    said: list[object] = []

    async def hear(params: LoggingMessageNotificationParams) -> None:
        said.append(params.data)

    @tool(effect="read", label="Warn", family="memory")
    async def warn(context: ToolContext) -> str:
        """Warn."""
        context.emit(Warned(part="model", message="Another model answered."))
        return "Done."

    async with (
        open_house(tools=[warn]) as house,
        Client(McpDoor(house.app, "stdio").server(), mode="legacy", logging_callback=hear) as client,
    ):
        if level is not None:
            asked = SetLevelRequest(params=SetLevelRequestParams(level=level))
            await client.session.send_request(asked, EmptyResult)
        await client.call_tool("warn", {})
        assert said == (["Another model answered."] if heard else [])
