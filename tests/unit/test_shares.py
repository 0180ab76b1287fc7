"""Shares: what a link shows of a conversation, to whom, and for how long."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from bethink.errors import UnknownId
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.principal import Principal
from bethink.shares import SHARED_PARTS, SHARES, Shares
from bethink.store import Scan
from tests.command_line import CommandLine
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio

AT = "2026-05-03T10:00:00Z"
MEMORY = "The user's daughter is called Philomena"


async def shared(door: Door, conversation: str, **options: object) -> dict[str, object]:
    answer = await door.http.post(f"/conversations/{conversation}/shares", json=options)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def read(door: Door, share: dict[str, object]) -> dict[str, object]:
    answer = await door.http.get(str(share["path"]))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def told(door: Door) -> str:
    """A conversation in which a memory was recalled and a tool was used."""
    await door.http.post("/memories", json={"content": MEMORY, "importance": 0.95})
    conversation = await door.new()
    await door.chat(conversation, "What is a good name for a boat?")
    return conversation


def llm(*more: str) -> ScriptedLlm:
    return ScriptedLlm([[ScriptedCall("search_memory", {"query": "names"}, id="c1")], "Try Sirius.", *more])


async def test_a_link_shows_what_was_said_and_nothing_of_memory_or_tools() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door))
        answer = await door.http.get(str(share["path"]))
    shown = answer.json()
    assert [(one["role"], one["content"]) for one in shown["messages"]] == [
        ("user", "What is a good name for a boat?"),
        ("assistant", "Try Sirius."),
    ]
    assert "Philomena" not in answer.text
    assert "search_memory" not in answer.text
    assert answer.headers["x-robots-tag"] == "noindex, nofollow"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_memories_are_shown_if_that_is_chosen() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door), memories=True)
        shown = await read(door, share)
    assert MEMORY in str(shown)


async def test_what_is_said_later_is_not_shown() -> None:
    async with open_door(llm("Or Vega.")) as door:
        conversation = await told(door)
        share = await shared(door, conversation)
        await door.chat(conversation, "Another one?")
        await door.http.patch(f"/conversations/{conversation}", json={"title": "Renamed"})
        shown = await read(door, share)
    assert "Vega" not in str(shown)
    assert shown["title"] != "Renamed"


async def test_a_link_ends_at_its_time_and_its_copy_is_purged() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door), days=2)
        door.house.clock.advance(timedelta(days=1).total_seconds())
        assert (await door.http.get(str(share["path"]))).status_code == 200
        door.house.clock.advance(timedelta(days=1, seconds=1).total_seconds())
        assert (await door.http.get(str(share["path"]))).status_code == 404
        assert (await door.http.get("/shares")).json()["items"] == []
        assert await door.house.app.features.of(Shares).purge(door.house.me) == 1
        store, owner = door.house.app.ports.store, door.house.me.owner
        pages = await store.scan(owner, Scan(SHARED_PARTS))
    assert not pages[0].items


async def test_a_revoked_link_shows_nothing() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door), days=None)
        assert share["expires_at"] is None
        assert (await door.http.delete(f"/shares/{share['id']}")).status_code == 204
        assert (await door.http.get(str(share["path"]))).status_code == 404


async def test_the_link_is_told_once_and_kept_as_a_digest_alone() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door))
        (listed,) = (await door.http.get("/shares")).json()["items"]
        (page,) = await door.house.app.ports.store.scan(door.house.me.owner, Scan(SHARES))
    token = str(share["path"]).rpartition("/")[2]
    assert listed["path"] is None
    assert token not in str(page.items)
    assert listed["hint"] == token[-4:]


@pytest.mark.parametrize("token", ["nothing", "bG9jYWw.nothing", "....", "%00", "bG9jYWw." + "x" * 600])
async def test_a_link_that_was_never_made_shows_nothing(token: str) -> None:
    async with open_door() as door:
        assert (await door.http.get(f"/share/{token}")).status_code == 404


async def test_what_is_forgotten_goes_from_what_is_shared() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door), memories=True)
        fact = (await door.http.get("/memories")).json()["items"][0]["id"]
        preview = (await door.http.post("/memories/forget", json={"ids": [fact]})).json()
        confirmed = {"ids": [fact], "confirm": preview["token"]}
        assert (await door.http.post("/memories/forget", json=confirmed)).status_code == 200
        shown = await read(door, share)
    assert "Philomena" not in str(shown)
    assert "Try Sirius." in str(shown)


async def test_a_conversation_that_is_deleted_for_good_is_not_shared_any_more() -> None:
    async with open_door(llm()) as door:
        conversation = await told(door)
        share = await shared(door, conversation)
        await door.http.delete(f"/conversations/{conversation}")
        assert (await door.http.get(str(share["path"]))).status_code == 404


async def test_files_are_shown_only_if_that_is_chosen() -> None:
    async with open_door(ScriptedLlm(["A cat."])) as door:
        conversation = await door.new()
        upload = {"file": ("cat.txt", b"meow", "text/plain")}
        file = (await door.http.post(f"/conversations/{conversation}/files", files=upload)).json()
        message = {"role": "user", "content": "What is this?", "attachments": [file["id"]]}
        body = {"message": message, "stream": False}
        await door.http.post(f"/conversations/{conversation}/chat", json=body)
        bare, whole = await shared(door, conversation), await shared(door, conversation, files=True)
        assert "cat.txt" not in str(await read(door, bare))
        (shown,) = (await read(door, whole))["messages"][0]["files"]  # pyright: ignore[reportIndexIssue]
        content = await door.http.get(shown["url"])
        refused = await door.http.get(f"{bare['path']}/files/{file['id']}")
    assert content.content == b"meow"
    assert content.headers["content-disposition"].startswith("attachment")
    assert refused.status_code == 404


async def test_an_empty_conversation_and_that_of_another_owner_cannot_be_shared() -> None:
    async with open_door(llm()) as door:
        conversation = await door.new()
        assert (await door.http.post(f"/conversations/{conversation}/shares", json={})).status_code == 422
        assert (await door.http.post("/conversations/nowhere/shares", json={})).status_code == 404
        share = await shared(door, await told(door))
        shares = door.house.app.features.of(Shares)
        other = Principal("other")
        assert await shares.list(other) == []
        with pytest.raises(UnknownId):
            await shares.revoke(other, str(share["id"]))


async def test_how_often_a_link_was_opened_is_told_to_its_owner() -> None:
    async with open_door(llm()) as door:
        share = await shared(door, await told(door))
        assert (share["opened"], share["opened_at"]) == (0, None)
        await read(door, share)
        await read(door, share)
        (seen,) = (await door.http.get("/shares")).json()["items"]
        assert seen["opened"] == 1
        assert seen["opened_at"] is not None
        # Counting what was revoked meanwhile does not bring it back.
        await door.http.delete(f"/shares/{share['id']}")
        await door.house.app.features.of(Shares).note_opened(door.house.me.owner, str(share["id"]))
        assert (await door.http.get("/shares")).json()["items"] == []


def test_the_command_line_shares_lists_and_revokes(bethink: CommandLine) -> None:
    (line,) = bethink("memory", "add", "--json", "Likes tea").documents
    assert line
    assert bethink("shares", "list").out == ""
    refused = bethink("shares", "add", "not-there")
    assert refused.code == 2
    head = {"kind": "bethink_memory", "schema": 1}
    talk = {"kind": "conversation", "id": "t", "title": "Trains", "created_at": AT, "updated_at": AT}
    said = {
        "kind": "message", "id": "t-0", "conversation": "t", "position": 0, "at": AT, "run": "r",
        "message": {"role": "user", "content": "Which train?"},
    }  # fmt: skip
    file = bethink.data.parent / "talk.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in (head, talk, said)), encoding="utf-8")
    assert bethink("memory", "import", str(file)).code == 0
    (made,) = bethink("shares", "add", "t", "--days", "7", "--json").documents
    assert made["path"].startswith("/share/")
    (listed,) = bethink("shares", "list", "--conversation", "t", "--json").documents
    assert (listed["title"], listed["messages"], listed["opened"]) == ("Trains", 1, 0)
    assert "path" not in listed
    assert bethink("shares", "revoke", made["id"]).code == 0
    assert bethink("shares", "list", "--json").documents == []
