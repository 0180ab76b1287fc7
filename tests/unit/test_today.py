"""`/today`: one page of what is due, what was promised, and what happened by itself."""

from __future__ import annotations

import anyio
import pytest

from bethink.llm.scripted import ScriptedLlm
from bethink.schedules.service import Schedules
from tests.door import called
from tests.house import open_house

pytestmark = pytest.mark.anyio


async def test_today_shows_what_is_due_was_promised_and_came_by_itself() -> None:
    async with (
        open_house(ScriptedLlm(lambda _: "Two things."), time_zone="UTC") as house,
        called(house) as http,
    ):
        for path, body in (
            ("/tasks", {"title": "Pay the rent", "due_date": "2026-02-02"}),
            ("/tasks", {"title": "Old thing", "due_date": "2026-01-20"}),
            ("/tasks", {"title": "Later", "due_date": "2026-02-20"}),
            (
                "/calendar/events",
                {"title": "Dentist", "start": "2026-02-02T15:00", "end": "2026-02-02T16:00"},
            ),
            ("/calendar/events", {"title": "Next week", "start": "2026-02-12T15:00"}),
            ("/memories", {"content": "I promised Bruna the report by 5 February 2026."}),
            ("/memories", {"content": "I like tea."}),
            ("/schedules", {"text": "Give me my day", "when": "in 10 minutes", "action": "run"}),
            ("/schedules", {"text": "Call Ada", "when": "in 10 minutes"}),
        ):
            answer = await http.post(path, json=body)
            assert answer.status_code == 201, answer.text
        house.clock.advance(600)
        firing = house.app.features.of(Schedules).firing
        async with anyio.create_task_group() as tasks:
            await firing.look(tasks)
        today = (await http.get("/today")).json()
    assert today["date"] == "2026-02-02"
    assert [one["title"] for one in today["overdue"]] == ["Old thing"]
    assert [one["title"] for one in today["tasks"]] == ["Pay the rent"]
    assert [one["title"] for one in today["events"]] == ["Dentist"]
    assert [one["content"] for one in today["promised"]] == [
        "I promised Bruna the report by 5 February 2026."
    ]
    assert [(one["title"], one["outcome"]) for one in today["runs"]] == [("Give me my day", "done")]
    assert {one["title"] for one in today["notices"]} == {"Give me my day", "Call Ada"}
