"""Forgetting everything, at every door: asked again, in the same or a new conversation, nothing is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bethink.agent.stored_runs import ApprovalChoice
from bethink.conversations.records import CONVERSATIONS
from bethink.errors import BadInput, StorageError
from bethink.events import ApprovalNeeded, RunDone
from bethink.files import FILES
from bethink.forgetting.announcements import INTENTS
from bethink.forgetting.selection import ForgetRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.people.records import PEOPLE
from bethink.store import Change, Collection, Scan, Store, records_of
from bethink.tool import NewFile
from tests.command_line import CommandLine
from tests.door import Door, open_door
from tests.house import House, open_house

pytestmark = pytest.mark.anyio

TOLD = "My cat Mirabelle sleeps in the Kelvin drawer"
ASKED = "Where does my cat sleep?"
SECRET = "Mirabelle"
PAGE = "# Kelvin\n\nMirabelle sleeps there.\n"
WHOLE_KINDS = [
    "pages",
    "files",
    "people",
    "documents",
    "projects",
    "tasks",
    "events",
    "schedules",
    "prompts",
    "shares",
    "artifacts",
    "preferences",
    "calendar_accounts",
    "reflections",
    "questions",
    "aliases",
]


async def told(house: House) -> str:
    """A fact, a conversation, a file, a person and a page; the conversation's id."""
    place = await house.new()
    await house.say(TOLD, place)
    await house.app.memory.add(house.me, NewFact("User lives in Paris"))
    await house.app.files.add(house.me, place, NewFile("cat.txt", "text/plain", b"Mirabelle, a cat"))
    await house.app.people.create(
        house.me,
        {"name": "Clara", "surname": "Kelvin", "email": "c@example.com", "about_me": "Has Mirabelle."},
    )
    await house.app.vault.begin(house.me)
    await house.app.vault.write(house.me, "entities/kelvin.md", PAGE, by="person")
    return place


async def recalled(house: House) -> str:
    recall = house.app.recall
    hits = [
        hit for asked in (ASKED, TOLD, "Where do I live?") for hit in await recall.search(house.me, asked)
    ]
    return "\n".join(hit.text for hit in hits if hit.kind in {"fact", "turn"})


def sent(llm: ScriptedLlm) -> str:
    """All that the last request told the model."""
    request = llm.requests[-1]
    return "\n".join((request.system, *(message.content for message in request.messages)))


async def by_post(door: Door, **more: object) -> dict[str, object]:
    body = {"all": True, **more}
    preview = (await door.http.post("/memories/forget", json=body)).json()
    return (await door.http.post("/memories/forget", json={**body, "confirm": preview["token"]})).json()


async def by_delete(door: Door, **more: str) -> dict[str, object]:
    return (await door.http.delete("/memories", params={"confirm": "true", **more})).json()


@pytest.mark.parametrize("by", [by_post, by_delete])
async def test_asked_again_nothing_is_known_of_what_was_said(by: object) -> None:
    llm = ScriptedLlm(lambda _request: "Nice.")
    async with open_door(llm) as door:
        place = await told(door.house)
        assert SECRET in await recalled(door.house)
        receipt = await (by_post if by is by_post else by_delete)(door)
        assert receipt["counts"] == {"facts": 1, "conversations": 1}
        assert await recalled(door.house) == ""
        # The page stays, and may answer; the word that only the talk had does not come back.
        await door.chat(place, ASKED)
        assert "drawer" not in sent(llm)
        await door.chat(await door.new(), ASKED)
        assert "drawer" not in sent(llm)
        shown = (await door.http.get(f"/conversations/{place}")).json()["messages"]
        assert shown[0]["content"] == TOLD
        found = (await door.http.get("/conversations/search", params={"query": SECRET})).json()
        assert len(found["items"]) == 1


async def test_what_is_said_afterwards_is_remembered_again() -> None:
    llm = ScriptedLlm(lambda _request: "Nice.")
    async with open_door(llm) as door:
        place = await told(door.house)
        await by_delete(door)
        await door.chat(place, "My dog Otto sleeps on the sofa")
        await door.chat(place, "Where does he sleep?")
        assert "Otto" in sent(llm)
        assert "Otto" in "\n".join(
            hit.text for hit in await door.house.app.recall.search(door.house.me, "dog Otto")
        )


