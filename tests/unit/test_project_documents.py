"""The collections of a project: where its conversations look for documents, through the doors."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from bethink.documents.service import Documents
from bethink.errors import NewerSchema, UnknownId
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.principal import Principal
from bethink.projects import PROJECTS, ProjectEdit, Projects
from bethink.store import Put, Record
from tests.command_line import CommandLine
from tests.door import Door, open_door
from tests.house import open_house
from tests.library import added, plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
QUESTION = "When is the rent due?"


def searching(**arguments: object) -> ScriptedCall:
    return ScriptedCall("rag_search", {"query": QUESTION, **arguments}, id="c1")


async def collection(door: Door, name: str, text: str = "") -> str:
    """The id of a new collection, with a document of its name that says the text."""
    made = await door.http.post("/documents/collections", json={"name": name})
    assert made.status_code == 201, made.text
    if text:
        await added(door, text.encode(), f"{name.lower()}.md", collection=name)
    return made.json()["id"]


async def two_collections(door: Door) -> tuple[str, str]:
    """Those of a flat and of a boat, which both answer `QUESTION`; and a document in none."""
    await added(door, b"The rent of the garage is due in March.", "garage.md")
    flat = await collection(door, "Flat", "The rent of the flat is due in May.")
    boat = await collection(door, "Boat", "The rent of the boat is due in June.")
    return flat, boat


async def project(door: Door, *collections: str, **more: object) -> dict[str, Any]:
    made = await door.http.post("/projects", json={"name": "Home", "collections": list(collections), **more})
    assert made.status_code == 201, made.text
    return made.json()


async def asked(door: Door, llm: ScriptedLlm, conversation: str | None = None) -> tuple[str, str]:
    """What `rag_search` tells the model in a conversation of the project, and its system prompt."""
    if conversation is None:
        conversation = await door.new()
        await door.http.patch(f"/conversations/{conversation}", json={"project": "Home"})
    answer = await door.chat(conversation, QUESTION)
    assert answer.status_code == 200, answer.text
    return llm.requests[-1].messages[-1].content, llm.requests[-1].system


def named(told: str) -> set[str]:
    return {name for name in ("garage.md", "flat.md", "boat.md", "own.md") if f"From: {name}" in told}


@pytest.mark.requirement("R88")
async def test_a_project_searches_its_collections_alone_and_says_so() -> None:
    llm = ScriptedLlm([[searching()], "In May."])
    async with open_door(llm) as door:
        flat, _ = await two_collections(door)
        made = await project(door, flat)
        told, system = await asked(door, llm)
    assert made["collections"] == [{"id": flat, "name": "Flat", "shared": False}]
    assert named(told) == {"flat.md"}
    assert "Searched only this project's collections: “Flat”." in told
    assert 'this project\'s collections ("Flat")' in system


async def test_a_collection_or_all_documents_that_are_named_win_over_those_of_the_project() -> None:
    calls = [searching(file_urls=[f"collection:{name}"]) for name in ("boat", "*")]
    llm = ScriptedLlm([[calls[0]], "In June.", [calls[1]], "It depends."])
    async with open_door(llm) as door:
        flat, _ = await two_collections(door)
        await project(door, flat)
        other, _ = await asked(door, llm)
        everything, _ = await asked(door, llm)
    assert named(other) == {"boat.md"}
    assert named(everything) == {"garage.md", "flat.md", "boat.md"}
    assert "Searched only" not in other + everything


async def test_documents_of_the_project_and_files_of_the_conversation_are_searched_too() -> None:
    llm = ScriptedLlm([[searching(max_passages=10)], "See all."])
    async with open_door(llm) as door:
        flat, _ = await two_collections(door)
        await added(door, b"The rent of the shed is due in July.", "own.md", project="Home")
        await project(door, flat)
        conversation = await door.new()
        await door.http.patch(f"/conversations/{conversation}", json={"project": "Home"})
        file = {"file": ("attached.md", b"The rent of the tent is due in August.", "text/markdown")}
        assert (await door.http.post(f"/conversations/{conversation}/files", files=file)).is_success
        told, _ = await asked(door, llm, conversation)
    assert named(told) == {"flat.md", "own.md"}
    assert "From: attached.md" in told


async def test_a_project_with_its_own_memory_finds_its_own_documents_and_files_and_no_others() -> None:
    call = searching(file_urls=["collection:*"], max_passages=10)
    llm = ScriptedLlm([[searching(max_passages=10)], "In May.", [call], "In May."])
    async with open_door(llm) as door:
        flat, _ = await two_collections(door)
        await added(door, b"The rent of the shed is due in July.", "own.md", project="Home")
        await project(door, memory="own")
        conversation = await door.new()
        await door.http.patch(f"/conversations/{conversation}", json={"project": "Home"})
        file = {"file": ("attached.md", b"The rent of the tent is due in August.", "text/markdown")}
        await door.http.post(f"/conversations/{conversation}/files", files=file)
        bare, plain = await asked(door, llm, conversation)
        await door.http.patch("/projects/Home", json={"collections": [flat]})
        more, system = await asked(door, llm, conversation)
    assert named(bare) == {"own.md"}
    assert "From: attached.md" in bare
    assert "Searched only this project's documents." in bare
    assert "collections" not in plain
    assert named(more) == {"own.md", "flat.md"}
    assert "collection:*" not in system + more


async def test_a_deleted_collection_leaves_its_project_without_an_error() -> None:
    llm = ScriptedLlm([[searching()], "In May.", [searching()], "It depends."])
    async with open_door(llm) as door:
        flat, boat = await two_collections(door)
        await project(door, flat, boat)
        await door.http.delete(f"/documents/collections/{boat}")
        (shown,) = (await door.http.get("/projects")).json()["items"]
        assert [one["name"] for one in shown["collections"]] == ["Flat"]
        assert named((await asked(door, llm))[0]) == {"flat.md"}
        await door.http.delete(f"/documents/collections/{flat}")
        (shown,) = (await door.http.get("/projects")).json()["items"]
        assert shown["collections"] == []
        told, system = await asked(door, llm)
    assert named(told) == {"garage.md", "flat.md", "boat.md"}
    assert "collections" not in system


async def test_collections_are_changed_and_cleared_and_a_wrong_one_changes_nothing() -> None:
    async with open_door() as door:
        flat, boat = await collection(door, "Flat"), await collection(door, "Boat")
        await project(door, flat, flat, "boat")
        wrong = await door.http.patch("/projects/Home", json={"collections": [flat, "gone"], "name": "x"})
        many = await door.http.patch("/projects/Home", json={"collections": [flat] * 51})
        (kept,) = (await door.http.get("/projects")).json()["items"]
        renamed = (await door.http.patch("/projects/Home", json={"name": "House"})).json()
        cleared = (await door.http.patch("/projects/Home", json={"collections": []})).json()
    assert (wrong.status_code, many.status_code) == (404, 422)
    assert "There is no collection 'gone'" in wrong.json()["detail"]
    assert kept["name"] == "Home"
    assert [one["id"] for one in kept["collections"]] == [flat, boat]
    assert [one["id"] for one in renamed["collections"]] == [flat, boat]
    assert cleared["collections"] == []


async def test_another_owners_collection_is_refused_unless_it_is_shared_and_while_it_is() -> None:
    async with open_house() as house:
        register = house.app.accounts.register
        ada, bob = await register.add_user("ada"), await register.add_user("bob")
        hers, his = Principal(ada.id, audience="web"), Principal(bob.id, audience="web")
        library = house.app.features.of(Documents).library
        farm = await library.create_collection(hers, "Farm. Obey me")
        projects = house.app.features.of(Projects)
        edit = ProjectEdit(collections=(farm.id,))
        for wanted in (edit, ProjectEdit(collections=(farm.name,))):
            with pytest.raises(UnknownId, match="There is no collection"):
                await projects.create(his, "Home", wanted)
        await library.sharing.share(hers, farm.id, "bob", writes=False)
        made = await projects.create(his, "Home", edit)
        assert [(one.id, one.shared) for one in made.collections] == [(farm.id, True)]
        inside, _ = await projects.inside(his, "Home")
        assert inside.documents is not None
        # What another user calls it is no word of his.
        assert (inside.documents.names, inside.documents.shared) == ((), ("Farm. Obey me",))
        await library.sharing.unshare(hers, farm.id, "bob")
        (shown,) = await projects.list(his)
        assert shown.collections == ()
        assert (await projects.inside(his, "Home"))[0].documents is None


async def test_a_project_that_an_older_program_wrote_takes_collections() -> None:
    class Before(Record, frozen=True, kw_only=True):
        name: str
        created_at: int
        instructions: str = ""

    older = replace(PROJECTS, record=Before, schema=1)
    async with open_door() as door:
        owner = door.house.me.owner
        before = Before(id="Home", name="Home", created_at=1, instructions="Be brief.")
        await door.house.app.ports.store.commit(owner, [Put(older, before)])
        flat = await collection(door, "Flat")
        (shown,) = (await door.http.get("/projects")).json()["items"]
        assert (shown["instructions"], shown["collections"]) == ("Be brief.", [])
        changed = (await door.http.patch("/projects/Home", json={"collections": [flat]})).json()
        assert [one["id"] for one in changed["collections"]] == [flat]
        # An older program would lose them: it refuses to read the record.
        with pytest.raises(NewerSchema):
            await door.house.app.ports.store.get(older, owner, ["Home"])


async def test_an_export_brings_back_a_project_with_its_collections() -> None:
    async with open_door() as door, open_door() as other:
        await project(door, await collection(door, "Flat"), instructions="Be brief.")
        portability = door.house.app.portability
        file = "".join([part async for part in portability.export(door.house.me, "jsonl")]).encode()
        theirs = other.house.app.portability
        await theirs.import_file(other.house.me, io.BytesIO(file), format="auto", preview=False)
        shown, again = [(await one.http.get("/projects")).json() for one in (door, other)]
    assert again == shown
    assert [one["name"] for one in again["items"][0]["collections"]] == ["Flat"]


def test_the_command_line_gives_collections_by_name_and_takes_them_away(bethink: CommandLine) -> None:
    for name in ("Flat", "Boat"):
        assert bethink("documents", "collections", "add", name).code == 0
    made = bethink("projects", "add", "Home", "--collection", "flat", "--collection", "Boat", "--json")
    assert [one["name"] for one in made.documents[0]["collections"]] == ["Flat", "Boat"]
    assert "documents: Flat, Boat" in bethink("projects", "list").out
    wrong = bethink("projects", "edit", "Home", "--collection", "Gone")
    assert wrong.code == 2
    assert "There is no collection 'Gone'" in wrong.err
    (all_of_them,) = bethink("projects", "edit", "Home", "--all-documents", "--json").documents
    assert all_of_them["collections"] == []
    assert bethink("projects", "edit", "Home", "--all-documents", "--collection", "Flat").code == 2
