"""Search, export and branches over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.principal import Principal
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio

PARIS = ScriptedCall("store_memory", {"content": "Lives in Paris", "importance": 0.9}, id="c1")


async def shown(door: Door, conversation: str, **query: object) -> dict[str, Any]:
    return (await door.http.get(f"/conversations/{conversation}", params=query)).json()  # pyright: ignore[reportArgumentType] - by name


async def texts(door: Door, conversation: str) -> list[str]:
    return [message["content"] for message in (await shown(door, conversation))["messages"]]


async def test_a_search_marks_the_words_in_whatever_form_and_names_the_conversation() -> None:
    async with open_door(ScriptedLlm(["Lisbon is lovely.", "Fine."])) as door:
        lisbon, other = await door.new(), await door.new()
        await door.chat(lisbon, "I am flying to Lisbon with two flights")
        await door.chat(other, "The gardener comes on Monday")
        found = (await door.http.get("/conversations/search", params={"query": "flight lisbon"})).json()
    first = found["items"][0]
    assert (first["conversation"], first["role"], first["active"]) == (lisbon, "user", True)
    assert [first["snippet"][mark["start"] : mark["end"]] for mark in first["marks"]] == ["Lisbon", "flights"]
    assert {item["conversation"] for item in found["items"]} == {lisbon}
    assert found["cursor"] is None


async def test_pages_of_a_search_join_up_beyond_what_recall_gives() -> None:
    said = 30
    async with open_door(ScriptedLlm(["Noted."] * said)) as door:
        conversation = await door.new()
        for number in range(said):
            await door.chat(conversation, f"Invoice number {number} is paid")
        ids: list[str] = []
        cursor: str | None = None
        while True:
            query = {"query": "invoice", "limit": 7} | ({"cursor": cursor} if cursor else {})
            page = (await door.http.get("/conversations/search", params=query)).json()
            ids += [item["message"] for item in page["items"]]
            if (cursor := page["cursor"]) is None:
                break
    assert len(ids) == len(set(ids)) == said


async def test_a_search_keeps_to_one_conversation_and_one_owner() -> None:
    async with open_door(ScriptedLlm(["One", "Two"])) as door:
        first, second = await door.new(), await door.new()
        await door.chat(first, "The budget is tight")
        await door.chat(second, "A budget for the trip")
        url = "/conversations/search"
        found = (await door.http.get(url, params={"query": "budget", "conversation": second})).json()
        app = door.house.app
        theirs = await app.message_search.search(Principal("stranger"), "budget")
        assert [item["conversation"] for item in found["items"]] == [second]
        assert theirs.items == ()
        assert (await door.http.get(url, params={"query": "of the"})).status_code == 422
        assert (await door.http.get(url, params={"query": "x", "conversation": "none"})).status_code == 404
        assert (await door.http.get(url, params={"query": "budget", "cursor": "-1"})).status_code == 422


async def test_going_on_from_an_earlier_message_keeps_what_was_said_before() -> None:
    async with open_door(ScriptedLlm(["One", "Two", "Other"])) as door:
        conversation = await door.new()
        await door.chat(conversation, "First")
        await door.chat(conversation, "Second")
        before = await shown(door, conversation)
        answer = before["messages"][1]["id"]
        url = f"/conversations/{conversation}"
        parted = (await door.http.post(f"{url}/branch", json={"message": answer})).json()
        assert (parted["branch"], parted["branch_count"], parted["message_count"]) == (1, 2, 2)
        await door.chat(conversation, "Instead")
        now = await shown(door, conversation)
        assert [message["content"] for message in now["messages"]] == ["First", "One", "Instead", "Other"]
        assert [message["siblings"] for message in now["messages"]] == [
            None,
            None,
            {"index": 1, "branches": [0, 1]},
            None,
        ]
        back = (await door.http.patch(url, json={"branch": 0})).json()
        assert back["message_count"] == 4
        again = await shown(door, conversation)
        assert [one["content"] for one in again["messages"]] == ["First", "One", "Second", "Two"]
        assert again["messages"][2]["siblings"] == {"index": 0, "branches": [0, 1]}
        assert (await door.http.patch(url, json={"branch": 2})).status_code == 404


async def test_what_a_branch_left_behind_is_searched_but_not_recalled() -> None:
    async with open_door(ScriptedLlm(["A nice name.", "Oh.", "Good."])) as door:
        conversation, other = await door.new(), await door.new()
        await door.chat(conversation, "Hello there")
        await door.chat(conversation, "My canary is called Philomena")
        first = (await shown(door, conversation))["messages"][1]["id"]
        recall = {"query": "What is my canary called?"}
        assert "Philomena" in (await door.http.get("/recall", params=recall)).text
        await door.http.post(f"/conversations/{conversation}/branch", json={"message": first})
        assert "Philomena" not in (await door.http.get("/recall", params=recall)).text
        found = (await door.http.get("/conversations/search", params={"query": "canary"})).json()
        assert [(item["active"], item["branch"]) for item in found["items"]] == [(False, 0)]
        assert await texts(door, conversation) == ["Hello there", "A nice name."]
        assert await texts(door, other) == []


async def test_pages_of_messages_join_up_across_branches() -> None:
    async with open_door(ScriptedLlm([f"A{number}" for number in range(9)])) as door:
        conversation = await door.new()
        for number in range(4):
            await door.chat(conversation, f"Q{number}")
        messages = (await shown(door, conversation))["messages"]
        await door.http.post(f"/conversations/{conversation}/branch", json={"message": messages[3]["id"]})
        await door.chat(conversation, "New")
        pages: list[list[str]] = []
        cursor: str | None = None
        while True:
            page = await shown(door, conversation, limit=3, **({"before": cursor} if cursor else {}))
            pages.insert(0, [message["content"] for message in page["messages"]])
            if (cursor := page["cursor"]) is None:
                break
    assert [len(page) for page in pages] == [3, 3]
    assert [text for page in pages for text in page] == ["Q0", "A0", "Q1", "A1", "New", "A4"]


@pytest.mark.requirement("R128")
async def test_an_export_is_named_after_the_title_and_holds_every_message() -> None:
    async with open_door(ScriptedLlm([[PARIS], "Noted.", "Again."])) as door:
        conversation = await door.new()
        url = f"/conversations/{conversation}"
        await door.chat(conversation, "I live in Paris\n```\nfence\n```")
        await door.http.patch(url, json={"title": "../Paris: 7/11?", "system": "Be kind."})
        last = (await shown(door, conversation))["messages"][-1]["id"]
        first = (await shown(door, conversation))["messages"][0]["id"]
        await door.http.post(f"{url}/branch", json={"message": first})
        await door.chat(conversation, "Hello again")
        text = await door.http.get(f"{url}/export")
        data = await door.http.get(f"{url}/export", params={"format": "json"})
    assert text.headers["content-disposition"] == "attachment; filename*=utf-8''Paris%207%2011.md"
    assert text.headers["content-type"].startswith("text/markdown")
    heads = re.findall(r"^(#.*?)(?:, 20.*)?$", text.text, re.MULTILINE)
    assert heads == ["# ../Paris: 7/11?", "## You", "## You", "## Bethink"]
    assert "> Be kind." in text.text
    document = data.json()
    assert [(one["role"], one["branch"], one["active"]) for one in document["messages"]] == [
        ("user", 0, True),
        ("assistant", 0, False),
        ("tool", 0, False),
        ("assistant", 0, False),
        ("user", 1, True),
        ("assistant", 1, True),
    ]
    assert document["messages"][3]["id"] == last
    assert document["system"] == "Be kind."


async def test_messages_are_read_around_a_position_and_from_there_in_both_directions() -> None:
    async with open_door(ScriptedLlm(["Noted."] * 10)) as door:
        conversation = await door.new()
        for number in range(10):
            await door.chat(conversation, f"Note {number}")

        async def positions(**query: object) -> list[int]:
            page = await shown(door, conversation, limit=4, **query)
            return [message["position"] for message in page["messages"]]

        assert await positions() == [16, 17, 18, 19]
        assert await positions(at=8) == [7, 8, 9, 10]
        assert await positions(after=10) == [11, 12, 13, 14]
        assert await positions(before=7) == [3, 4, 5, 6]
        assert await positions(at=0) == [0, 1, 2]
        assert await positions(after=17) == [18, 19]
        found = (await door.http.get("/conversations/search", params={"query": "note 7"})).json()
        said = next(item for item in found["items"] if item["role"] == "user")
        assert said["position"] in await positions(at=said["position"])
        assert (await door.http.get(f"/conversations/{conversation}?at=-1")).status_code == 422


async def test_the_summary_of_a_long_conversation_is_told_and_none_is_not_found() -> None:
    llm = ScriptedLlm(["A1", "A2", "They greeted.", "A3"])
    long: dict[str, Any] = {"summary_after_messages": 4, "summary_keep_messages": 2}
    async with open_door(llm, **long) as door:
        conversation = await door.new()
        none = await door.http.get(f"/conversations/{conversation}/summary")
        for number in range(3):
            await door.chat(conversation, f"Q{number}")
        summary = (await door.http.get(f"/conversations/{conversation}/summary")).json()
    assert none.status_code == 404
    assert (summary["text"], summary["covered_messages"]) == ("They greeted.", 2)