async def test_conversations_are_removed_if_that_is_chosen() -> None:
    async with open_door(ScriptedLlm(lambda _request: "Nice.")) as door:
        await told(door.house)
        receipt = await by_post(door, conversations="remove")
        assert receipt["counts"] == {"facts": 1, "conversations": 1}
        assert (await door.http.get("/conversations")).json()["items"] == []
        assert await recalled(door.house) == ""


async def test_pages_files_and_people_go_only_if_they_are_ticked() -> None:
    async with open_door(ScriptedLlm(lambda _request: "Nice.")) as door:
        house = door.house
        await told(house)
        await by_delete(door)
        counts = [await house.app.people.count(house.me), len(await house.app.vault.pages(house.me.owner))]
        assert counts[0] == 1
        assert counts[1] >= 1
        preview = (await door.http.post("/memories/forget", json={"all": True, "kinds": WHOLE_KINDS})).json()
        assert all(one["goes"] for one in preview["kinds"])
        assert {one["kind"]: one["count"] for one in preview["kinds"]} == {
            "conversations": 1,
            "pages": counts[1],
            "files": 1,
            "people": 1,
            **dict.fromkeys(WHOLE_KINDS[3:], 0),
        }
        assert "Clara Kelvin" in str(preview["kinds"])
        receipt = await by_post(door, kinds=WHOLE_KINDS)
        assert receipt["counts"] == {
            "facts": 0,
            "conversations": 1,
            "pages": counts[1],
            "files": 1,
            "people": 1,
            **dict.fromkeys(WHOLE_KINDS[3:], 0),
        }
        assert SECRET not in str(receipt)
        assert await house.app.people.count(house.me) == 0
        assert await house.app.vault.pages(house.me.owner) == {}
        assert await house.app.recall.search(house.me, "Mirabelle Kelvin") == []


@pytest.mark.parametrize(
    "body",
    [
        {"all": True, "kinds": ["dreams"]},
        {"query": "tea", "kinds": ["pages"]},
        {"all": True, "conversations": "burn"},
    ],
)
async def test_kinds_that_are_none_are_refused(body: dict[str, object]) -> None:
    async with open_door() as door:
        assert (await door.http.post("/memories/forget", json=body)).status_code == 422


async def test_pages_that_other_programs_use_go_only_after_that_was_shown(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "cat.md").write_text(PAGE)
    async with open_house(ScriptedLlm([]), vault={"path": tmp_path / "notes"}) as one:
        await one.app.vault.sync(one.me.owner)
        wanted = ForgetRequest(everything=True, kinds=("pages",))
        preview = await one.app.forgetting.preview(one.me, wanted)
        assert str(tmp_path / "notes") in preview.listing()
        with pytest.raises(BadInput, match="other programs"):
            await one.app.forgetting.forget_all(one.me, wanted)
        await one.app.forgetting.confirm(one.me, wanted, preview.token)
        assert not (tmp_path / "notes" / "cat.md").exists()


@pytest.mark.requirement("P3a")
@pytest.mark.parametrize("conversations", ["keep", "remove"])
async def test_the_tool_shows_counts_and_first_lines_and_forgets_the_conversation_that_it_is_asked_in(
    conversations: str,
) -> None:
    call = ScriptedCall("delete_all_memories", {"conversations": conversations})
    llm = ScriptedLlm(["Nice.", "Nice.", [call], "Done.", "I know nothing.", "I know nothing."])
    async with open_house(llm) as house:
        other = await told(house)
        place = await house.new()
        await house.say("I keep a spare key under the Zanzibar pot", place)
        events = await house.say("Forget everything about me", place)
        (asked,) = [event for event in events if isinstance(event, ApprovalNeeded)]
        assert "1 memory" in asked.reason
        assert "2 conversations" in asked.reason
        assert "User lives in Paris" in asked.reason
        assert asked.final
        done = events[-1]
        assert isinstance(done, RunDone)
        run = (await house.app.conversations.get(house.me, place)).record.active_run
        assert run is not None
        await house.app.runs.approvals.decide(
            house.me, run, call=asked.call, choice=ApprovalChoice("approve")
        )
        await house.events(run)
        assert await house.app.memory.count(house.me) == 0
        assert await house.app.conversations.has(house.me, other) == (conversations == "keep")
        await house.say("Where is my spare key?", place)
        assert "Zanzibar" not in sent(llm)
        await house.say("Where is my spare key?")
        assert "Zanzibar" not in sent(llm)
        assert SECRET not in await recalled(house)
        texts = "\n".join(one.message.content for one in await house.messages(place))
        assert ("Zanzibar" in texts) == (conversations == "keep")


