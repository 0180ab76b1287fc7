"""The memory service of spec 004: turns that other programs store, find, archive and take away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from bethink.clock import rfc3339
from bethink.conversations.entries import MemoryEntry
from bethink.conversations.records import MESSAGES
from bethink.conversations.service import ConversationFilter, ConversationStart
from bethink.documents.service import Documents
from bethink.errors import BadInput, MemoryUnavailable, NotAllowed, UnknownId
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import tokens_in
from bethink.store import Scan, records_of
from bethink.vault.filters.rules import FilterRule
from tests.house import House, open_house
from tests.library import plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
MONTH_S = 30 * 86_400


async def stored(
    house: House, conversation: str, user: str, assistant: str = "Noted.", **metadata: str
) -> str:
    memory = house.app.conversation_memory
    return await memory.store_conversation(house.me, conversation, user, assistant, metadata or None)


async def searched(house: House, query: str, **filters: str) -> list[str]:
    found = await house.app.conversation_memory.search_conversations(house.me, query, filters)
    return [entry.user_message for entry in found]


@pytest.mark.requirement("C20", "R137", "R139", "R140")
async def test_a_stored_turn_comes_back_with_its_own_ids_and_metadata() -> None:
    async with open_house() as house:
        memory = house.app.conversation_memory
        assert memory.is_available()
        metadata = {"user_id": "ann", "at": "the office", "topics": "travel, trains"}
        said = "My train to Graz leaves at noon."
        id = await stored(house, "chat/42", said, "Have a good trip!", **metadata)
        context = await memory.retrieve_context(house.me, "When does my train to Graz leave?")
        (entry,) = context.entries
        assert (entry.id, entry.conversation_id, entry.metadata) == (id, "chat/42", metadata)
        assert (entry.user_message, entry.assistant_message) == (said, "Have a good trip!")
        assert entry.timestamp.utcoffset() is not None
        assert len(context.relevance_scores) == 1
        assert 0.25 <= context.relevance_scores[0] <= 1
        assert context.total_tokens == tokens_in(f"{entry.user_message}\n{entry.assistant_message}")


async def test_a_stored_turn_is_a_conversation_like_any_other() -> None:
    async with open_house(ScriptedLlm(["You are welcome."])) as house:
        await stored(house, "chat-1", "The violin is in the attic.", "I will remember.")
        await stored(house, "chat-1", "The bow is with it.")
        (held,) = (await house.app.conversations.list(house.me)).items
        assert (held.record.title, held.record.count) == ("The violin is in the attic.", 4)
        (hit,) = await house.app.recall.search(house.me, "Where is the violin?", 1)
        assert (hit.text, hit.conversation) == ("The violin is in the attic.", held.record.id)
        await house.say("Thank you.", held.record.id)
        again = await stored(house, held.record.id, "It has four strings.")
        assert [one.message.content for one in await house.messages(held.record.id)][-2:] == [
            "It has four strings.",
            "Noted.",
        ]
        (entry,) = await house.app.conversation_memory.search_conversations(house.me, "four strings")
        assert (entry.id, entry.conversation_id) == (again, "chat-1")


async def test_a_turn_held_in_bethink_is_an_entry_with_its_answer() -> None:
    async with open_house(ScriptedLlm(["You are welcome."])) as house:
        conversation = await house.new()
        await house.say("The spare key is under the blue pot.", conversation)
        (entry,) = await house.app.conversation_memory.search_conversations(house.me, "spare key blue pot")
        answer = (await house.messages(conversation))[-1].message.content
        assert (entry.user_message, entry.assistant_message) == (
            "The spare key is under the blue pot.",
            answer,
        )
        assert (entry.conversation_id, entry.metadata) == (conversation, {})


@pytest.mark.requirement("U9")
async def test_five_entries_by_default_and_of_equal_ones_the_recent_first() -> None:
    async with open_house() as house:
        for month in range(8):
            await stored(
                house, f"c{month}", "We met at the harbour café again.", f"That was meeting {month}."
            )
            house.clock.advance(MONTH_S)
        memory, ports = house.app.conversation_memory, house.app.ports
        # What words alone find, and what vectors find that tell the days apart.
        for is_embedded in (False, True):
            while is_embedded and await ports.index.missing_vectors(
                house.me.owner, ports.embeddings.model, 1
            ):
                await anyio.lowlevel.checkpoint()
            found = (await memory.retrieve_context(house.me, "Who met at the harbour café?")).entries
            assert [one.conversation_id for one in found] == ["c7", "c6", "c5", "c4", "c3"]
        three = await memory.retrieve_context(house.me, "Who met at the harbour café?", 3)
        assert [one.conversation_id for one in three.entries] == ["c7", "c6", "c5"]


async def test_a_question_that_nothing_answers_has_no_context() -> None:
    async with open_house() as house:
        await stored(house, "c", "The violin is in the attic.")
        context = await house.app.conversation_memory.retrieve_context(house.me, "glacier")
        assert (context.entries, context.relevance_scores, context.total_tokens) == ([], [], 0)


@pytest.mark.requirement("C20", "R139")
async def test_searches_are_bounded_by_conversation_time_and_metadata() -> None:
    async with open_house() as house:
        await stored(house, "a", "The boat needs paint.", user_id="ann", topics="boat")
        house.clock.advance(MONTH_S)
        await stored(house, "b", "The boat needs a sail.", user_id="bob")
        await stored(house, "b", "The boat needs oars.", user_id="ann")
        when = rfc3339(house.clock.now_us() - MONTH_S * 500_000)
        assert set(await searched(house, "boat")) == {
            "The boat needs paint.",
            "The boat needs a sail.",
            "The boat needs oars.",
        }
        assert await searched(house, "boat", conversation_id="a") == ["The boat needs paint."]
        assert await searched(house, "boat", until=when) == ["The boat needs paint."]
        assert set(await searched(house, "boat", since=when)) == {
            "The boat needs a sail.",
            "The boat needs oars.",
        }
        assert set(await searched(house, "boat", user_id="ann")) == {
            "The boat needs paint.",
            "The boat needs oars.",
        }
        assert await searched(house, "boat", user_id="ann", since=when) == ["The boat needs oars."]
        assert await searched(house, "boat", user_id="ann", topics="boat") == ["The boat needs paint."]
        assert await searched(house, "boat", user_id="nobody") == []
        assert await searched(house, "boat", conversation_id="nowhere") == []


async def test_what_only_an_answer_says_finds_its_turn_by_metadata_too() -> None:
    async with open_house() as house:
        await stored(house, "a", "Which river is it?", "It is the Danube.", topics="rivers")
        assert await searched(house, "Danube", topics="rivers") == ["Which river is it?"]


@pytest.mark.requirement("C20", "U9")
async def test_a_cleared_conversation_is_archived_found_and_goes_on() -> None:
    async with open_house() as house:
        conversations, memory = house.app.conversations, house.app.conversation_memory
        await stored(house, "a", "The boat needs paint.")
        await memory.clear_conversation(house.me, "a")
        assert (await conversations.list(house.me)).items == ()
        assert len((await conversations.list(house.me, ConversationFilter(place="archive"))).items) == 1
        assert await searched(house, "boat") == ["The boat needs paint."]
        await stored(house, "a", "And a sail.")
        assert len((await conversations.list(house.me)).items) == 1
        with pytest.raises(UnknownId, match="no conversation 'b'"):
            await memory.clear_conversation(house.me, "b")


@pytest.mark.requirement("C20", "U9")
async def test_an_export_is_a_knowledge_base_that_is_imported_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "memory.tar.gz"
    async with open_house() as house:
        await stored(house, "a", "The violin is in the attic.", "Good to know.", topics="music")
        await stored(house, "a", "The bow is in the cellar.")
        await stored(house, "b", "The boat needs paint.")
        report = await house.app.conversation_memory.export_knowledge_base(house.me, path)
        assert (report.name, report.counts.documents, report.counts.pages) == ("conversations", 2, 3)
        before = await anyio.Path(path).read_bytes()
        await house.app.conversation_memory.export_knowledge_base(house.me, path)
        assert await anyio.Path(path).read_bytes() == before
        work = anyio.Path(house.app.features.of(Documents).bases.work)
        assert [one async for one in work.iterdir()] == []
    async with open_house() as other:
        bases = other.app.features.of(Documents).bases
        await bases.import_archive(other.me, path)
        hits = await bases.search(other.me, "conversations", "Where is the bow?")
        assert "The bow is in the cellar." in hits[0].text
        assert (hits[0].document.origin.place, hits[0].page) == ("a", 2)
        original = await other.app.library.original(other.me, hits[0].content.id)
        lines = (await anyio.Path(original).read_text()).splitlines()
        first = msgspec.json.decode(lines[0], type=MemoryEntry)
        assert (first.conversation_id, first.metadata) == ("a", {"topics": "music"})
        assert first.user_message == "The violin is in the attic."


@pytest.mark.requirement("U9", "R159")
async def test_without_memory_nothing_is_stored_and_the_user_is_told(tmp_path: Path) -> None:
    async with open_house(memory_enabled=False) as house:
        memory = house.app.conversation_memory
        assert not memory.is_available()
        calls = (
            memory.store_conversation(house.me, "a", "x", "y"),
            memory.retrieve_context(house.me, "x"),
            memory.search_conversations(house.me, "x"),
            memory.clear_conversation(house.me, "a"),
            memory.export_knowledge_base(house.me, tmp_path / "x.tar.gz"),
        )
        for call in calls:
            with pytest.raises(MemoryUnavailable, match="Memory is switched off"):
                await call
        assert (await house.app.conversations.list(house.me)).items == ()


@pytest.mark.requirement("U9")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"conversation_id": ""}, "conversation_id is ''"),
        ({"conversation_id": "a\nb"}, "conversation_id is"),
        ({"conversation_id": "x" * 201}, "conversation_id is"),
        ({"conversation_id": 7}, "conversation_id is 7"),
        ({"user_message": " \n"}, "user_message: The message is empty"),
        ({"assistant_message": ""}, "assistant_message: The message is empty"),
        ({"assistant_message": None}, "assistant_message is None"),
        ({"user_message": "x" * 2_000_000}, "user_message: The message has 2,000,000 characters"),
        ({"metadata": ["a"]}, "metadata is"),
        ({"metadata": {"a": 1}}, r"metadata\['a'\] is 1"),
        ({"metadata": {"": "x"}}, "metadata has the name ''"),
        ({"metadata": {"since": "x"}}, "metadata has the name 'since', which is a filter's"),
        ({"metadata": {"a": "x" * 2_001}}, r"metadata\['a'\] is"),
        ({"metadata": {str(number): "x" for number in range(33)}}, "metadata is"),
    ],
)
async def test_what_cannot_be_stored_is_named_with_its_reason(change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"conversation_id": "a", "user_message": "x", "assistant_message": "y"} | change
    async with open_house() as house:
        with pytest.raises(BadInput, match=named):
            await house.app.conversation_memory.store_conversation(house.me, **given)
        assert (await house.app.conversations.list(house.me)).items == ()


@pytest.mark.requirement("U9")
@pytest.mark.parametrize(
    ("query", "filters", "limit", "named"),
    [
        ("", {}, 5, "query is ''"),
        (7, {}, 5, "query is 7"),
        ("x" * 2_001, {}, 5, "query is"),
        ("x", {}, 0, "limit is 0: give a number from 1 to 50"),
        ("x", {}, True, "limit is True"),
        ("x", {"since": "soon"}, 5, r"filters\['since'\]: 'soon' is not a time"),
        ("x", {"until": ""}, 5, r"filters\['until'\]"),
        ("x", {"conversation_id": ""}, 5, "conversation_id is ''"),
        ("x", {"topics": 3}, 5, r"filters\['topics'\] is no text"),
    ],
)
async def test_what_cannot_be_searched_is_named_with_its_reason(
    query: Any,  # noqa: ANN401 - whatever programs give
    filters: dict[str, Any],
    limit: int,
    named: str,
) -> None:
    async with open_house() as house:
        with pytest.raises(BadInput, match=named):
            await house.app.conversation_memory.search_conversations(house.me, query, filters, limit=limit)


async def test_turns_stored_at_once_in_one_conversation_are_all_there() -> None:
    async with open_house() as house:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(stored, house, "a", f"Boat number {number}.")
        (held,) = (await house.app.conversations.list(house.me)).items
        said = [one.message.content for one in await house.messages(held.record.id)]
        assert len(said) == 40
        assert {one for one in said if one != "Noted."} == {f"Boat number {number}." for number in range(20)}


async def test_nothing_is_stored_in_a_temporary_conversation() -> None:
    async with open_house() as house:
        held = await house.app.conversations.create(house.me, ConversationStart(temporary=True))
        with pytest.raises(BadInput, match="temporary conversation"):
            await stored(house, held.id, "x")


@pytest.mark.requirement("R3")
async def test_nobody_finds_the_turns_of_somebody_else() -> None:
    async with open_house() as house:
        await stored(house, "a", "The boat needs paint.", user_id="ann")
        other = replace(house.me, owner="bob")
        memory = house.app.conversation_memory
        assert await memory.search_conversations(other, "boat") == []
        assert await memory.search_conversations(other, "boat", {"user_id": "ann"}) == []
        await memory.store_conversation(other, "a", "The boat is sold.", "Oh.")
        assert await searched(house, "boat") == ["The boat needs paint."]


async def test_what_is_forgotten_goes_from_metadata_too() -> None:
    async with open_house() as house:
        fact = await house.app.memory.add(house.me, NewFact("The Acme contract ends in Maytember"))
        note = "The Acme contract ends in Maytember"
        await stored(house, "a", "Nothing to see.", user_id="ann", note=note)
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        kept = [one async for one in records_of(house.app.ports.store, house.me.owner, Scan(MESSAGES))]
        assert {one.metadata for one in kept} == {(("user_id", "ann"),)}


async def test_metadata_survives_an_export_of_everything() -> None:
    async with open_house() as house, open_house() as other:
        metadata = {"at": "home", "created_at": "never"}
        await stored(house, "a", "The boat needs paint.", **metadata)
        text = "".join(
            [part async for part in house.app.portability.export(house.me, "jsonl", conversations=True)]
        )
        import io

        await other.app.portability.import_file(other.me, io.BytesIO(text.encode()))
        (entry,) = await other.app.conversation_memory.search_conversations(other.me, "boat", metadata)
        assert (entry.conversation_id, entry.metadata) == ("a", metadata)


@pytest.mark.requirement("U9")
async def test_above_a_number_of_turns_conversations_of_half_a_year_ago_are_archived() -> None:
    async with open_house(conversations_archive_above=2) as house:
        await stored(house, "old", "The boat needs paint.")
        house.clock.advance(3 * MONTH_S)
        await stored(house, "newer", "The boat needs oars.")
        house.clock.advance(4 * MONTH_S)
        await house.app.housekeeping.tidy(house.me)
        assert len((await house.app.conversations.list(house.me)).items) == 2
        await stored(house, "now", "The boat needs a sail.")
        await house.app.housekeeping.tidy(house.me)
        listed = (await house.app.conversations.list(house.me)).items
        assert {one.record.caller_id for one in listed} == {"newer", "now"}
        assert await searched(house, "paint") == ["The boat needs paint."]


async def test_a_filter_hides_in_texts_and_metadata_and_refuses_the_export(tmp_path: Path) -> None:
    async with open_house() as house:
        await house.app.visibility.filters.add(replace(house.me, audience="web"), FilterRule(pattern="phone"))
        said, answer = "My boat's phone is +49 30 1234567.", "Noted, +49 30 1234567."
        await stored(house, "a", said, answer, note="+49 30 1234567")
        memory, reader = house.app.conversation_memory, replace(house.me, audience="mcp-stdio:other")
        (entry,) = await memory.search_conversations(reader, "boat")
        assert "1234567" not in str(entry)
        assert "boat" in entry.user_message
        with pytest.raises(NotAllowed, match="Filters hide a part of your data"):
            await memory.export_knowledge_base(reader, tmp_path / "memory.tar.gz")
        assert not await anyio.Path(tmp_path / "memory.tar.gz").exists()
