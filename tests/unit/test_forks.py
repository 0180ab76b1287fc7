"""Saying something else in an earlier place, and having something answered again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import httpx2
import pytest

from bethink.agent.recorder import Recorder
from bethink.agent.request import BranchPoint
from bethink.conversations.service import ConversationEdit
from bethink.errors import Busy, UnknownId
from bethink.llm.scripted import ScriptedLlm
from bethink.messages import ToolMessage, UserMessage
from bethink.principal import Principal
from tests.door import Door, open_door
from tests.house import open_house

pytestmark = pytest.mark.anyio


async def shown(door: Door, conversation: str) -> list[dict[str, Any]]:
    return (await door.http.get(f"/conversations/{conversation}")).json()["messages"]


async def texts(door: Door, conversation: str) -> list[str]:
    return [message["content"] for message in await shown(door, conversation)]


async def chat(door: Door, conversation: str, **body: object) -> httpx2.Response:
    return await door.http.post(f"/conversations/{conversation}/chat", json={"stream": False, **body})


def says(content: str) -> dict[str, object]:
    return {"message": {"role": "user", "content": content}}


async def test_an_edit_answers_anew_and_both_ways_stay() -> None:
    llm = ScriptedLlm(["One", "Two", "Edited"])
    async with open_door(llm) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        await door.chat(conversation, "Second")
        said = (await shown(door, conversation))[2]["id"]
        answer = await chat(door, conversation, **says("Second, but kindly"), edit=said)
        assert answer.json()["message"]["content"] == "Edited"
        assert await texts(door, conversation) == ["First", "One", "Second, but kindly", "Edited"]
        await door.http.patch(f"/conversations/{conversation}", json={"branch": 0})
        assert await texts(door, conversation) == ["First", "One", "Second", "Two"]
    told = [message.content for message in llm.requests[-1].messages]
    assert told == ["First", "One", "Second, but kindly"]


async def test_the_first_message_can_be_edited() -> None:
    async with open_door(ScriptedLlm(["One", "Other"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        (first, _) = await shown(door, conversation)
        await chat(door, conversation, **says("Else"), edit=first["id"])
        messages = await shown(door, conversation)
        assert [message["content"] for message in messages] == ["Else", "Other"]
        assert messages[0]["siblings"] == {"index": 1, "branches": [0, 1]}
        assert messages[1]["siblings"] is None


async def test_an_answer_can_be_given_again_without_saying_it_again() -> None:
    llm = ScriptedLlm(["One", "Again", "And again"])
    async with open_door(llm) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        said, answered = await shown(door, conversation)
        assert (await chat(door, conversation, regenerate=answered["id"])).json()["message"]["content"] == (
            "Again"
        )
        await chat(door, conversation, regenerate=said["id"])
        messages = await shown(door, conversation)
        assert [message["content"] for message in messages] == ["First", "And again"]
        assert messages[0]["id"] == said["id"]
        assert messages[1]["siblings"] == {"index": 2, "branches": [0, 1, 2]}
    assert [[message.content for message in asked.messages] for asked in llm.requests] == [["First"]] * 3


async def test_a_message_can_be_said_behind_an_earlier_answer() -> None:
    async with open_door(ScriptedLlm(["One", "Two", "Three"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        await door.chat(conversation, "Second")
        answered = (await shown(door, conversation))[1]["id"]
        await chat(door, conversation, **says("Elsewhere"), parent=answered)
        assert await texts(door, conversation) == ["First", "One", "Elsewhere", "Three"]


async def test_only_the_owner_s_own_message_of_this_conversation_can_be_edited() -> None:
    async with open_door(ScriptedLlm(["One", "Two"])) as door:
        conversation, other = await door.new(), await door.new()
        await door.chat(conversation, "First")
        said, answered = await shown(door, conversation)
        assert (await chat(door, conversation, **says("X"), edit=answered["id"])).status_code == 422
        assert (await chat(door, other, **says("X"), edit=said["id"])).status_code == 404
        assert (await chat(door, conversation, **says("X"), edit="none")).status_code == 404
        assert (await chat(door, conversation, **says("X"), edit=said["id"], parent="x")).status_code == 422
        assert (await chat(door, conversation, **says("X"), regenerate=said["id"])).status_code == 422
        assert (await chat(door, conversation)).status_code == 422
        assert await texts(door, conversation) == ["First", "One"]
        stranger = Principal("stranger")
        with pytest.raises(UnknownId):
            await door.house.app.runs.start(stranger, BranchPoint(conversation, said["id"], "edit"), "X")


async def test_another_branch_cannot_be_chosen_while_it_is_being_answered() -> None:
    gate = anyio.Event()
    llm = ScriptedLlm(["One", ["Two ", gate, "words"]])
    async with open_house(llm) as house:
        conversation = await house.new()
        await house.say("First", conversation)
        first = (await house.messages(conversation))[0].id
        run = await house.app.runs.start(house.me, BranchPoint(conversation, first, "edit"), "Else")
        with pytest.raises(Busy):
            await house.app.conversations.edit(house.me, conversation, ConversationEdit(branch=0))
        with pytest.raises(Busy):
            await house.app.conversations.part(house.me, conversation, first)
        with pytest.raises(Busy):
            await house.app.runs.start(house.me, BranchPoint(conversation, first, "edit"), "Third")
        await house.app.conversations.edit(
            house.me, conversation, ConversationEdit(title="Renamed meanwhile")
        )
        gate.set()
        await house.events(run)
        said = [message.message.content for message in await house.messages(conversation)]
    assert said == ["Else", "Two words"]


@pytest.mark.requirement("C27")
async def test_a_conversation_s_own_prompt_is_told_with_every_request_and_stands_in_no_message() -> None:
    llm = ScriptedLlm(["One", "Two"])
    async with open_door(llm) as door:
        made = (await door.http.post("/conversations", json={"system": "Speak like a pirate."})).json()
        await door.chat(made["id"], "First")
        await door.http.patch(f"/conversations/{made['id']}", json={"system": "Speak like a judge."})
        await door.chat(made["id"], "Second")
        kept = await shown(door, made["id"])
    first, second = llm.requests
    assert "Speak like a pirate." in first.system
    assert "Speak like a judge." in second.system
    assert "pirate" not in second.system
    assert not any("Speak" in message["content"] for message in kept)


@pytest.mark.parametrize("meanwhile", ["renamed", "edited"])
async def test_a_branch_is_its_own_whatever_became_of_the_conversation_while_it_began(
    monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    begin, first = Recorder.begin, True
    async with open_door(ScriptedLlm(["One", "Other", "Other"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        said, answered = await shown(door, conversation)

        async def late(recorder: Recorder, messages: Sequence[UserMessage | ToolMessage]) -> None:
            nonlocal first
            if first:
                first = False
                if meanwhile == "renamed":
                    await door.http.patch(f"/conversations/{conversation}", json={"title": "Renamed"})
                else:
                    await chat(door, conversation, **says("Else"), edit=said["id"])
            await begin(recorder, messages)

        monkeypatch.setattr(Recorder, "begin", late)
        if meanwhile == "renamed":
            assert (await chat(door, conversation, regenerate=answered["id"])).status_code == 200
            assert await texts(door, conversation) == ["First", "Other"]
        else:
            assert (await chat(door, conversation, **says("Again"), edit=said["id"])).status_code == 200
            assert await texts(door, conversation) == ["Again", "Other"]
        kept = (await door.http.get(f"/conversations/{conversation}")).json()
        assert kept["branch_count"] == (2 if meanwhile == "renamed" else 3)