@pytest.mark.requirement("P3a")
@pytest.mark.parametrize("words", ["everything", "everything about me", "my data"])
async def test_the_slash_command_takes_everything(words: str) -> None:
    async with open_house(ScriptedLlm(lambda _request: "Nice.")) as house:
        await told(house)
        place = await house.new()
        await house.say(f"/forget {words}", place)
        shown = (await house.messages(place))[-1].message.content
        assert "1 memory" in shown
        assert "2 conversations" in shown
        token = re.search(r"[0-9a-f]+-[0-9a-f]{16}", shown)
        assert token is not None
        await house.say(f"/forget {words} {token[0]}", place)
        assert await recalled(house) == ""


def test_the_command_line_takes_everything_and_leaves_no_trace(bethink: CommandLine) -> None:
    bethink("chat", TOLD)
    bethink.added("User lives in Paris.")
    preview = bethink("memory", "forget", "--all", "--preview")
    assert "1 memory" in preview.out
    assert "1 conversation" in preview.out
    assert bethink("memory", "forget", "--query", "tea", "--kinds", "pages", "--yes").code == 2
    ended = bethink("memory", "forget", "--all", "--yes", "--json")
    assert ended.documents[0]["counts"] == {"facts": 1, "conversations": 1}
    assert SECRET not in bethink("memory", "search", "cat drawer").out
    assert SECRET in bethink("conversations", "search", SECRET).out
    bethink("memory", "forget", "--all", "--conversations", "remove", "--yes")
    for path in bethink.data.rglob("*"):
        if path.is_file():
            assert b"Mirabelle" not in path.read_bytes(), path


@pytest.mark.parametrize("place", ["temporary", "withdrawn", "only asked"])
async def test_forgetting_by_words_finds_what_recall_does_not(place: str) -> None:
    async with open_door(ScriptedLlm(lambda _request: "I don't know.")) as door:
        temporary = {"temporary": True} if place == "temporary" else {}
        conversation = (await door.http.post("/conversations", json=temporary)).json()["id"]
        await door.chat(conversation, "Where is Mirabelle?" if place == "only asked" else TOLD)
        if place == "withdrawn":
            await by_delete(door)
        preview = (await door.http.post("/memories/forget", json={"query": SECRET})).json()
        body = {"query": SECRET, "confirm": preview["token"]}
        receipt = (await door.http.post("/memories/forget", json=body)).json()
        assert len(receipt["messages"]) == 1
        shown = (await door.http.get(f"/conversations/{conversation}")).json()
        assert SECRET not in str(shown["messages"])


class DyingStore:
    """A store of a process that dies when it has written down what it forgets, or has begun with it."""

    def __init__(self, store: Store, state: str) -> None:
        self.store = store
        self.commits = 0 if state == "open" else 1

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a store has
        return getattr(self.store, name)

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        self.commits -= 1
        if self.commits < 0:
            raise StorageError
        await self.store.commit(owner, changes)


