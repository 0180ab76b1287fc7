"""Who follows the vault is told of what they may see as it happens."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from bethink.web.vault.pages import follow
from tests.door import open_door

pytestmark = pytest.mark.anyio
_STREAM = {"Accept": "text/event-stream"}


async def test_a_follower_is_told_of_each_change_as_it_happens(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await door.http.get("/vault")
        app, owner = door.house.app, door.house.me
        async with aclosing(follow(app, owner, 0)) as news:
            (first,) = await anext(news)
            assert [item.path for item in first.items] == ["user.md"]
            await app.vault.write(owner, "a.md", "one\n", if_version="", by="person")
            (second,) = await anext(news)
            assert [item.path for item in second.items] == ["a.md"]
            await app.vault.delete(owner, "a.md", by="person")
            (third,) = await anext(news)
            assert (third.items, third.gone, third.change > second.change) == ([], ["a.md"], True)


async def test_a_reader_that_comes_back_goes_on_where_it_was(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        change = (await door.http.get("/vault")).json()["change"]
        await door.http.put("/vault/pages/a.md", json={"text": "one\n"})
        # What is about to stop tells what there is, and ends.
        door.house.app.stopping.set()
        answer = await door.http.get(
            "/vault/changes?after=0", headers={**_STREAM, "Last-Event-ID": str(change)}
        )
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.text.splitlines() if line]
        told = json.loads(lines[2].removeprefix("data: "))
        assert [item["path"] for item in told["items"]] == ["a.md"]
        assert lines[1] == f"id: {told['change']}"
        assert lines[-1] == lines[2], "it is not done: the reader comes back"
        plain = await door.http.get("/vault/changes", params={"after": change})
        assert plain.json() == told


async def test_a_follower_is_not_told_of_pages_that_are_hidden_from_it(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await door.http.get("/vault")
        await door.http.post("/vault/filters", json={"path": "secret.md", "audiences": ["rest*"]})
        await door.http.put("/vault/pages/secret.md", json={"text": "hidden\n"})
        await door.http.put("/vault/pages/open.md", json={"text": "shown\n"})
        program = replace(door.house.me, audience="rest:clock")
        async with aclosing(follow(door.house.app, program, 0)) as news:
            (first,) = await anext(news)
        assert "open.md" in {item.path for item in first.items}
        assert "secret.md" not in first.model_dump_json()


async def test_a_page_that_moved_is_gone_from_where_it_was(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await door.http.put("/vault/pages/plan.md", json={"text": "# Plan\n"})
        start = (await door.http.get("/vault")).json()["change"]
        moved = await door.http.post("/vault/move", json={"path": "plan.md", "to": "a/plan.md"})
        news = (await door.http.get("/vault/changes", params={"after": start})).json()
        assert ([item["path"] for item in news["items"]], news["gone"]) == (["a/plan.md"], ["plan.md"])
        await door.http.post("/vault/undo", json={"token": moved.json()["undo"]})
        back = (await door.http.get("/vault/changes", params={"after": news["change"]})).json()
        assert ([item["path"] for item in back["items"]], back["gone"]) == (
            ["plan.md"],
            ["a/plan.md"],
        )
