"""What is kept of histories that clients send again: digests of a key, and none of what is gone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.agent.history_match import ClientMessage, HistoryMatch, said_by
from bethink.agent.records import THREADS, Thread
from bethink.conversations.service import ConversationStart
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact
from bethink.redaction import FORGOTTEN
from bethink.store import Scan
from tests.house import House
from tests.openai_client import Client, client_of

pytestmark = pytest.mark.anyio

ZEBRA = "My zebra is called Ada"


async def kept(house: House) -> list[Thread]:
    (page,) = await house.app.ports.store.scan(house.me.owner, Scan(THREADS, limit=1_000))
    return [item.record for item in page.items]


async def ask(client: Client, *texts: str, **more: Any) -> str:  # noqa: ANN401 - as the client takes it
    """The conversation in which the last text was answered; owner and model by turns."""
    raw: Any = client.openai.chat.completions.with_raw_response.create
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return (await raw(model="bethink", messages=messages, **more)).headers["x-bethink-conversation"]


async def forget(client: Client, content: str) -> None:
    house = client.door.house
    added = await house.app.memory.add(house.me, NewFact(content))
    await house.app.forgetting.forget(house.me, [added.fact.id])


async def test_nobody_without_the_key_can_test_a_guess_of_what_was_said() -> None:
    body = {"Idempotency-Key": "abc"}
    async with client_of(ScriptedLlm(["One.", "Two."])) as client:
        await ask(client, ZEBRA, extra_headers=body)
        written = msgspec.json.encode(await kept(client.door.house)).decode()
        guess = said_by([ClientMessage("user", ZEBRA)])
        assert guess not in written
        assert await client.door.house.app.secret_box.digest(guess) in written
    async with client_of(ScriptedLlm(["One."]), master_key="another key than that") as other:
        assert await other.door.house.app.secret_box.digest(guess) not in written


async def test_forgetting_takes_the_digests_of_what_was_said_and_leaves_the_answers() -> None:
    llm = ScriptedLlm(["Nice.", "Paris.", "Yes.", "Nice, again.", "Else."])
    async with client_of(llm) as client:
        house = client.door.house
        key = {"Idempotency-Key": "abc"}
        first = await ask(client, ZEBRA, extra_headers=key)
        await ask(client, ZEBRA, "Nice.", "Where am I?")
        other = await ask(client, "Is it warm?")
        made = await client.openai.responses.create(model="bethink", input=ZEBRA)
        await forget(client, ZEBRA)
        left = await kept(house)
        assert {thread.conversation for thread in left if thread.message} == {other}
        assert [thread.request for thread in left if thread.said == "key"] == [""]
        again = await ask(client, "said otherwise", extra_headers=key)
        assert FORGOTTEN in [message.message.content for message in await house.messages(first)]
        assert (await client.openai.responses.retrieve(made.id)).output_text == "Nice, again."
        assert again == first
        # The client still has it: its history is one that is not known.
        assert await ask(client, ZEBRA, "Nice.", "And now?") != first


async def test_what_is_said_while_something_is_forgotten_leaves_no_digest() -> None:
    async with client_of(ScriptedLlm(["One.", "Two."])) as client:
        house = client.door.house
        heard = await house.app.runs.announcements.announced(house.me.owner)
        threads = HistoryMatch(house.app.conversations, house.app.secret_box)
        place = await threads.place(house.me, (), ConversationStart())
        run = await house.app.runs.start(house.me, place, ZEBRA)
        await house.events(run)
        await forget(client, "The user lives in Ljubljana")
        record = await house.app.runs.stored.get(house.me, run)
        await threads.remember(house.me, record, said_by((), ZEBRA), heard=heard)
        assert await kept(house) == []
        heard = await house.app.runs.announcements.announced(house.me.owner)
        await threads.remember(house.me, record, said_by((), ZEBRA), heard=heard)
        assert [thread.message for thread in await kept(house)] == [record.message]
