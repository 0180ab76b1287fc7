"""What MCP clients are told of by themselves, and what completes what they type, in both eras."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp.types import (
    EmptyResult,
    PromptReference,
    ResourceTemplateReference,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from bethink.conversations.service import ConversationEdit, ConversationStart
from bethink.mcp_server.server import McpDoor
from bethink.memory import NewFact
from tests.door import served
from tests.house import House, open_house
from tests.mcp_clients import MODES, Ear, Mode, over_http

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
PROFILE = "memory://profile"


@asynccontextmanager
async def joined(house: House, mode: Mode, ear: Ear | None = None) -> AsyncGenerator[Client]:
    server = McpDoor(house.app, "stdio").server()
    async with Client(server, mode=mode, message_handler=ear.hear if ear else None) as client:
        yield client


async def follow(client: Client, uri: str) -> None:
    asked = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
    await client.session.send_request(asked, EmptyResult)


async def leave(client: Client, uri: str) -> None:
    asked = UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri))
    await client.session.send_request(asked, EmptyResult)


async def important(house: House, content: str) -> str:
    """A fact of the profile; its id."""
    change = await house.app.memory.add(house.me, NewFact(content, importance=1.0, category="personal_info"))
    return change.fact.id


async def offer_more(house: House) -> None:
    """Switch a setting that changes no tool of this house, and one that brings those of the web."""
    await house.app.configuration.change(house.me, {"web_enabled": False})
    await house.app.configuration.change(house.me, {"web_enabled": True})


@pytest.mark.parametrize("mode", MODES)
async def test_lists_are_said_to_change(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode) as client:
        can = client.server_capabilities
        assert can.tools is not None
        assert can.resources is not None
        assert (can.tools.list_changed, can.resources.list_changed, can.resources.subscribe) == (True,) * 3
        assert can.completions is not None
        assert can.prompts is not None
        assert not can.prompts.list_changed


async def test_a_session_is_told_of_tools_resources_and_what_it_follows_and_of_nothing_else() -> None:
    ear = Ear()
    async with open_house() as house, joined(house, "legacy", ear) as client:
        fact = await important(house, "The user is called Ann")
        other = await important(house, "The user lives in Paris")
        conversation = (await house.app.conversations.create(house.me, ConversationStart(title="Tea"))).id
        await client.list_tools()
        for uri in (PROFILE, f"memory://facts/{fact}", f"memory://conversations/{conversation}"):
            await follow(client, uri)
        await house.app.memory.retract(house.me, other)
        await ear.wait(PROFILE, "resources")
        assert f"memory://facts/{fact}" not in ear.told
        await house.app.memory.retract(house.me, fact)
        await ear.wait(f"memory://facts/{fact}")
        ear.told.clear()
        await leave(client, PROFILE)
        bob = house.app.accounts.on_behalf_of("bob", audience="test")
        await house.app.memory.add(bob, NewFact("Bob likes newts", importance=1.0))
        await offer_more(house)
        await ear.wait("tools")
        assert ear.told == ["tools"]
        await house.app.configuration.change(house.me, {"recall_min_score": 0.4})
        await important(house, "The user likes tea")
        await ear.wait("resources")
        assert ear.told == ["tools", "resources"]


async def test_a_stream_is_told_what_it_asked_for() -> None:
    async with open_house() as house, joined(house, "auto") as client:
        async with client.listen(tools_list_changed=True, resource_subscriptions=[PROFILE]) as changes:
            told = aiter(changes)
            await important(house, "The user is called Ann")
            assert await anext(told) == ResourceUpdated(PROFILE)
            await offer_more(house)
            assert await anext(told) == ToolsListChanged()
        async with client.listen(resources_list_changed=True) as changes:
            await important(house, "The user likes tea")
            assert await anext(aiter(changes)) == ResourcesListChanged()


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_forgotten_or_said_is_told(mode: Mode) -> None:
    ear = Ear()
    async with open_house() as house, joined(house, mode, ear) as client:
        fact = f"memory://facts/{(id := await important(house, 'The user is called Ann'))}"
        talk = (await house.app.conversations.create(house.me)).id
        conversation = f"memory://conversations/{talk}"
        if mode == "legacy":
            for uri in (fact, conversation):
                await follow(client, uri)
            await house.app.forgetting.forget(house.me, [id])
            await ear.wait(fact)
            await house.app.conversations.edit(house.me, talk, ConversationEdit(title="Tea"))
            await ear.wait(conversation)
        else:
            async with client.listen(resource_subscriptions=[fact, conversation]) as changes:
                told = aiter(changes)
                await house.app.forgetting.forget(house.me, [id])
                assert await anext(told) == ResourceUpdated(fact)
                await house.app.conversations.edit(house.me, talk, ConversationEdit(title="Tea"))
                assert await anext(told) == ResourceUpdated(conversation)


async def test_too_much_to_follow_is_refused() -> None:
    async with open_house() as house, joined(house, "auto") as client:
        uris = [f"memory://facts/{number}" for number in range(65)]
        with pytest.raises(MCPError, match="At most 64"):
            async with client.listen(resource_subscriptions=uris):
                pass


@pytest.mark.parametrize("mode", MODES)
async def test_over_http_a_client_is_told_too(mode: Mode) -> None:
    ear = Ear()
    async with (
        open_house() as house,
        served(house) as (http, _),
        over_http(str(http.base_url.join("/mcp")), mode=mode, ear=ear) as client,
    ):
        await client.list_tools()
        if mode == "auto":
            async with client.listen(resource_subscriptions=[PROFILE]) as changes:
                await important(house, "The user is called Ann")
                assert await anext(aiter(changes)) == ResourceUpdated(PROFILE)
        else:
            await follow(client, PROFILE)
            await important(house, "The user is called Ann")
            await ear.wait(PROFILE)


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_typed_is_completed_from_memory(mode: Mode) -> None:
    async with open_house() as house, joined(house, mode) as client:
        made = await house.app.memory.add(house.me, NewFact("The user's dog is Rex", topics=("Rex", "dogs")))
        prompt = PromptReference(type="ref/prompt", name="what_do_you_know")
        found = await client.complete(prompt, {"name": "subject", "value": "re"})
        assert found.completion.values == ["Rex"]
        task = PromptReference(type="ref/prompt", name="prepare_for")
        assert (await client.complete(task, {"name": "task", "value": ""})).completion.values == []
        facts = ResourceTemplateReference(type="ref/resource", uri="memory://facts/{id}")
        begun = {"name": "id", "value": made.fact.id[:5]}
        assert (await client.complete(facts, begun)).completion.values == [made.fact.id]
        conversation = (await house.app.conversations.create(house.me)).id
        talks = ResourceTemplateReference(type="ref/resource", uri="memory://conversations/{id}")
        assert (await client.complete(talks, {"name": "id", "value": ""})).completion.values == [conversation]
        for unknown in (
            PromptReference(type="ref/prompt", name="nothing"),
            ResourceTemplateReference(type="ref/resource", uri="memory://profile"),
        ):
            with pytest.raises(MCPError, match="There is no"):
                await client.complete(unknown, {"name": "id", "value": ""})
