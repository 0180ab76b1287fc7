"""The page of the Users Management Agent (spec 001 and its api.md), unchanged, on another port."""

from __future__ import annotations

import json

import pytest

from bethink.llm.scripted import ScriptedLlm
from tests.door import open_door

pytestmark = pytest.mark.anyio
PAGE = {"Origin": "http://localhost:3000"}


async def test_its_page_gets_the_shapes_that_it_expects_and_all_others_ours() -> None:
    pages = ["http://localhost:3000"]
    async with open_door(ScriptedLlm(["Hello!", "Bye!"]), ums_pages=pages) as door:
        asked = await door.http.options(
            "/conversations", headers={**PAGE, "Access-Control-Request-Method": "POST"}
        )
        assert asked.headers["access-control-allow-origin"] == PAGE["Origin"]
        made = await door.http.post("/conversations", json={}, headers=PAGE)
        assert made.headers["access-control-allow-origin"] == PAGE["Origin"]
        assert made.json()["title"] == "New Conversation"
        assert (await door.http.post("/conversations", json={})).json()["title"] == "New chat"
        at = f"/conversations/{made.json()['id']}"
        said = {"message": {"role": "user", "content": "Hi"}, "stream": True}
        lines = (await door.http.post(f"{at}/chat", json=said, headers=PAGE)).text.splitlines()
        first, *chunks, last = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        assert json.loads(first) == {"conversation_id": made.json()["id"]}
        choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
        assert "".join(choice["delta"].get("content") or "" for choice in choices) == "Hello!"
        assert choices[-1]["finish_reason"] == "stop"
        assert last == "[DONE]"
        whole = await door.http.post(f"{at}/chat", json={**said, "stream": False}, headers=PAGE)
        assert whole.json() == {"content": "Bye!", "conversation_id": made.json()["id"]}
        listed = (await door.http.get("/conversations", headers=PAGE)).json()
        assert {(one["title"], one["message_count"]) for one in listed} == {
            ("Hi", 4),
            ("New Conversation", 0),
        }
        assert isinstance((await door.http.get("/conversations")).json(), dict)
        held = (await door.http.get(at, headers=PAGE)).json()
        assert [one["role"] for one in held["messages"]][:2] == ["user", "assistant"]
        gone = await door.http.delete(at, headers=PAGE)
        assert (gone.status_code, gone.json()) == (200, {"message": "Conversation deleted successfully"})
        assert (await door.http.get(at, headers=PAGE)).status_code == 404


@pytest.mark.parametrize(
    ("pages", "origin", "path"),
    [
        ([], "http://localhost:3000", "/conversations"),
        (["http://localhost:3000"], "http://localhost:3001", "/conversations"),
        (["http://localhost:3000"], "http://localhost:3000", "/memories"),
        (["http://localhost:3000"], "http://localhost:3000", "/conversations/x/files"),
        (["https://evil.example"], "https://evil.example", "/conversations"),
    ],
)
async def test_no_other_page_and_no_other_path_is_opened(pages: list[str], origin: str, path: str) -> None:
    async with open_door(ScriptedLlm([]), ums_pages=pages) as door:
        assert (await door.http.get(path, headers={"Origin": origin})).status_code == 403


async def test_once_there_are_users_its_page_needs_a_key() -> None:
    async with open_door(ScriptedLlm([]), ums_pages=["http://localhost:3000"]) as door:
        await door.house.app.accounts.register.add_user("ann")
        assert (await door.http.get("/conversations", headers=PAGE)).status_code in (401, 403)
