"""The calendar through its doors: by talking, over HTTP and MCP, at the command line; and as memory."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import Client

from bethink.agent.stored_runs import ApprovalChoice
from bethink.calendar.service import Calendar, EventTarget
from bethink.clock import FakeClock, to_us
from bethink.errors import BadInput, UnknownId
from bethink.events import ApprovalNeeded, RunDone, ToolFinished
from bethink.forgetting.selection import ForgetRequest
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_server.families import families_of, offers
from bethink.mcp_server.server import McpDoor
from bethink.memory import NewFact
from bethink.tool import ToolContext, tools_in
from bethink.tools.calendar import CalendarTools
from tests.command_line import CommandLine
from tests.door import Door, called
from tests.house import House, open_house, ports_of
from tests.mcp_clients import text_of, told

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
MONTH = {"start": "2026-12-01", "end": "2027-01-01"}


@asynccontextmanager
async def house_of(llm: Llm | None = None) -> AsyncGenerator[House]:
    async with open_house(
        ports=ports_of(llm, clock=FakeClock(to_us(NOW))), time_zone="Europe/Berlin"
    ) as house:
        yield house


@asynccontextmanager
async def door_of() -> AsyncGenerator[Door]:
    async with house_of() as house, called(house) as http:
        yield Door(house, http)


def calendar_of(house: House) -> Calendar:
    return house.app.features.of(Calendar)


async def add(house: House, title: str, start: str, **more: object) -> str:
    return (await calendar_of(house).create(house.me, {"title": title, "start": start, **more})).instance.id


async def titles(house: House) -> list[str]:
    start, end = to_us(NOW), to_us(datetime(2027, 1, 1, tzinfo=UTC))
    return [one.title for one in (await calendar_of(house).range(house.me, start=start, end=end)).items]


async def talked(house: House, said: str) -> list[ToolFinished]:
    return [event for event in await house.say(said) if isinstance(event, ToolFinished)]


# By talking.


@pytest.mark.requirement("R150", "R193", "R9", "U9", "U11")
async def test_a_week_is_planned_by_talking_and_a_conflict_pointed_out_and_settled() -> None:
    review = {"title": "Review", "date": "Friday", "start_time": "9:30"}
    llm = ScriptedLlm(
        [
            [ScriptedCall("create_calendar_event", {
                "title": "Stand-up", "date": "every weekday", "start_time": "09:00", "duration_minutes": 45,
                "attendees": ["Ada", "bo@example.org"],
            })],
            "It is planned.",
            [ScriptedCall("create_calendar_event", review)],
            "You have the stand-up then.",
            [ScriptedCall("create_calendar_event", review | {"start_time": "10:00"})],
            "Done.",
            [ScriptedCall("get_calendar_events", {"start_date": "Friday", "end_date": "Friday"})],
            "Two.",
            [ScriptedCall("find_free_time", {"start_date": "Friday", "end_date": "Friday"})],
            "From eleven.",
            [ScriptedCall("create_calendar_event", {"title": "Trip", "date": "12/4"})],
            "Which day?",
        ]
    )  # fmt: skip
    async with house_of(llm) as house:
        (made,) = await talked(house, "Put a stand-up into my calendar, every weekday at nine")
        assert "Wednesday, 2 December 2026, 09:00 to 09:45 (Europe/Berlin), every weekday" in made.text
        (refused,) = await talked(house, "And a review event on Friday at half past nine in the calendar")
        assert refused.error == "event_conflict"
        assert "“Stand-up” (Friday, 4 December 2026, 09:00 to 09:45)" in refused.text
        assert "Free times near by: Friday 04 December 09:45" in refused.text
        (settled,) = await talked(house, "Then put the event into the calendar at ten")
        assert settled.error is None
        (listed,) = await talked(house, "What events does my calendar have on Friday?")
        assert listed.text.startswith("2 events from Friday 4 December 2026 00:00")
        assert "with Ada, bo@example.org" in listed.text
        (free,) = await talked(house, "When is there free time in my calendar on Friday?")
        assert "Friday 4 December 2026 11:00 to Friday 4 December 2026 18:00" in free.text
        (asked,) = await talked(house, "Put my trip on 12/4 into the calendar")
        assert asked.error == "ambiguous_time"
        assert (await calendar_of(house).get(house.me, settled_id(settled))).event.conversation is not None


def settled_id(finished: ToolFinished) -> str:
    return finished.text.rpartition(" id ")[2].partition(".")[0]


@pytest.mark.requirement("R150")
async def test_one_of_a_series_is_moved_and_the_rest_deleted_once_the_owner_agrees() -> None:
    ports = ports_of(clock=FakeClock(to_us(NOW)))
    async with open_house(ports=ports, time_zone="Europe/Berlin") as house:
        id = await add(house, "Choir", "2026-12-02T19:00", recurrence="FREQ=WEEKLY;COUNT=3")
    event = id.partition("@")[0]
    second = f"{event}@2026-12-09T19:00:00"
    llm = ScriptedLlm(
        [
            [ScriptedCall("update_calendar_event", {"event_id": second, "date": "10 December"})],
            "Moved.",
            [
                ScriptedCall(
                    "delete_calendar_event",
                    {"event_id": f"{event}@2026-12-16T19:00:00", "scope": "following"},
                )
            ],
            "Deleted.",
        ]
    )
    again = ports_of(llm, store=ports.store, clock=FakeClock(to_us(NOW)))
    async with open_house(ports=again, time_zone="Europe/Berlin") as house:
        (moved,) = await talked(house, "Move the choir event of next week in the calendar to the tenth")
        assert "Changed: Choir, Thursday, 10 December 2026, 19:00 to 20:00" in moved.text
        run = await house.app.runs.start(house.me, await house.new(), "Delete the calendar event choir then.")
        (asked,) = [one for one in await house.events(run) if isinstance(one, ApprovalNeeded)]
        assert "every week, 3 times: this one and all that follow" in asked.reason
        assert await titles(house) == ["Choir"] * 3
        choice = ApprovalChoice("approve")
        await house.app.runs.approvals.decide(house.me, run, call=asked.call, choice=choice)
        assert isinstance((await house.events(run))[-1], RunDone)
        assert await titles(house) == ["Choir"] * 2


@pytest.mark.requirement("U11", "C21")
async def test_the_tools_have_the_documented_schemas() -> None:
    async with house_of() as house:
        tools = {tool.name: tool for tool in tools_in(CalendarTools(calendar_of(house)))}
    create = tools["create_calendar_event"].parameters
    assert create["required"] == ["title", "date"]
    documented = {"title", "date", "start_time", "duration_minutes", "event_type", "location", "attendees"}
    assert documented | {"reminders", "recurrence"} <= set(create["properties"])
    assert {"start_date", "end_date", "event_type"} <= set(
        tools["get_calendar_events"].parameters["properties"]
    )
    assert {"event_id", "scope"} <= set(tools["update_calendar_event"].parameters["properties"])
    assert tools["delete_calendar_event"].effect == "destructive"
    with pytest.raises(BadInput, match="duration_minutes"):
        tools["create_calendar_event"].parse('{"title": "x", "date": "today", "duration_minutes": 0}')


@pytest.mark.parametrize(
    ("day", "clock", "said"),
    [
        ("tomorrow", "7:15", "2026-12-02T07:15:00"),
        ("every weekday", "7:15", "2026-12-02T07:15:00"),
        ("tomorrow", "half past two", "2026-12-02T14:30:00"),
        ("2026-12-04", "23:59", "2026-12-04T23:59:00"),
        ("2026-12-04", None, "2026-12-04"),
    ],
)
async def test_a_day_and_a_time_of_day_are_one_start(day: str, clock: str | None, said: str) -> None:
    async with house_of() as house:
        tools = {tool.name: tool for tool in tools_in(CalendarTools(calendar_of(house)))}
        given = tools["create_calendar_event"].parse(
            json.dumps({"title": "Run", "date": day, "start_time": clock})
        )
        answer: Any = await tools["create_calendar_event"].handler(
            ToolContext(house.me, "", "r", "m"), **given
        )
        assert (await calendar_of(house).get(house.me, answer.structured["event"]["id"])).start == said


async def test_what_is_written_while_words_from_outside_stand_there_stays_untrusted() -> None:
    async with house_of() as house:
        tools = {tool.name: tool for tool in tools_in(CalendarTools(calendar_of(house)))}

        class Outside(ToolContext):
            @property
            def is_untrusted(self) -> bool:
                return True

        context = Outside(house.me, "", "run", "message")
        given = tools["create_calendar_event"].parse('{"title": "Sale", "date": "2026-12-04"}')
        await tools["create_calendar_event"].handler(context, **given)
        asked = tools["get_calendar_events"].parse("{}")
        answer: Any = await tools["get_calendar_events"].handler(ToolContext(house.me, "", "r", "m"), **asked)
        assert answer.untrusted


@pytest.mark.requirement("R150")
async def test_an_mcp_client_plans_and_reads() -> None:
    async with house_of() as house:
        assert "create_calendar_event" in offers(house.app, families_of("calendar"))
        door = McpDoor(house.app, "stdio", ("calendar",)).server()
        async with Client(door, **told(None, "tests")) as client:
            made = await client.call_tool(
                "create_calendar_event", {"title": "Review", "date": "tomorrow at 9"}
            )
            assert not made.is_error, text_of(made)
            taken = await client.call_tool(
                "create_calendar_event", {"title": "Other", "date": "tomorrow at 9"}
            )
            assert taken.is_error
            assert "“Review”" in text_of(taken)
            listed = await client.call_tool("get_calendar_events", {})
            assert listed.structured_content is not None
            assert [one["title"] for one in listed.structured_content["events"]] == ["Review"]


# Over HTTP.


@pytest.mark.requirement("R150", "U11", "U9")
async def test_the_page_plans_in_words_sees_conflicts_and_takes_back() -> None:
    async with door_of() as door:
        http = door.http
        seen = (
            await http.get("/calendar/understand", params={"text": "Lunch with Bo tomorrow at 12 @Enzo"})
        ).json()
        assert (seen["title"], seen["location"]) == ("Lunch with Bo", "Enzo")
        assert seen["words"] == "Wednesday, 2 December 2026, 12:00 to 13:00 (Europe/Berlin)"
        both = (await http.get("/calendar/understand", params={"text": "Lunch next Friday at 12"})).json()
        assert len(both["ambiguous"]) == 2
        assert (await http.get("/calendar/understand", params={"text": "Lunch"})).json()["problem"]

        made = await http.post("/calendar/events", json={"words": "Lunch with Bo tomorrow at 12 @Enzo"})
        assert made.status_code == 201
        lunch = made.json()
        assert lunch["start"] == "2026-12-02T12:00:00+01:00"
        assert lunch["starts_at"] == "2026-12-02T11:00:00Z"
        assert lunch["understood"] == seen["words"]
        taken = await http.post("/calendar/events", json={"title": "Call", "start": "2026-12-02T12:30+01:00"})
        assert (taken.status_code, taken.headers["content-type"]) == (409, "application/problem+json")
        problem = taken.json()
        assert problem["type"] == "urn:bethink:error:event_conflict"
        assert [one["id"] for one in problem["conflicts"]] == [lunch["id"]]
        assert problem["free"][0] == {
            "start": "2026-12-02T13:00:00+01:00",
            "end": "2026-12-02T14:00:00+01:00",
        }
        body = {"title": "Call", "start": "2026-12-02T12:30+01:00", "allow_conflict": True}
        call = (await http.post("/calendar/events", json=body)).json()
        assert call["conflicts"] == [lunch["id"]]
        listed = (await http.get("/calendar/events", params=MONTH)).json()
        assert [one["conflicts"] for one in listed["items"]] == [[call["id"]], [lunch["id"]]]

        path = f"/calendar/events/{call['id']}"
        stale = await http.patch(path, json={"title": "x"}, headers={"If-Match": '"9"'})
        assert stale.status_code == 412
        moved = (
            await http.patch(path, json={"start": "2026-12-03T09:00"}, headers={"If-Match": '"1"'})
        ).json()
        gone = (await http.delete(path)).json()
        assert (await http.get(path)).status_code == 404
        for token in (gone["undo"], moved["undo"]):
            assert (await http.post("/calendar/undo", json={"token": token})).status_code == 200
        assert (await http.get(path)).json()["start"] == "2026-12-02T12:30:00+01:00"
        free = {"start": "2026-12-02", "end": "2026-12-03", "day_start": "11:00", "day_end": "15:00"}
        times = (await http.get("/calendar/free", params=free)).json()["items"]
        assert [one["start"][11:16] for one in times] == ["11:00", "13:30"]


async def test_a_request_that_is_sent_again_with_its_key_makes_one_event_and_no_conflict() -> None:
    async with door_of() as door:
        key = {"Idempotency-Key": "from-a-phone"}
        line = {"words": "Lunch with Ana on Friday at 12:30"}
        made = await door.http.post("/calendar/events", json=line, headers=key)
        again = await door.http.post("/calendar/events", json=line, headers=key)
        assert (made.status_code, again.status_code) == (201, 201)
        assert again.json()["id"] == made.json()["id"]
        assert (again.json()["undo"], again.json()["conflicts"]) == (None, [])
        other = await door.http.post(
            "/calendar/events", json=line | {"allow_conflict": True}, headers={"Idempotency-Key": "another"}
        )
        assert other.json()["conflicts"] == [made.json()["id"]]
        assert await titles(door.house) == ["Lunch with Ana", "Lunch with Ana"]


async def test_series_are_changed_by_scope_over_http() -> None:
    async with door_of() as door:
        body = {"title": "Choir", "start": "every Friday at 19", "duration_minutes": 90}
        made = (await door.http.post("/calendar/events", json=body)).json()
        assert made["recurrence_words"] == "every week on Friday"
        path = f"/calendar/events/{made['event']}@2026-12-11T19:00:00"
        one = (await door.http.patch(path, json={"title": "Concert"})).json()
        assert (one["title"], one["is_changed"]) == ("Concert", True)
        await door.http.delete(
            f"/calendar/events/{made['event']}@2026-12-18T19:00:00", params={"scope": "following"}
        )
        listed = (await door.http.get("/calendar/events", params=MONTH)).json()["items"]
        assert [item["title"] for item in listed] == ["Choir", "Concert"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": "x"},
        {"title": "x", "start": "2026-02-30"},
        {"title": "x", "start": "\x00"},
        {"title": "x", "start": "2026-12-04T09:00", "end": "2026-12-03T09:00"},
        {"title": "x", "start": "2026-12-04", "recurrence": "FREQ=DAILY;COUNT=99999999999"},
        {"title": "x", "start": "2026-12-04", "recurrence": "every blue moon"},
        {"title": "x", "start": "2026-12-04", "zone": "Mars/Base"},
        {"title": "x", "start": "2026-12-04", "attendees": [{"status": "accepted"}]},
        {"title": "x", "start": "2026-12-04", "reminders": [10**20]},
        {"title": "x" * 10_000, "start": "2026-12-04"},
        {"words": ""},
        {"words": "x" * 5_000},
        {"title": "x", "start": "2026-12-04", "unknown": 1},
        {"title": "x", "start": 20261204},
    ],
)
async def test_garbage_is_refused_with_a_sentence(body: dict[str, Any]) -> None:
    async with door_of() as door:
        answer = await door.http.post(
            "/calendar/events", content=json.dumps(body), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"]
        assert (await door.http.get("/calendar/events", params=MONTH)).json()["items"] == []


async def test_a_range_that_is_none_is_refused() -> None:
    async with door_of() as door:
        for start, end in (("2026-12-02", "2026-12-01"), ("soon", "2027"), ("1000-01-01", "9000-01-01")):
            answer = await door.http.get("/calendar/events", params={"start": start, "end": end})
            assert answer.status_code == 422, answer.text


@pytest.mark.requirement("R3")
async def test_nobody_reads_anothers_calendar() -> None:
    async with house_of() as house:
        calendar = calendar_of(house)
        change = await calendar.create(house.me, {"title": "Mine", "start": "2026-12-04"})
        other = replace(house.me, owner="somebody else")
        end = to_us(datetime(2027, 1, 1, tzinfo=UTC))
        assert not (await calendar.range(other, start=to_us(NOW), end=end)).items
        assert not await calendar.search(other, "Mine")
        with pytest.raises(UnknownId):
            await calendar.get(other, change.instance.id)
        with pytest.raises(UnknownId):
            await calendar.delete(other, EventTarget(change.instance.id))
        with pytest.raises(BadInput):
            await calendar.undo(other, change.undo)


# At the command line.


@pytest.mark.requirement("R150")
def test_the_command_line_plans_lists_moves_and_deletes(bethink: CommandLine) -> None:
    made = bethink("calendar", "add", "Lunch with Bo 2030-05-06 from 12 to 13:30 @Enzo", "--json").documents[
        0
    ]
    assert (made["title"], made["location"]) == ("Lunch with Bo", "Enzo")
    assert made["start"] == "2030-05-06T12:00:00Z"
    taken = bethink("calendar", "add", "Call", "--start", "2030-05-06T13:00")
    assert taken.code == 4
    assert "“Lunch with Bo”" in taken.err
    days = ("--from", "2030-05-01", "--to", "2030-05-31")
    weekly = ("--start", "2030-05-07T18:00", "--every", "every week", "--minutes", "30", "--remind", "10,5")
    series = bethink("calendar", "add", "Choir", *weekly, "--json").documents[0]
    assert len(bethink("calendar", "list", *days, "--json").documents) == 5
    event = series["id"].partition("@")[0]
    one = f"{event}@2030-05-14T18:00:00"
    moved = bethink("calendar", "edit", one, "--start", "2030-05-15T18:00", "--json").documents[0]
    assert moved["start"] == "2030-05-15T18:00:00Z"
    assert bethink("calendar", "delete", one).code == 2  # nobody can be asked
    gone = bethink("calendar", "delete", one, "--yes", "--json").documents[0]
    assert len(bethink("calendar", "list", *days, "--json").documents) == 4
    bethink("calendar", "undo", gone["undo"])
    assert bethink("calendar", "show", one, "--json").documents[0]["start"] == "2030-05-15T18:00:00Z"
    free = bethink(
        "calendar", "free", "--from", "2030-05-06", "--to", "2030-05-06", "--minutes", "120", "--json"
    )
    assert [item["start"] for item in free.documents] == ["2030-05-06T09:00:00Z", "2030-05-06T13:30:00Z"]
    assert bethink("calendar", "add", "Never", "--start", "2030-02-30").code == 2


# Memory.


@pytest.mark.requirement("R150")
async def test_recall_finds_events_beside_facts() -> None:
    async with house_of() as house:
        await house.app.memory.add(house.me, NewFact("User's sister lives in Paris"))
        await add(house, "Train to Paris", "2026-12-04T09:00", location="Gare du Nord")
        await add(house, "Dentist", "2026-12-05T09:00")
        hits = await house.app.recall.search(house.me, "What did I plan for Paris?")
    assert {hit.kind for hit in hits[:2]} == {"fact", "event"}
    (event,) = [hit for hit in hits if hit.kind == "event" and "Paris" in hit.text]
    assert "Friday, 4 December 2026, 09:00 to 10:00 (Europe/Berlin)" in event.text


@pytest.mark.requirement("R150")
async def test_forgetting_reaches_events_their_instances_and_what_could_bring_them_back() -> None:
    said = "Bob was a clerk at Initech under Quillfeather"
    async with house_of() as house:
        calendar = calendar_of(house)
        kept = await add(house, "Dentist", "2026-12-04T09:00")
        told_of = await add(house, "Ask", "2026-12-05T09:00", description=f"{said}. Buy tea.")
        series = await add(house, "Club", "2026-12-06T09:00", recurrence="FREQ=WEEKLY")
        await calendar.update(house.me, EventTarget(series, "this"), {"description": said})
        gone = await calendar.create(house.me, {"title": said, "start": "2026-12-20"})
        deleted = await calendar.delete(house.me, EventTarget(gone.instance.id))
        fact = (await house.app.memory.add(house.me, NewFact(said))).fact
        shown = await house.app.forgetting.preview(house.me, ForgetRequest(ids=[fact.id]))
        assert {"Ask", "Club"} <= {one.name for one in shown.records}
        receipt = await house.app.forgetting.confirm(house.me, ForgetRequest(ids=[fact.id]), shown.token)
        assert {told_of, series.partition("@")[0]} == {*receipt.records["events"]}
        left = await calendar.get(house.me, told_of)
        assert "Quillfeather" not in left.description
        assert "Buy tea." in left.description
        assert (await calendar.get(house.me, series)).description == ""
        assert (await calendar.get(house.me, kept)).title == "Dentist"
        with pytest.raises(BadInput):
            await calendar.undo(house.me, deleted.undo)
        assert not await house.app.recall.search(house.me, "Quillfeather", kinds={"event"})


async def test_events_go_out_and_come_back() -> None:
    async with house_of() as house:
        calendar = calendar_of(house)
        series = await add(
            house, "Choir", "2026-12-02T19:00", recurrence="FREQ=WEEKLY;UNTIL=20270301", reminders=[5]
        )
        await calendar.update(house.me, EventTarget(series, "this"), {"title": "Concert"})
        await calendar.delete(house.me, EventTarget(f"{series.partition('@')[0]}@2026-12-09T19:00:00"))
        await add(
            house,
            "Fair",
            "2026-12-04",
            end="2026-12-06",
            attendees=["Bo"],
            links=[{"kind": "fact", "id": "f"}],
        )
        exported = "".join([part async for part in house.app.portability.export(house.me, "jsonl")])
        before = [item.record for item in (await calendar.store.scan(house.me.owner, _all()))[0].items]
    async with house_of() as house:
        report = await house.app.portability.import_file(house.me, io.BytesIO(exported.encode()))
        assert (report.said, report.bad) == (2, ())
        calendar = calendar_of(house)
        assert [
            item.record for item in (await calendar.store.scan(house.me.owner, _all()))[0].items
        ] == before
        again = await house.app.portability.import_file(house.me, io.BytesIO(exported.encode()))
        assert (again.said, again.known) == (0, 2)
        for was, now in (
            ("FREQ=WEEKLY", "FREQ=SECONDLY"),
            ('"2026-12-06"', '"2026-12-01"'),
            ("2026-12-04", "never"),
        ):
            forged = (
                exported.replace(was, now).replace(before[0].id, "other").replace(before[1].id, "another")
            )
            refused = await house.app.portability.import_file(
                house.me, io.BytesIO(forged.encode()), preview=True
            )
            assert refused.refused == 1, was


def _all() -> Any:  # noqa: ANN401 - a scan
    from bethink.calendar.records import EVENTS
    from bethink.store import Scan

    return Scan(EVENTS, order="created_at")


async def test_numbers_of_the_calendar() -> None:
    async with house_of() as house:
        await add(house, "Choir", "2026-12-02T19:00", recurrence="FREQ=DAILY;COUNT=3")
        await add(house, "Fair", "2027-12-04")
        numbers = (await house.app.features.statistics(house.me))["calendar"]
    assert numbers == {"events": 2, "recurring": 1, "next_seven_days": 3}