async def placed(door: Door, what: str) -> str:
    """Something that only one place of one kind says; the address at which it is read."""
    house = door.house
    if what in {"title", "project"}:
        made = await door.http.post("/conversations", json={what: "Moving Mirabelle"})
        return f"/conversations/{made.json()['id']}"
    if what in {"text", "file name"}:
        place = await house.new()
        named, text = (
            ("notes.txt", b"First.\nMirabelle moves.") if what == "text" else ("Mirabelle.txt", b"x")
        )
        await house.app.files.add(house.me, place, NewFile(named, "text/plain", text))
        return f"/conversations/{place}/files"
    given = {
        "name": "Clara",
        "surname": "Kelvin",
        "email": f"{what}@example.com",
        "about_me": "Runs. Likes tea.",
    }
    given |= {"name": {"name": SECRET}, "company": {"company": "Mirabelle Ltd"}}.get(what, {})
    if what == "about":
        given["about_me"] = "Runs. Owns Mirabelle. Likes tea."
    await house.app.people.create(house.me, given)
    return "/v1/users"


KINDS = {
    "title": "conversations",
    "project": "conversations",
    "text": "files",
    "file name": "files",
    "name": "people",
    "company": "people",
    "about": "people",
}


async def stored_of(house: House) -> str:
    """All records of people, files and conversations."""

    async def kept(one: Collection[Any]) -> list[Any]:
        return [item async for item in records_of(house.app.memory.store, house.me.owner, Scan(one))]

    return str([await kept(PEOPLE), await kept(FILES), await kept(CONVERSATIONS)])


@pytest.mark.parametrize("query", [SECRET, "everything you know about Mirabelle"])
@pytest.mark.parametrize("what", list(KINDS))
async def test_forgetting_by_words_reaches_what_only_a_name_a_field_or_a_file_says(
    what: str, query: str
) -> None:
    async with open_door(ScriptedLlm([])) as door:
        await placed(door, what)
        preview = (await door.http.post("/memories/forget", json={"query": query})).json()
        assert [(one["kind"], one["count"], one["goes"]) for one in preview["kinds"]] == [
            (KINDS[what], 1, True)
        ]
        shown = str(preview["kinds"])
        assert ("notes.txt" if what == "text" else SECRET) in shown
        body = {"query": query, "confirm": preview["token"]}
        receipt = (await door.http.post("/memories/forget", json=body)).json()
        assert receipt["counts"] == {"facts": 0, KINDS[what]: 1}
        assert SECRET not in str(receipt)
        assert SECRET not in await stored_of(door.house)
        if what == "text":
            assert await door.house.app.files.blobs.ids(door.house.me.owner) == []
        again = (await door.http.post("/memories/forget", json={"query": query})).json()
        assert again["kinds"] == []
        if what == "about":
            assert "Runs. [forgotten] Likes tea." in await stored_of(door.house)


async def test_what_shares_one_word_with_a_question_of_more_is_not_taken_as_a_whole() -> None:
    async with open_door(ScriptedLlm([])) as door:
        for what in KINDS:
            await placed(door, what)
        body = {"query": "Mirabelle's veterinarian"}
        assert (await door.http.post("/memories/forget", json=body)).json()["kinds"] == []


@pytest.mark.parametrize("state", ["open", "traces"])
async def test_what_was_found_by_words_goes_after_the_process_died_that_began_it(state: str) -> None:
    async with open_door(ScriptedLlm([])) as door:
        house, owner = door.house, door.house.me.owner
        for what in KINDS:
            await placed(door, what)
        forgetting = house.app.forgetting
        wanted = ForgetRequest(query=SECRET)
        preview = await forgetting.preview(house.me, wanted)
        announcements = forgetting.announcements
        dying = replace(forgetting, store=DyingStore(forgetting.store, state))
        with pytest.raises(StorageError):
            await dying.confirm(house.me, wanted, preview.token)
        (kept,) = [item async for item in records_of(forgetting.store, owner, Scan(INTENTS))]
        assert kept.state == state
        assert SECRET not in str(kept), "ids and places alone"
        assert SECRET in await stored_of(house)
        await forgetting.finish_all()
        assert SECRET not in await stored_of(house)
        assert (await announcements.announced(owner)).record.under_way == ()
        assert [item async for item in records_of(forgetting.store, owner, Scan(INTENTS))] == []
