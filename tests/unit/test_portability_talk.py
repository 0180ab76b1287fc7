"""Conversations in an export file: out, in, twice, interrupted, broken, and into a memory that went on."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bethink.conversations.records import CONVERSATIONS, MESSAGES, SIGHTINGS
from bethink.conversations.service import ConversationEdit, PastMessage
from bethink.errors import BadInput
from bethink.export.service import RestoreReport
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.store import Collection, Scan
from tests.house import House, open_house

pytestmark = pytest.mark.anyio


async def exported(house: House) -> bytes:
    parts = house.app.portability.export(house.me, "jsonl", conversations=True)
    return "".join([part async for part in parts]).encode()


async def imported(house: House, file: bytes, *, preview: bool = False) -> RestoreReport:
    return await house.app.portability.import_file(house.me, io.BytesIO(file), preview=preview)


async def kept(house: House, collection: Collection[Any]) -> list[Any]:
    (page,) = await house.app.ports.store.scan(house.me.owner, Scan(collection, limit=10_000))
    return [item.record for item in page.items]


async def lived_in(house: House) -> str:
    """A memory, and a conversation with a tool, a slash command, another one's words; its id."""
    await house.app.memory.add(house.me, NewFact("User sails on Sundays", importance=0.9))
    conversation = await house.new()
    await house.say("What do I do on Sundays? \x1b \u2028 ﷽", conversation)
    await house.say("/memory", conversation)
    house.clock.advance(3600)
    other = await house.new()
    await house.app.conversations.take_over(
        house.me, other, [PastMessage("Ahoy from Oslo", house.clock.now_us(), speaker="Kim")]
    )
    await house.app.conversations.edit(house.me, other, ConversationEdit(title="Kim", archived=True))
    return conversation


def model() -> ScriptedLlm:
    search = ScriptedCall("search_memory", {"query": "Sundays"})
    return ScriptedLlm([[search], "You sail, I think."])


@pytest.mark.requirement("R207", "R139")
async def test_everything_that_was_said_comes_back_with_every_field_and_is_found() -> None:
    async with open_house(model()) as house, open_house() as empty:
        await lived_in(house)
        file = await exported(house)
        report = await imported(empty, file)
        assert (report.refused, report.differing, report.known) == (0, 0, 0)
        assert report.restored == 1
        assert report.said == report.lines - 1
        for collection in (CONVERSATIONS, MESSAGES, SIGHTINGS):
            assert await kept(empty, collection) == await kept(house, collection)
        for question in ("Ahoy Oslo", "You sail"):
            (there, *_) = await house.app.recall.search(house.me, question, kinds={"turn"})
            (here, *_) = await empty.app.recall.search(empty.me, question, kinds={"turn"})
            assert (here.id, here.text, here.source) == (there.id, there.text, there.source)
        headed, again = (text.split(b"\n", 1) for text in (file, await exported(empty)))
        assert json.loads(headed[0])["conversations"] == 2
        assert again[1] == headed[1]


async def test_what_came_back_is_forgotten_with_its_fact() -> None:
    async with open_house(model()) as house, open_house() as empty:
        conversation = await lived_in(house)
        await imported(empty, await exported(house))
        (fact,) = (await empty.app.memory.list(empty.me)).items
        await empty.app.forgetting.forget(empty.me, [fact.record.id])
        said = [stored.message.content for stored in await empty.messages(conversation)]
        assert any("[forgotten]" in text for text in said)
        assert b"sails on Sundays" not in await exported(empty)


async def test_the_same_file_twice_or_after_an_interruption_adds_what_is_missing_and_nothing_else() -> None:
    async with open_house(model()) as house, open_house() as empty:
        await lived_in(house)
        file = await exported(house)
        lines = file.splitlines(keepends=True)
        for end in range(2, len(lines) + 1):
            await imported(empty, b"".join(lines[:end]))
        again = await imported(empty, file)
        assert (again.known, again.said, again.restored, again.undo) == (again.lines, 0, 0, None)
        for collection in (CONVERSATIONS, MESSAGES, SIGHTINGS):
            assert await kept(empty, collection) == await kept(house, collection)


