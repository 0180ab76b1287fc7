"""Front ends that send a chat's whole history in their own ways: the same chat is the same conversation.

Open WebUI (`utils/middleware.py`, `utils/task.py`, `routers/openai.py`) writes passages of documents around
the newest message alone, lets answers be edited and go on, asks for titles and tags through the same door,
and sends `X-OpenWebUI-Chat-Id`. LibreChat (`endpoints/custom`) fills its conversation's id into headers of
the settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import openai
import pytest

from bethink.llm.scripted import ScriptedLlm
from bethink.principal import Principal
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

CHAT = "7c0e4a53-9d35-4f57-8c0e-2f1f5f3c9d11"
QUESTION = "When does the Acme contract end?"
PASSAGES = """### Task:
Answer with what the sources say.

<context>
<source id="1" name="acme.pdf">The contract ends in May.</source>
</context>

"""
TITLE = """### Task:
Suggest a title of 3 to 5 words for the chat.

### Chat History:
<chat_history>
USER: When does the Acme contract end?
ASSISTANT: In May.
</chat_history>"""


def told(*texts: str) -> list[dict[str, Any]]:
    """A history, owner and model by turns."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


async def webui(client: Client, *texts: str, chat: str | None = CHAT, system: str = "") -> str:
    """The conversation that answers what Open WebUI sends."""
    body: dict[str, Any] = {"stream": False, "model": "bethink", "messages": told(*texts)}
    if system:
        body["messages"] = [{"role": "system", "content": system}, *body["messages"]]
    headers = {"X-OpenWebUI-User-Id": "3f", "X-OpenWebUI-User-Role": "user"}
    headers |= {"X-OpenWebUI-Chat-Id": chat} if chat else {}
    answer = await client.door.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-bethink-conversation"]


async def libre(client: Client, *texts: str, chat: str = CHAT) -> str:
    """The conversation that answers what LibreChat sends, its header set in `librechat.yaml`."""
    body: dict[str, Any] = {
        "model": "bethink",
        "user": "66b0",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": told(*texts),
    }
    headers = {"X-Bethink-Conversation": chat}
    answer = await client.door.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-bethink-conversation"]


async def line(client: Client, conversation: str) -> list[str]:
    return [stored.message.content for stored in await client.door.house.messages(conversation)]


async def listed(client: Client) -> list[str]:
    house = client.door.house
    return [item.record.id for item in (await house.app.conversations.list(house.me)).items]


@pytest.mark.parametrize("chat", [CHAT, None])
async def test_a_message_that_was_wrapped_into_passages_comes_back_bare(chat: str | None) -> None:
    llm = ScriptedLlm(["In May.", "In 2027.", "Yes."])
    async with client_of(llm) as client:
        first = await webui(client, PASSAGES + QUESTION, chat=chat)
        second = await webui(client, QUESTION, "In May.", PASSAGES + "Of which year?", chat=chat)
        third = await webui(
            client, QUESTION, "In May.", "Of which year?", "In 2027.", "Are you sure?", chat=chat
        )
        assert first == second == third
        assert await listed(client) == [first]
        said = await line(client, first)
    assert said[-1] == "Yes."
    assert len(said) == 6
    assert "The contract ends in May." in said[0]
    assert llm.requests[2].messages[0].content == said[0]


async def test_an_answer_that_its_reader_edited_is_what_the_model_sees() -> None:
    llm = ScriptedLlm(["In May.", "No.", "In June?", "Well."])
    async with client_of(llm) as client:
        first = await webui(client, QUESTION)
        await webui(client, QUESTION, "In May.", "Sure?")
        assert await webui(client, QUESTION, "In July.", "Sure?", "No.", "Then when?") == first
        assert [one.content for one in llm.requests[2].messages] == [
            QUESTION,
            "In July.",
            "Sure?",
            "No.",
            "Then when?",
        ]
        # The branch that was left is still there, and goes on where it was.
        assert await webui(client, QUESTION, "In May.", "Sure?", "No.", "Why?") == first
        assert [one.content for one in llm.requests[3].messages] == [
            QUESTION,
            "In May.",
            "Sure?",
            "No.",
            "Why?",
        ]
        assert await listed(client) == [first]
        found = await client.door.house.app.recall.search(client.door.house.me, "In July", kinds={"turn"})
        assert not [hit for hit in found if "July" in hit.text]


