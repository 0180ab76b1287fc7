"""What replaces, corrects or repeats what, and whom it is about: in a chat and through each other door."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bethink.clock import rfc3339
from bethink.events import MemoryChanged, ToolFinished
from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolMessage
from tests.command_line import CommandLine
from tests.door import open_door
from tests.facts import active
from tests.house import open_house
from tests.unit.test_mcp_server import joined

DAY_S = 86_400

pytestmark = pytest.mark.anyio


def storing_twice(old: str, new: str, **links: str) -> ScriptedLlm:
    """A model that stores `new`, and once more with the ids of `old` that the first answer told."""

    def play(request: LlmRequest) -> Answer:
        answers = [one.content for one in request.messages if isinstance(one, ToolMessage)]
        if not answers:
            return ScriptedCall("store_memory", {"content": new})
        if len(answers) > 1:
            return "Noted."
        found = re.search(rf"^- \[(m\d+)\] {re.escape(old)}$", answers[0], re.MULTILINE)
        assert found is not None, answers[0]
        arguments = {name: [found[1]] if value == "old" else value for name, value in links.items()}
        return ScriptedCall("store_memory", {"content": new, **arguments})

    return ScriptedLlm(play)


@pytest.mark.requirement("U3")
@pytest.mark.parametrize(
    ("old", "said", "new", "link", "left"),
    [
        ("User drives a Golf", "I sold the Golf.", "User sold the Golf", "replaces", "superseded"),
        ("Nutzer wohnt in Bonn", "Bonn war falsch: Born!", "Nutzer kommt aus Born", "corrects", "corrected"),
        ("User's dog is Reks", "Mój pies Reks śpi.", "Reks, the user's dog", "repeats", "active"),
        ("用户在 Acme 工作", "我离开 Acme 了", "用户离开 Acme", "replaces", "superseded"),
    ],
)
async def test_the_answer_of_a_call_tells_what_is_near_and_one_more_call_settles_it(
    old: str, said: str, new: str, link: str, left: str
) -> None:
    async with open_house(storing_twice(old, new, **{link: "old"})) as house:
        known = (await house.app.memory.add(house.me, NewFact(old))).fact.id
        house.clock.advance(60)
        events = await house.say(said)
        (fact,) = [one for one in await house.app.memory.get(house.me, [known]) if one is not None]
        assert fact.state == left
        assert await active(house) == ({old} if link == "repeats" else {new})
        assert all(event.error is None for event in events if isinstance(event, ToolFinished))
        told = [event for event in events if isinstance(event, MemoryChanged)]
        await house.app.memory.undo(house.me, told[-1].undo or "")
        assert await active(house) == {old, new}


async def test_a_name_that_the_model_made_up_and_a_date_that_is_none_lose_nothing() -> None:
    calls: list[Answer] = [
        ScriptedCall("store_memory", {"content": "User sold the Golf", "replaces": ["m9"]}),
        ScriptedCall("store_memory", {"content": "User sold the Golf", "valid_from": "last May"}),
        "I could not save that.",
    ]
    async with open_house(ScriptedLlm(calls)) as house:
        await house.app.memory.add(house.me, NewFact("User drives a Golf"))
        events = await house.say("I sold the Golf.")
        told = [event.text for event in events if isinstance(event, ToolFinished)]
        assert "there is no memory with that id" in told[0]
        assert "give a date such as 2026-03-01" in told[1]
        assert await active(house) == {"User drives a Golf"}


async def test_a_page_that_speaks_for_the_owner_replaces_nothing() -> None:
    old = "User banks with Nordbank"
    async with open_house(ScriptedLlm([])) as house:
        known = (await house.app.memory.add(house.me, NewFact(old))).fact.id
        new = NewFact("User banks with Evilbank", trust="untrusted", replaces=(known,))
        assert (await house.app.memory.add(house.me, new)).change == "suggested"
        assert await active(house) == {old}


async def test_over_http_a_memory_is_replaced_corrected_and_told_whom_it_is_about() -> None:
    async with open_door() as door:

        async def kept(content: str, **more: object) -> dict[str, Any]:
            answer = await door.http.post("/memories", json={"content": content, **more})
            assert answer.status_code == 201, answer.text
            door.house.clock.advance(60)
            return answer.json()

        golf = (await kept("User drives a Golf"))["memory"]["id"]
        sold = await kept("User sold the Golf", replaces=[golf], valid_from="2026-01-05T00:00:00Z")
        assert (sold["change"], sold["others"][0]["state"]) == ("superseded", "superseded")
        assert sold["others"][0]["valid_until"] == "2026-01-05T00:00:00Z"
        sister = await kept("User's sister lives in Oslo")
        assert sister["memory"]["about"] == "sister"
        id = sister["memory"]["id"]
        named = (await door.http.patch(f"/memories/{id}", json={"about": "Anna"})).json()
        assert (named["memory"]["id"], named["memory"]["about"]) == (id, "Anna")
        listed = (await door.http.get("/memories", params={"about": "Anna"})).json()
        assert [one["id"] for one in listed["items"]] == [id]
        owners = (await door.http.get("/memories", params={"about": "owner"})).json()
        assert [one["content"] for one in owners["items"]] == ["User sold the Golf"]
        wrong = {"content": "Anna lives in Bergen", "wrong": True}
        corrected = (await door.http.patch(f"/memories/{id}", json=wrong)).json()
        assert (corrected["change"], corrected["memory"]["about"]) == ("corrected", "Anna")
        assert [one["state"] for one in corrected["others"]] == ["corrected"]
        story = (await door.http.get(f"/memories/{id}/history")).json()
        assert {event["change"] for event in story["events"]} == {"added", "merged", "corrected"}
        bad = await door.http.post("/memories", json={"content": "User is ill", "corrects": ["nobody"]})
        assert (bad.status_code, "Nothing was changed" in bad.text) == (422, True)


async def test_as_of_a_moment_what_was_true_is_shown_and_what_was_wrong_only_if_asked_for() -> None:
    async with open_door() as door:

        async def change(id: str, **said: object) -> None:
            door.house.clock.advance(DAY_S)
            assert (await door.http.patch(f"/memories/{id}", json=said)).status_code == 200

        async def shown(path: str = "/memories", **more: str) -> list[str]:
            items = (await door.http.get(path, params={"as_of": march, **more})).json()["items"]
            return sorted(one.get("content") or one["text"] for one in items)

        ids = {}
        for content in ("User lives in Paris", "User's sister lives in Oslo", "User owns a tortoise"):
            kept = await door.http.post("/memories", json={"content": content})
            ids[content] = kept.json()["memory"]["id"]
        door.house.clock.advance(DAY_S)
        march = rfc3339(door.house.clock.now_us())
        await change(ids["User lives in Paris"], content="User lives in Lyon")
        await change(ids["User's sister lives in Oslo"], content="User's sister lives in Bergen", wrong=True)
        assert await shown() == ["User lives in Paris", "User owns a tortoise"]
        assert "User lives in Paris" in await shown(query="Where does the user live?")
        assert "User's sister lives in Oslo" not in await shown(query="Where does the user's sister live?")
        assert await shown(state="corrected") == ["User's sister lives in Oslo"]
        assert await shown(state="superseded") == ["User lives in Paris"]
        assert len(await shown(state="all")) == 3
        # What held then, by what is known today: the sister lived in Bergen all along.
        told = await shown("/recall", query="Where does the user live, and where does the sister?")
        assert {"User lives in Paris", "User's sister lives in Bergen"} <= {*told}
        assert not {"User lives in Lyon", "User's sister lives in Oslo"} & {*told}
        undo = (await door.http.get("/memories", params={"query": "sister in Bergen"})).json()["items"][0][
            "id"
        ]
        await door.http.post("/memories/undo", json={"token": f"superseded:{undo}"})
        assert "User's sister lives in Oslo" in await shown()


async def test_an_mcp_client_names_what_the_first_answer_told_it() -> None:
    async with open_house() as house, joined(house) as client:
        await client.call_tool("store_memory", {"content": "User drives a Golf"})
        first = await client.call_tool("store_memory", {"content": "User sold the Golf"})
        (near,) = first.structured_content["near"]
        again = {"content": "User sold the Golf", "replaces": [near["id"]], "about": "me"}
        second = await client.call_tool("store_memory", again)
        assert second.structured_content["change"] == "superseded"
        assert [one["state"] for one in second.structured_content["others"]] == ["superseded"]
        assert second.structured_content["memory"]["about"] == "owner"
        assert (await client.call_tool("store_memory", {"content": "x", "replaces": ["m1"]})).is_error


def test_on_the_command_line_a_memory_replaces_and_corrects(plain: CommandLine) -> None:
    golf = plain.added("User drives a Golf.")
    changed = plain("memory", "add", "User sold the Golf.", "--replaces", golf, "--since", "2026-01-05")
    assert "replaces: User drives a Golf." in changed.out
    sister = plain.added("User's sister lives in Oslo.", "--about", "Anna")
    corrected = plain("memory", "edit", sister, "User's sister lives in Bergen.", "--wrong")
    assert corrected.out.startswith("Corrected: User's sister lives in Bergen.")
    assert f"corrects: User's sister lives in Oslo.  ({sister})" in corrected.out
    assert plain("memory", "list", "--about", "Anna").out.count("\n") == 1
    bad = plain("memory", "add", "x", "--corrects", "nobody")
    assert (bad.code, "Nothing was changed" in bad.err) == (2, True)
