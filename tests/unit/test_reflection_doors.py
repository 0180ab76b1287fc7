"""Putting memory in order, over HTTP and from the terminal."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from tests.command_line import CommandLine
from tests.door import Door, open_door
from tests.unit.test_reflection import NURSE, PARAPHRASED, TEA, Model, remember, told


async def ended(door: Door) -> dict[str, object]:
    """The page once nothing is under way."""
    while door.house.app.reflection.running:
        await anyio.lowlevel.checkpoint()
    return (await door.http.get("/memories/reflection")).json()


@pytest.mark.anyio
@pytest.mark.requirement("C9")
async def test_memory_is_put_in_order_shown_and_taken_back_over_http() -> None:
    chess = "The user plays chess"
    model = Model(profile=told(("You work as a nurse in Linz.", [NURSE]), ("You play chess.", [chess])))
    async with open_door(model.llm) as door:
        kept, gone, *_ = await remember(door.house, NURSE, PARAPHRASED, TEA, chess)
        assert (await door.http.get("/memories/profile")).json() == {"at": None, "sentences": [], "lost": 0}
        started = await door.http.post("/memories/reflection")
        assert (started.status_code, started.json()["running"]["stage"]) == (202, "waiting")
        page = await ended(door)
        assert (page["running"], page["fault"], page["mode"], page["hour"]) == (None, None, "auto", 3)
        (receipt,) = page["items"]  # pyright: ignore[reportGeneralTypeIssues] - JSON
        assert receipt["merges"] == [{"kept": kept.id, "gone": gone.id, "by_model": True}]
        assert {one["content"] for one in receipt["memories"].values()} == {NURSE, PARAPHRASED}
        assert (receipt["status"], receipt["profile"], receipt["model"]) == ("done", 2, "scripted:demo")
        profile = (await door.http.get("/memories/profile")).json()
        assert profile["sentences"][0] == {"text": "You work as a nurse in Linz.", "memories": [kept.id]}
        undone = await door.http.post(f"/memories/reflection/{receipt['id']}/undo")
        assert undone.json()["status"] == "undone"
        assert (await door.http.get("/memories/profile")).json()["sentences"] == []
        again = await door.http.post(f"/memories/reflection/{receipt['id']}/undo")
        assert again.status_code == 404
        assert (await door.http.post(f"/memories/reflection/{receipt['id']}/apply")).status_code == 404
        log = (await door.http.get("/memories/log")).json()
        assert [step["change"] for step in log["items"]][:2] == ["undone", "reflected"]


def test_memory_is_put_in_order_from_the_terminal(plain: CommandLine) -> None:
    plain("memory", "add", "The user likes the colour blue")
    (done,) = plain("memory", "reflect", "--json").documents
    assert (done["facts"], done["status"], done["model"]) == (1, "done", "")
    shown = plain("memory", "reflect")
    assert "Put in order: 1 memories" in shown.out
    assert "bethink memory reflect --undo" in shown.err
    assert "Taken back" in plain("memory", "reflect", "--undo", done["id"]).out
