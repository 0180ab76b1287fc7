"""Forgetting by a question: what is out of use is found too, and what does not fit is told."""

from __future__ import annotations

import pytest

from bethink.forgetting.selection import ForgetRequest
from bethink.memory import NewFact
from tests.command_line import CommandLine
from tests.door import open_door
from tests.house import House, open_house
from tests.unit.test_consolidation import put_back

pytestmark = pytest.mark.anyio


async def added(house: House, content: str, *, suggested: bool = False) -> str:
    return (await house.app.memory.add(house.me, NewFact(content, suggested=suggested))).fact.id


async def doomed(house: House, query: str) -> set[str]:
    """What a preview of the query names."""
    preview = await house.app.forgetting.preview(house.me, ForgetRequest(query=query))
    return {fact.content for fact in (*preview.facts, *preview.versions)}


@pytest.mark.parametrize("query", ["Initech", "everything about Initech"])
@pytest.mark.parametrize("became", ["superseded", "retracted", "suggested", "merged"])
async def test_a_question_finds_what_is_out_of_use(became: str, query: str) -> None:
    async with open_house() as house:
        memory = house.app.memory
        await added(house, "User likes tea")
        content = "User works at Initech"
        if became == "merged":
            (old,) = (fact.id for fact in await put_back(house, content, state=became))
        else:
            old = await added(house, content, suggested=became == "suggested")
        match became:
            case "superseded":
                await memory.edit(house.me, old, NewFact("User works at Globex"))
            case "retracted":
                await memory.retract(house.me, old)
            case _:
                pass
        (fact,) = await memory.get(house.me, [old])
        assert fact is not None
        assert fact.state == became
        assert await doomed(house, query) == {"User works at Initech"}
        wanted = ForgetRequest(query=query)
        token = (await house.app.forgetting.preview(house.me, wanted)).token
        receipt = await house.app.forgetting.confirm(house.me, wanted, token)
        assert receipt.facts == (old,)
        assert not receipt.has_more


async def test_what_is_out_of_use_and_only_shares_common_words_is_not_found() -> None:
    async with open_house() as house:
        for content in ("User works on Saturdays", "User met Anna in Oslo"):
            await house.app.memory.retract(house.me, await added(house, content))
        assert await doomed(house, "my work at Initech in the city") == set()
        assert await doomed(house, "my former work") == set()
        assert await doomed(house, "Saturdays") == {"User works on Saturdays"}


async def test_a_question_that_more_answers_than_may_go_says_so() -> None:
    async with open_house() as house:
        for place in range(5):
            await house.app.memory.retract(
                house.me, await added(house, f"Initech paid in week {place}{place}")
            )
        forgetting = house.app.forgetting
        few, enough = ForgetRequest(query="Initech", k=3), ForgetRequest(query="Initech", k=5)
        preview = await forgetting.preview(house.me, few)
        assert (len(preview.facts), preview.has_more) == (3, True)
        assert "There are more matches" in preview.listing()
        assert not (await forgetting.preview(house.me, enough)).has_more
        receipt = await forgetting.confirm(house.me, few, preview.token)
        assert (len(receipt.facts), receipt.has_more) == (3, True)
        assert "There are more matches" in receipt.summary
        assert not (await forgetting.preview(house.me, few)).has_more


def test_the_command_line_names_k_where_there_is_more(plain: CommandLine) -> None:
    for name in ("Anna", "Bert", "Carla"):
        plain.added(f"{name} works at Initech.")
    shown = plain("memory", "forget", "--query", "works at Initech", "-k", "2", "--preview")
    assert "-k N finds up to N, at most 100" in shown.err
    receipt = plain("memory", "forget", "--query", "works at Initech", "-k", "2", "--yes", "--json")
    assert receipt.documents[0]["has_more"] is True
    done = plain("memory", "forget", "--query", "works at Initech", "-k", "2", "--yes", "--json")
    assert done.documents[0]["has_more"] is False


async def test_http_says_where_there_is_more() -> None:
    async with open_door() as door:
        for name in ("Anna", "Bert", "Carla"):
            await door.http.post("/memories", json={"content": f"{name} works at Initech."})
        wanted = {"query": "works at Initech", "k": 2}
        preview = (await door.http.post("/memories/forget", json=wanted)).json()
        assert preview["has_more"] is True
        confirm = wanted | {"confirm": preview["token"]}
        assert (await door.http.post("/memories/forget", json=confirm)).json()["has_more"] is True
        assert (await door.http.post("/memories/forget", json=wanted)).json()["has_more"] is False
