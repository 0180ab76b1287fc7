"""Forgetting through the doors: the command line and HTTP show what would go, and give a receipt."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from tests.command_line import CommandLine
from tests.door import open_door
from tests.unit.test_web_memories import contents, kept

UNKNOWN = "01a20063-6c15-7000-ba0e-e17b85e88ccf"


def test_the_command_line_previews_and_changes_nothing(plain: CommandLine) -> None:
    id = plain.added("User worked at Initech.")
    plain.added("User likes tea.")
    (preview,) = plain("memory", "forget", "--query", "Initech", "--preview", "--json").documents
    assert [fact["id"] for fact in preview["memories"]] == [id]
    assert preview["messages"] == preview["versions"] == preview["conversations"] == []
    shown = plain("memory", "forget", id, "--preview")
    assert shown.out == f"User worked at Initech.  ({id})\n"
    assert len(plain.facts()) == 2
    receipt = plain("memory", "forget", "--query", "Initech", "--yes", "--json")
    assert receipt.documents[0]["ids"] == [id]
    assert "Initech" not in receipt.out
    assert plain.facts() == {"User likes tea."}


def test_the_command_line_forgets_what_was_learnt_in_a_time(plain: CommandLine) -> None:
    plain.added("User likes tea.")
    for words in (("--until", "2020-01-01"), ("--since", "2999-01-01T10:00"), ("--since", "2999-01-01")):
        ended = plain("memory", "forget", *words, "--yes")
        assert (ended.code, ended.err) == (0, "There were no memories to forget.\n")
    assert plain("memory", "forget", "--since", "2020-01-01", "--until", "2999-12-31", "--yes").code == 0
    assert plain.facts() == set()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--query", ""),
        ("--query", "tea", "--all"),
        ("--since", "yesterday"),
        ("--since", "2020-13-01"),
        ("--query", "tea", "-k", "0"),
        (UNKNOWN,),
        (UNKNOWN, "--since", "2020-01-01"),
    ],
)
def test_the_command_line_says_what_it_needs_to_know(words: tuple[str, ...], plain: CommandLine) -> None:
    plain.added("User likes tea.")
    ended = plain("memory", "forget", *words, "--yes")
    assert ended.code == 2
    assert ended.err
    assert plain.facts() == {"User likes tea."}


@pytest.mark.anyio
async def test_http_shows_a_preview_first_and_forgets_with_its_token() -> None:
    stored = ScriptedCall("store_memory", {"content": "User worked at Initech."})
    async with open_door(ScriptedLlm([[stored], "I see."])) as door:
        conversation = await door.new()
        await door.chat(conversation, "I worked at Initech. And you?")
        await kept(door, "Likes tea")
        preview = (await door.http.post("/memories/forget", json={"query": "Initech"})).json()
        assert [memory["content"] for memory in preview["memories"]] == ["User worked at Initech."]
        said = [(item["by_owner"], item["sentences"]) for item in preview["messages"]]
        assert (True, ["I worked at Initech."]) in said
        assert preview["conversations"] == [conversation]
        body = {"query": "Initech", "confirm": preview["token"]}
        receipt = (await door.http.post("/memories/forget", json=body)).json()
        assert (receipt["forgotten"], receipt["conversations"]) == (1, [conversation])
        assert len(receipt["messages"]) == len(preview["messages"])
        assert "Initech" not in str(receipt)
        assert await contents(door, state="all") == ["Likes tea"]
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
        assert shown["title"] == shown["messages"][0]["content"] == "[forgotten] And you?"
        again = await door.http.post("/memories/forget", json=body)
        assert (again.status_code, again.json()["type"]) == (409, "urn:bethink:error:conflict")


@pytest.mark.anyio
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": []},
        {"query": " "},
        {"query": "tea", "all": True},
        {"since": "2020-01-01"},
        {"since": "2020-01-01T00:00:00"},
        {"query": "tea", "k": 0},
        {"all": True, "confirm": "yes"},
        {"all": True, "confirm": ""},
        {"query": "tea", "unknown": 1},
        {"ids": "everything"},
    ],
)
async def test_http_refuses_what_is_no_request_to_forget(body: dict[str, Any]) -> None:
    async with open_door() as door:
        await kept(door, "Likes tea")
        answer = await door.http.post("/memories/forget", json=body)
        assert answer.status_code == 422
        assert await contents(door) == ["Likes tea"]


@pytest.mark.anyio
async def test_http_forgets_by_ids_by_time_and_all() -> None:
    async with open_door() as door:
        ids = [(await kept(door, content))["memory"]["id"] for content in ("One", "Two", "Three", "Four")]
        times = (await door.http.get("/memories")).json()["items"]
        asked: list[tuple[dict[str, Any], int]] = [
            ({"ids": [ids[0], UNKNOWN]}, 1),
            ({"since": times[2]["created_at"], "until": times[1]["created_at"]}, 1),
            ({"all": True}, 2),
            ({"all": True}, 0),
        ]
        for body, count in asked:
            preview = (await door.http.post("/memories/forget", json=body)).json()
            assert len(preview["memories"]) == count
            body["confirm"] = preview["token"]
            receipt = (await door.http.post("/memories/forget", json=body)).json()
            assert receipt["forgotten"] == count
        assert await contents(door, state="all") == []