@pytest.mark.parametrize("chat", [CHAT, None])
async def test_an_answer_goes_on_and_its_client_sends_both_parts_as_one(chat: str | None) -> None:
    llm = ScriptedLlm(["Once upon a ti", "me, it was.", "The end."])
    async with client_of(llm) as client:
        first = await webui(client, "Tell me a story", chat=chat)
        assert await webui(client, "Tell me a story", "Once upon a ti", chat=chat) == first
        assert [one.content for one in llm.requests[1].messages][:2] == ["Tell me a story", "Once upon a ti"]
        whole = "Once upon a time, it was."
        assert await webui(client, "Tell me a story", whole, "More", chat=chat) == first
        assert (await line(client, first))[-2:] == ["More", "The end."]


async def test_the_only_turn_asked_again_is_answered_again_in_its_place() -> None:
    llm = ScriptedLlm(["One.", "Uno.", "Two."])
    async with client_of(llm) as client:
        first = await libre(client, "Count")
        assert await libre(client, "Count") == first
        assert [one.content for one in llm.requests[1].messages] == ["Count"]
        assert await libre(client, "Count", "Uno.", "On") == first
        assert await line(client, first) == ["Count", "Uno.", "On", "Two."]


async def test_two_chats_that_begin_alike_stay_apart_and_one_goes_on_by_its_name_alone() -> None:
    async with client_of(ScriptedLlm(["Hi.", "Hi.", "A", "B", "C"])) as client:
        one, other = await libre(client, "Hello", chat="one"), await libre(client, "Hello", chat="other")
        assert one != other
        assert await libre(client, "Hello", "Hi.", "first", chat="one") == one
        # A program that keeps no history names its chat.
        raw: Any = client.openai.chat.completions.with_raw_response.create
        made = await raw(
            model="bethink", messages=told("second"), extra_body={"metadata": {"chat_id": "other"}}
        )
        assert made.headers["x-bethink-conversation"] == other
        assert await line(client, other) == ["Hello", "Hi.", "second", "B"]
        answer = await client.openai.responses.create(model="bethink", input="third", conversation="other")
        assert answer.conversation is not None
        assert answer.conversation.id == other
        assert (await line(client, other))[-1] == "C"


async def test_a_history_that_was_cut_at_its_beginning_is_found_by_its_end() -> None:
    async with client_of(ScriptedLlm(["1", "2", "3", "4"])) as client:
        first = await libre(client, "a")
        await libre(client, "a", "1", "b")
        await libre(client, "a", "1", "b", "2", "c")
        assert await libre(client, "b", "2", "c", "3", "d") == first
        assert await line(client, first) == ["a", "1", "b", "2", "c", "3", "d", "4"]


async def test_an_unknown_history_of_a_named_chat_is_taken_over_once() -> None:
    async with client_of(ScriptedLlm(["Yes.", "No."])) as client:
        first = await libre(client, "My zebra is Ada", "Nice.", "Is it?")
        assert await libre(client, "My zebra is Ada", "Nice.", "Is it?", "Yes.", "Sure?") == first
        assert await line(client, first) == ["My zebra is Ada", "Nice.", "Is it?", "Yes.", "Sure?", "No."]


