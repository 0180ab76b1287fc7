"""Artifacts: made by the assistant or kept by their owner, with versions; exported and forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import pytest

from bethink.artifacts.service import ArtifactDraft, ArtifactPatch, Artifacts
from bethink.clock import FakeClock
from bethink.errors import UnknownId
from bethink.events import Event, ToolFinished
from bethink.llm.scripted import Reply, ScriptedCall, ScriptedLlm
from tests.command_line import CommandLine
from tests.door import called
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio
PAGE = "<h1>Tea</h1>\n<p>Green.</p>"


def _finished(events: Sequence[Event]) -> list[ToolFinished]:
    return [event for event in events if isinstance(event, ToolFinished)]


async def _made(house: House, http: httpx2.AsyncClient, **more: object) -> dict[str, Any]:
    body = {"title": "Tea", "format": "html", "content": PAGE, "conversation": await house.new()} | more
    response = await http.post("/artifacts", json=body)
    assert response.status_code == 201, response.text
    return response.json()


async def _opened(http: httpx2.AsyncClient, id: str, **query: int) -> dict[str, Any]:
    response = await http.get(f"/artifacts/{id}", params=query)
    assert response.status_code == 200, response.text
    return response.json()


async def _edited(http: httpx2.AsyncClient, id: str, change: Mapping[str, object]) -> httpx2.Response:
    return await http.patch(f"/artifacts/{id}", json=change)


async def test_an_owner_keeps_edits_and_restores_one_and_each_change_is_a_version() -> None:
    async with open_house() as house, called(house) as http:
        made = await _made(house, http)
        assert (made["version"], made["untrusted"]) == (1, False)
        second = await _edited(http, made["id"], {"content": "<h1>Coffee</h1>", "title": " Drinks "})
        assert (second.json()["number"], second.json()["title"]) == (2, "Drinks")
        same = await _edited(http, made["id"], {"content": "<h1>Coffee</h1>"})
        assert same.json()["number"] == 2
        stale = await _edited(http, made["id"], {"content": "x", "version": 1})
        assert stale.status_code == 422
        third = await _edited(http, made["id"], {"restore": 1})
        assert (third.json()["number"], third.json()["content"]) == (3, PAGE)
        assert (await _opened(http, made["id"], version=2))["content"] == "<h1>Coffee</h1>"
        versions = (await http.get(f"/artifacts/{made['id']}/versions")).json()["items"]
        assert [(one["number"], one["by"]) for one in versions] == [(3, "owner"), (2, "owner"), (1, "owner")]
        assert (await _edited(http, made["id"], {"restore": 9})).status_code == 404
        (listed,) = (await http.get("/artifacts", params={"conversation": made["conversation"]})).json()[
            "items"
        ]
        assert (listed["id"], listed["version"]) == (made["id"], 3)
        assert (await http.get("/artifacts", params={"conversation": "another"})).json()["items"] == []
        assert (await http.delete(f"/artifacts/{made['id']}")).status_code == 204
        assert (await http.get(f"/artifacts/{made['id']}")).status_code == 404


async def test_only_the_newest_hundred_versions_are_kept() -> None:
    async with open_house() as house, called(house) as http:
        made = await _made(house, http, content="0")
        for number in range(1, 102):
            await _edited(http, made["id"], {"content": str(number)})
        versions = (await http.get(f"/artifacts/{made['id']}/versions")).json()["items"]
        assert [versions[0]["number"], versions[-1]["number"], len(versions)] == [102, 3, 100]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"title": " "}, 422),
        ({"content": "\n"}, 422),
        ({"content": "a\0b"}, 422),
        ({"content": "x" * 400_001}, 422),
        ({"format": "exe"}, 422),
        ({"conversation": "nowhere"}, 404),
    ],
)
async def test_what_is_none_is_refused(change: dict[str, str], status: int) -> None:
    async with open_house() as house, called(house) as http:
        body = {"title": "T", "format": "html", "content": "x", "conversation": await house.new()}
        assert (await http.post("/artifacts", json=body | change)).status_code == status


def _calls(name: str, **arguments: str) -> Reply:
    return Reply(tool_calls=(ScriptedCall(name, arguments),))


async def test_the_assistant_makes_one_and_changes_a_part_of_it() -> None:
    code = "cups = 1\nprint(cups)\n"
    script: list[Reply | str] = [
        _calls("create_artifact", title="Cups", kind="Python", content=code),
        "Here it is.",
    ]
    llm = ScriptedLlm(script)
    async with open_house(llm) as house, called(house) as http:
        conversation = await house.new()
        (made,) = _finished(await house.say("Make an artifact that counts cups", conversation))
        (listed,) = (await http.get("/artifacts")).json()["items"]
        assert f"artifact:{listed['id']}?version=1" in made.text
        assert (listed["format"], listed["language"]) == ("code", "python")
        assert listed["conversation"] == conversation
        opened = await _opened(http, listed["id"])
        assert (opened["content"], opened["by"]) == (code, "assistant")
        script += [
            _calls("update_artifact", id=listed["id"], old="cups", new="pots"),
            _calls("update_artifact", id=listed["id"], old="cups = 1", new="cups = 2"),
            "Changed.",
        ]
        failed, changed = _finished(await house.say("Change the artifact: two cups", conversation))
        assert failed.error is not None
        assert ("stands 2 times" in failed.text, code in failed.text) == (True, True)
        assert f"artifact:{listed['id']}?version=2" in changed.text
        assert (await _opened(http, listed["id"]))["content"] == "cups = 2\nprint(cups)\n"
        assert (await _opened(http, listed["id"], version=1))["content"] == code


async def test_the_tools_are_offered_when_they_are_asked_for_and_cost_nothing_else() -> None:
    llm = ScriptedLlm(["Yes.", "Yes."])
    async with open_house(llm) as house:
        await house.say("How are you?")
        await house.say("Draw a diagram of it")
    plain, asked = ({tool.name for tool in request.tools} for request in llm.requests[:2])
    assert "create_artifact" not in plain
    assert {"create_artifact", "update_artifact"} <= asked


async def test_they_are_exported_with_their_versions_and_imported() -> None:
    async with open_house() as house, called(house) as http:
        made = await _made(house, http)
        await _edited(http, made["id"], {"content": "second"})
        lines = (await http.get("/memories/export", params={"format": "jsonl"})).content
    async with open_house() as other, called(other) as http:
        assert (await http.post("/memories/import", content=lines)).status_code == 200
        opened = await _opened(http, made["id"])
        assert (opened["title"], opened["content"], opened["number"]) == ("Tea", "second", 2)
        assert (await _opened(http, made["id"], version=1))["content"] == PAGE
        assert (await http.post("/memories/import", content=lines)).status_code == 200


async def test_what_is_forgotten_is_cut_out_of_every_version() -> None:
    async with open_house() as house, called(house) as http:
        made = await _made(
            house, http, format="markdown", content="Tea is green. The surgery is at Lakeside clinic."
        )
        await _edited(http, made["id"], {"content": "The surgery is at Lakeside clinic. Tea is black."})
        kept = await http.post("/memories", json={"content": "The surgery is at Lakeside clinic."})
        wanted = {"ids": [kept.json()["memory"]["id"]]}
        preview = await http.post("/memories/forget", json=wanted)
        done = await http.post("/memories/forget", json={**wanted, "confirm": preview.json()["token"]})
        assert done.status_code == 200, done.text
        texts = [(await _opened(http, made["id"], version=number))["content"] for number in (1, 2)]
        assert "Lakeside" not in json.dumps(texts)
        assert ("Tea is green." in texts[0], "Tea is black." in texts[1]) == (True, True)


async def test_they_go_with_their_conversation() -> None:
    async with open_house() as house, called(house) as http:
        made = await _made(house, http)
        assert (await http.delete(f"/conversations/{made['conversation']}")).status_code == 204
        assert (await http.get(f"/artifacts/{made['id']}")).status_code == 404
        assert (await http.get(f"/artifacts/{made['id']}/versions")).status_code == 404


async def test_one_owner_sees_and_changes_nothing_of_anothers() -> None:
    async with open_house() as house:
        artifacts, accounts = house.app.features.of(Artifacts), house.app.accounts
        draft = ArtifactDraft(title="Mine", format="csv", content="a,b", conversation=await house.new())
        made = await artifacts.create(house.me, draft, by="owner")
        await accounts.register.add_user("ann")
        bob = await accounts.register.add_user("bob")
        his = accounts.on_behalf_of(bob.id, audience="test")
        assert (await artifacts.list(his)).items == ()
        for doing in (
            artifacts.get(his, made.id),
            artifacts.version(his, made.id, 1),
            artifacts.versions(his, made.id),
            artifacts.update(his, made.id, ArtifactPatch(content="x"), by="owner"),
            artifacts.delete(his, made.id),
            # Nor does he keep anything beside a conversation that is not his.
            artifacts.create(his, draft, by="owner"),
        ):
            with pytest.raises(UnknownId):
                await doing


def test_the_command_line_lists_shows_and_deletes_them(plain: CommandLine) -> None:
    assert plain("artifacts", "list", "--json").documents == []
    assert plain("artifacts", "show", "nothing").code != 0


async def test_one_in_the_trash_is_in_no_list_comes_back_whole_and_goes_after_its_days() -> None:
    clock = FakeClock()
    async with open_house(ports=ports_of(clock=clock)) as house, called(house) as http:
        made = await _made(house, http)
        id = made["id"]
        await _edited(http, id, {"content": "Another text."})
        trashed = (await _edited(http, id, {"trashed": True})).json()
        assert trashed["trashed_at"] is not None
        assert trashed["version"] == 2
        assert (await http.get("/artifacts")).json()["items"] == []
        back = (await _edited(http, id, {"trashed": False})).json()
        assert (back["trashed_at"], back["content"]) == (None, "Another text.")
        (listed,) = (await http.get("/artifacts", params={"conversation": made["conversation"]})).json()[
            "items"
        ]
        assert listed["id"] == id
        await _edited(http, id, {"trashed": True})
        artifacts = house.app.features.of(Artifacts)
        clock.advance(29 * 86_400)
        assert await artifacts.purge(house.me) == 0
        clock.advance(2 * 86_400)
        assert await artifacts.purge(house.me) == 1
        assert (await http.get(f"/artifacts/{id}")).status_code == 404
