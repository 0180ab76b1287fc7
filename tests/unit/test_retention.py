"""Conversations are kept for a set time: as the settings and their owner say, shown before any goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bethink.conversations.service import ConversationEdit
from bethink.errors import BadInput
from bethink.preferences import PreferenceBook
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio

DAY_S = 86_400


async def talk(door: Door, text: str) -> str:
    made = await door.new()
    await door.chat(made, text)
    return made


async def there(door: Door) -> set[str]:
    listed = (await door.http.get("/conversations")).json()["items"]
    archived = (await door.http.get("/conversations", params={"archived": True})).json()["items"]
    return {one["id"] for one in [*listed, *archived]}


@pytest.mark.requirement("R186")
async def test_old_conversations_go_with_all_that_was_said_and_pinned_ones_stay() -> None:
    async with open_door(conversations_retention_days=30) as door:
        old, archived, pinned = [await talk(door, text) for text in ("the heron", "archived", "pinned")]
        conversations, me = door.house.app.conversations, door.house.me
        await conversations.edit(me, pinned, ConversationEdit(pinned=True))
        await conversations.edit(me, archived, ConversationEdit(archived=True))
        door.house.clock.advance(29 * DAY_S)
        fresh = await talk(door, "fresh")
        await door.house.app.housekeeping.tidy(me)
        assert await there(door) == {old, archived, pinned, fresh}
        door.house.clock.advance(2 * DAY_S)
        shown = (await door.http.get("/preferences/retention")).json()
        assert (shown["days"], shown["most"], shown["count"]) == (30, 30, 2)
        assert shown["oldest"] is not None
        assert await there(door) == {old, archived, pinned, fresh}
        await door.house.app.housekeeping.tidy(me)
        assert await there(door) == {pinned, fresh}
        assert (await door.http.get(f"/conversations/{old}")).status_code == 404
        found = (await door.http.get("/recall", params={"query": "heron", "kinds": "turn"})).json()
        assert "heron" not in str(found.get("items", found))
        assert (await door.http.get("/preferences/retention")).json()["count"] == 0


async def test_an_owner_has_theirs_go_sooner_and_never_later() -> None:
    async with open_door() as door:
        await talk(door, "the heron")
        door.house.clock.advance(100 * DAY_S)
        forever = (await door.http.get("/preferences/retention")).json()
        assert (forever["days"], forever["count"]) == (None, 0)
        tried = (await door.http.get("/preferences/retention", params={"days": 90})).json()
        assert (tried["days"], tried["count"]) == (90, 1)
        await door.http.patch("/preferences", json={"conversation_days": 90})
        without = (await door.http.get("/preferences/retention", params={"days": 0})).json()
        assert (without["days"], without["count"]) == (None, 0)
        await door.http.patch("/preferences", json={"conversation_days": None})
        await door.house.app.housekeeping.tidy(door.house.me)
        assert len(await there(door)) == 1
        kept = await door.http.patch("/preferences", json={"conversation_days": 200})
        assert kept.json()["conversation_days"] == 200
        await door.house.app.housekeeping.tidy(door.house.me)
        assert len(await there(door)) == 1
        patched = await door.http.patch("/settings", json={"conversations_retention_days": 60})
        assert patched.status_code == 200
        assert (await door.http.get("/preferences/retention")).json()["days"] == 60
        await door.house.app.housekeeping.tidy(door.house.me)
        assert await there(door) == set()


async def test_nobody_elses_conversations_go() -> None:
    async with open_door() as door:
        book, me = door.house.app.features.of(PreferenceBook), door.house.me
        other = replace(me, owner="other")
        await talk(door, "the heron")
        await book.change(other, {"conversation_days": 1})
        door.house.clock.advance(5 * DAY_S)
        await door.house.app.housekeeping.tidy(other)
        assert len(await there(door)) == 1
        with pytest.raises(BadInput, match="1 to 36,500 days"):
            await book.change(me, {"conversation_days": 0})
        assert (await door.http.patch("/preferences", json={"conversation_days": 0})).status_code == 422
