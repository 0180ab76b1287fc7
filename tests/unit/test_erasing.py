"""All that an owner has goes, and nothing of anybody else's."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

import bethink
from bethink.agent.removal import OwnerRemoval
from bethink.conversations.service import ConversationStart
from bethink.events import TextDelta
from bethink.features import FEATURES
from bethink.llm import Delta, LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.people.records import PEOPLE
from bethink.principal import Principal
from bethink.tool import NewFile
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

KEPT = {
    "users": "who may come in",
    "access_keys": "the same",
    "sign_ins": "the same",
    "grants": "the same",
    "key_uses": "the same",
    "accounts_state": "the same",
    "meta": "counts, and what MCP servers of the whole Bethink were let do",
    "shared": "what is in Redis: goes with what is removed there",
    "outgoing": "what is to be removed there",
    "migration": "how far a move from another database is, of no owner",
    "bus": "which processes are on one database, of no owner",
}
LOOK = ScriptedCall("search_memory", {"query": "tea"})


ERASED = [one for feature in FEATURES for one in feature.collections]


def erasing_of(house: House, data: Path) -> OwnerRemoval:
    app = house.app
    return OwnerRemoval(
        *(app.runs, app.features, app.vault, app.passages, None, data), shares=False, settle_s=0
    )


async def lives(house: House, who: Principal) -> str:
    """A conversation with a file in it, a memory and a page; the conversation's id."""
    app = house.app
    await app.memory.add(who, NewFact("The user likes tea"))
    talk = await app.conversations.create(who, ConversationStart(title="Tea"))
    file = await app.files.add(who, talk.id, NewFile("tea.txt", "text/plain", b"tea"))
    run = await app.runs.start(who, talk.id, "Do I like tea?", files=[file.id])
    async for _ in app.runs.follow(who, run):
        pass
    await app.vault.write(who, "tea.md", "# Tea\n\n- likes: tea\n", if_version="", by="person")
    return talk.id


async def left_of(house: House, owner: str) -> dict[str, int]:
    store = house.app.ports.store
    counts = {one.name: await store.count(owner, one, {}) for one in ERASED}
    return {name: count for name, count in counts.items() if count}


async def test_everything_of_one_owner_goes_and_of_another_nothing(tmp_path: Path) -> None:
    llm = ScriptedLlm([[LOOK], "You do."] * 2)
    async with open_house(llm, data_dir=tmp_path) as house:
        ann, bob = house.me, house.app.accounts.on_behalf_of("bob", audience="test")
        await lives(house, ann)
        kept = await lives(house, bob)
        before = await left_of(house, "bob")
        assert {"conversations", "messages", "facts", "files", "pages", "runs", "tool_uses"} <= before.keys()
        erased = await erasing_of(house, tmp_path).erase(ann)
        assert await left_of(house, ann.owner) == {}
        assert await left_of(house, "bob") == before
        assert (erased.counts["conversations"], erased.counts["memories"], erased.counts["files"]) == (
            1,
            1,
            1,
        )
        assert erased.left == ()
        assert not await anyio.Path(house.app.vault.root(ann.owner)).exists()
        assert await anyio.Path(house.app.vault.root("bob")).exists()
        blobs = house.app.shared.blobs
        assert (len(await blobs.ids(ann.owner)), len(await blobs.ids("bob"))) == (0, 1)
        assert await house.app.recall.search(ann, "tea") == []
        assert (await house.app.conversations.get(bob, kept)).record.title == "Tea"
        again = await erasing_of(house, tmp_path).erase(ann)
        assert not any(again.counts.values())
        assert await house.app.ports.store.count("bob", PEOPLE, {}) == 0


async def test_a_run_that_goes_on_is_ended_first(tmp_path: Path) -> None:
    class Endless(ScriptedLlm):
        async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
            del request
            yield TextDelta(text="One, ")
            await anyio.sleep_forever()

    async with open_house(Endless([]), data_dir=tmp_path) as house:
        conversation = await house.new()
        await house.app.runs.start(house.me, conversation, "Hello")
        await erasing_of(house, tmp_path).erase(house.me)
        assert await left_of(house, house.me.owner) == {}
        assert house.app.runs.live == 0


async def test_a_vault_that_lies_elsewhere_is_left_and_that_is_said(tmp_path: Path) -> None:
    elsewhere = tmp_path / "notes"
    async with open_house(None, data_dir=tmp_path / "data", vault={"path": str(elsewhere)}) as house:
        await house.app.vault.write(house.me, "tea.md", "# Tea\n", if_version="", by="person")
        erased = await erasing_of(house, tmp_path / "data").erase(house.me)
        assert await left_of(house, house.me.owner) == {}
    assert str(elsewhere) in erased.left[0]
    assert (elsewhere / "tea.md").exists()


def test_no_collection_is_overlooked() -> None:
    """A new one is either erased with its owner or named above, with why it is not."""
    named: set[str] = set()
    root = Path(bethink.__file__).parent
    for path in root.rglob("*.py"):
        if "bench" not in path.parts:
            named |= set(re.findall(r"= Collection\(\s*\"(\w+)\"", path.read_text(encoding="utf-8")))
    assert named == {one.name for one in ERASED} | KEPT.keys()