async def test_a_preview_says_the_same_and_writes_nothing() -> None:
    async with open_house(model()) as house, open_house() as empty:
        await lived_in(house)
        file = await exported(house)
        foreseen = await imported(empty, file, preview=True)
        assert not await kept(empty, CONVERSATIONS)
        assert not await kept(empty, MESSAGES)
        done = await imported(empty, file)
        assert (foreseen.lines, foreseen.said, foreseen.restored) == (done.lines, done.said, done.restored)


async def test_what_went_on_there_goes_on_here_and_what_went_on_here_stays() -> None:
    async with open_house(ScriptedLlm(["One.", "Two."])) as house, open_house(ScriptedLlm(["Own."])) as other:
        conversation = await house.new()
        await house.say("First", conversation)
        await imported(other, await exported(house))
        await house.say("Second", conversation)
        later = await exported(house)
        assert (await imported(other, later)).said == 2
        assert [one.message.content for one in await other.messages(conversation)] == [
            *("First", "One.", "Second", "Two.")
        ]
        await other.say("Third", conversation)
        await house.app.conversations.edit(house.me, conversation, ConversationEdit(title="Renamed there"))
        again = await imported(other, await exported(house))
        assert (again.said, again.differing, again.known) == (0, 1, 4)
        assert [one.message.content for one in await other.messages(conversation)][-2:] == ["Third", "Own."]


async def test_what_was_forgotten_here_does_not_come_back_with_what_said_it() -> None:
    async with open_house(model()) as house:
        await lived_in(house)
        file = await exported(house)
        (fact,) = (await house.app.memory.list(house.me)).items
        await house.app.forgetting.forget(house.me, [fact.record.id])
        talk = b"".join(line for line in file.splitlines(keepends=True) if b'"kind":"fact"' not in line)
        report = await imported(house, talk)
        assert report.said == 0
        assert report.differing > 0
        assert b"sails on Sundays" not in await exported(house)


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "conversation", "id": "c"},
        {"kind": "conversation", "id": "a b", "title": "T", "created_at": 0, "updated_at": 0},
        {"kind": "conversation", "id": "c", "title": "", "created_at": 0, "updated_at": 0},
        {"kind": "conversation", "id": "c", "title": "T", "created_at": "yesterday", "updated_at": 0},
        {"kind": "conversation", "id": "c", "title": "T", "created_at": 0, "updated_at": 0, "shown": ["/"]},
        *(
            {"kind": "conversation", "id": "c", "title": "T", "created_at": 0, "updated_at": 0} | wrong
            for wrong in (
                {"title": " \0\n"},
                {"title": "x" * 300},
                {"project": "p" * 5_000},
                {"project": ""},
                {"created_at": "9998-01-01T00:00:00Z"},
                {"updated_at": "9998-01-01T00:00:00Z"},
            )
        ),
        {"kind": "message", "id": "m"},
        *(
            {
                "kind": "message",
                "id": "m",
                "conversation": "here",
                "position": 0,
                "at": 0,
                "run": "",
                "message": {"role": "user", "content": "Hi"},
            }
            | wrong
            for wrong in (
                {"conversation": "nowhere"},
                {"position": -1},
                {"position": 10**18},
                {"position": 5_000_000},
                {"position": "0"},
                {"message": {"role": "wizard", "content": "Hi"}},
                {"message": {"role": "user", "content": 7}},
                {"message": None},
                {"at": "9999-01-01T00:00:00Z"},
                {"id": ""},
                {"usage": "much"},
            )
        ),
    ],
)
async def test_lines_of_conversations_that_are_not_fit_are_named_and_the_rest_is_kept(
    line: dict[str, object],
) -> None:
    async with open_house() as house:
        head = {"kind": "bethink_memory", "schema": 1}
        before = {"kind": "conversation", "id": "here", "title": "T", "created_at": 0, "updated_at": 0}
        after = before | {"id": "behind"}
        file = "\n".join(json.dumps(one) for one in (head, before, line, after)).encode()
        report = await imported(house, file)
        assert (report.lines, report.said, report.refused) == (3, 2, 1)
        assert [bad.line for bad in report.bad] == [3]


async def test_only_json_lines_hold_conversations() -> None:
    async with open_house() as house:
        for name in ("md", "csv", "data.json"):
            with pytest.raises(BadInput, match="jsonl only"):
                [part async for part in house.app.portability.export(house.me, name, conversations=True)]
