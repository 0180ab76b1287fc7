"""What an owner wishes of answers, and their time zone: told to every model, kept, exported and forgotten."""

from __future__ import annotations

import pytest

from bethink.llm import LlmRequest
from bethink.llm.scripted import ScriptedLlm
from tests.door import called, open_door
from tests.house import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("R211")
async def test_the_model_is_told_what_the_owner_wishes() -> None:
    asked: list[LlmRequest] = []

    def answer(request: LlmRequest) -> str:
        asked.append(request)
        return "Fine."

    async with open_door(ScriptedLlm(answer)) as door:
        assert (await door.http.get("/preferences")).json() == {
            "instructions": "",
            "tone": "",
            "language": "",
            "time_zone": None,
            "model": None,
            "conversation_days": None,
        }
        changed = await door.http.patch(
            "/preferences",
            json={"instructions": "Never use tables.", "tone": "dry", "language": "German"},
        )
        assert changed.json()["tone"] == "dry"
        await door.chat(await door.new(), "Hello")
        assert "Never use tables." in asked[-1].system
        assert "Tone of your answers: dry." in asked[-1].system
        assert "Answer in German" in asked[-1].system
        await door.http.patch("/preferences", json={"instructions": None})
        await door.chat(await door.new(), "Hello")
        assert "Never use tables." not in asked[-1].system
        assert "dry" in asked[-1].system


async def test_an_owner_is_in_their_own_time_zone() -> None:
    async with open_house(time_zone="UTC") as house, called(house) as http:
        wrong = await http.patch("/preferences", json={"time_zone": "Mars/Olympus"})
        assert wrong.status_code == 422
        await http.patch("/preferences", json={"time_zone": "Asia/Tokyo"})
        assert (await house.app.accounts.authenticate(audience="cli")).time_zone == "Asia/Tokyo"
        assert house.app.accounts.on_behalf_of("local", audience="x").time_zone == "Asia/Tokyo"
        await http.patch("/preferences", json={"time_zone": None})
        assert house.app.accounts.on_behalf_of("local", audience="x").time_zone == "UTC"


async def test_preferences_are_exported_and_go_with_everything() -> None:
    async with open_house() as house, called(house) as http:
        await http.patch("/preferences", json={"instructions": "Call me Ismael.", "time_zone": "Asia/Tokyo"})
        lines = (await http.get("/memories/export", params={"format": "jsonl"})).text
        assert "Call me Ismael." in lines
        wanted = {"all": True, "kinds": ["preferences"]}
        preview = await http.post("/memories/forget", json=wanted)
        assert preview.status_code == 200, preview.text
        done = await http.post("/memories/forget", json={**wanted, "confirm": preview.json()["token"]})
        assert done.status_code == 200, done.text
        assert (await http.get("/preferences")).json()["instructions"] == ""
        assert house.app.accounts.on_behalf_of("local", audience="x").time_zone != "Asia/Tokyo"
    async with open_house() as other, called(other) as http:
        report = await http.post("/memories/import", content=lines.encode())
        assert report.status_code == 200, report.text
        assert (await http.get("/preferences")).json()["instructions"] == "Call me Ismael."
        assert other.app.accounts.on_behalf_of("local", audience="x").time_zone == "Asia/Tokyo"