@pytest.mark.parametrize("chat", [CHAT, None])
async def test_what_a_front_end_asks_by_itself_is_no_turn_of_the_chat(chat: str | None) -> None:
    llm = ScriptedLlm(["In May.", "Acme contract", "Sure."])
    async with client_of(llm) as client:
        first = await webui(client, QUESTION, chat=chat)
        aside = await webui(client, TITLE, chat=chat)
        assert aside != first
        assert llm.requests[1].tools == ()
        assert await webui(client, QUESTION, "In May.", "Sure?", chat=chat) == first
        assert await listed(client) == [first]
        house = client.door.house
        assert (await house.app.conversations.get(house.me, aside)).record.temporary


async def test_a_front_end_may_say_that_it_asks_by_itself() -> None:
    async with client_of(ScriptedLlm(["In May.", "Acme", "Yes."])) as client:
        first = await libre(client, QUESTION)
        body = {"model": "bethink", "messages": told("A name for it, please")}
        headers = {"X-Bethink-Conversation": CHAT, "X-Bethink-Task": "title_generation"}
        aside = await client.door.http.post("/v1/chat/completions", json=body, headers=headers)
        assert aside.headers["x-bethink-conversation"] != first
        plain = headers | {"X-Bethink-Task": "{{TASK}}"}
        said = await client.door.http.post("/v1/chat/completions", json=body, headers=plain)
        assert said.headers["x-bethink-conversation"] == first


@pytest.mark.parametrize("chat", ["new", "local:Xb3-socket", "{{LIBRECHAT_BODY_CONVERSATIONID}}", ""])
async def test_a_name_of_no_chat_names_none(chat: str) -> None:
    async with client_of(ScriptedLlm(["Hi.", "Hey.", "On."])) as client:
        one, other = await libre(client, "Hello", chat=chat), await libre(client, "Hello", chat=chat)
        assert one != other
        assert await libre(client, "Hello", "Hey.", "More", chat=chat) == other


@pytest.mark.parametrize("chat", ["x" * 201, "a\tb"])
async def test_a_name_that_cannot_be_kept_is_refused_and_makes_nothing(chat: str) -> None:
    async with client_of(ScriptedLlm(["Hi."])) as client:
        with pytest.raises(openai.BadRequestError, match="printable characters") as refused:
            await client.openai.chat.completions.create(
                model="bethink",
                messages=[{"role": "user", "content": "Hi"}],
                extra_headers={"X-Bethink-Conversation": chat},
            )
        assert "x-bethink-conversation" in refused.value.message
        with pytest.raises(openai.BadRequestError, match=r"metadata\.chat_id"):
            await client.openai.chat.completions.create(
                model="bethink",
                messages=[{"role": "user", "content": "Hi"}],
                metadata={"chat_id": chat},
            )
        assert await listed(client) == []


async def test_a_name_reaches_its_own_owner_alone() -> None:
    async with client_of(ScriptedLlm(["Hi."])) as client:
        conversations = client.door.house.app.conversations
        mine = await libre(client, "My zebra is Ada")
        other = replace(client.door.house.me, owner="another")
        assert isinstance(other, Principal)
        assert await conversations.called(other, CHAT) is None
        assert await conversations.called(other, mine) is None
        found = await conversations.called(client.door.house.me, CHAT)
        assert found is not None
        assert found.record.id == mine
        # An id in the form of Bethink's own is never made up: it is another's, or was deleted.
        theirs = await conversations.create(other)
        with pytest.raises(openai.NotFoundError):
            await client.openai.chat.completions.create(
                model="bethink",
                messages=[{"role": "user", "content": "Hi"}],
                extra_headers={"X-Bethink-Conversation": theirs.id},
            )


async def test_a_chat_whose_conversation_was_deleted_begins_anew() -> None:
    async with client_of(ScriptedLlm(["In May.", "Yes."])) as client:
        first = await libre(client, QUESTION)
        assert (await client.door.http.delete(f"/conversations/{first}")).status_code == 204
        await libre(client, QUESTION, "In May.", "Sure?")
        assert await line(client, first) == [QUESTION, "In May.", "Sure?", "Yes."]
