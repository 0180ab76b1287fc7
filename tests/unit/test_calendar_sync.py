"""Calendars of other servers and Bethink: both ways, whatever the server does, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from starlette.responses import Response

from bethink.calendar_sync.feature import Calendars
from bethink.calendar_sync.records import ACCOUNTS
from bethink.calendar_sync.webdav import DAV, made, parsed
from bethink.errors import BadInput
from tests.calendar_server import CALENDAR, CalendarServer, account_at, event, response
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio
_RANGE = {"start": "2026-12-01", "end": "2027-01-01"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Bethink and a calendar server."""

    door: Door
    server: CalendarServer
    account: str

    async def sync(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - a body
        answer = await self.door.http.post(f"/calendar/accounts/{self.account}/sync", json=more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def titles(self) -> list[str]:
        found = (await self.door.http.get("/calendar/events", params=_RANGE)).json()
        return sorted(one["title"] for one in found["items"])

    async def plan(self, title: str) -> str:
        """A new event here; its id."""
        body = {"title": title, "start": "2026-12-05T10:00", "allow_conflict": True}
        return (await self.door.http.post("/calendar/events", json=body)).json()["event"]

    async def rename(self, title: str, event: str | None = None) -> None:
        if event is None:
            found = (await self.door.http.get("/calendar/events", params=_RANGE)).json()
            event = found["items"][0]["event"]
        changed = await self.door.http.patch(f"/calendar/events/{event}", json={"title": title})
        assert changed.is_success, changed.text

    async def conflicts(self) -> list[dict[str, Any]]:
        return (await self.door.http.get("/calendar/conflicts")).json()["items"]


@asynccontextmanager
async def paired(server: CalendarServer | None = None, **more: object) -> AsyncGenerator[Pair]:
    server = server or CalendarServer()
    async with open_door() as door, account_at(door, server, **more) as account:
        yield Pair(door, server, account)


@asynccontextmanager
async def agreed(title: str = "Dentist") -> AsyncGenerator[Pair]:
    """A pair that has an event in common."""
    async with paired() as pair:
        pair.server.put("1.ics", event("u1", title))
        assert (await pair.sync())["received"] == 1
        yield pair


@pytest.mark.requirement("C21")
async def test_what_changes_on_either_side_comes_to_the_other() -> None:
    async with agreed() as pair:
        await pair.plan("Choir")
        assert (await pair.sync())["sent"] == 1
        assert "SUMMARY:Choir" in pair.server.text("Choir")
        pair.server.put("1.ics", event("u1", "Dentist, later"))
        assert (await pair.sync())["received"] == 1
        assert await pair.titles() == ["Choir", "Dentist, later"]
        await pair.rename("Dentist, at last")
        assert (await pair.sync())["sent"] == 1
        assert "SUMMARY:Dentist\\, at last" in pair.server.text("u1")
        pair.server.drop("1.ics")
        assert (await pair.sync())["deleted_here"] == 1
        assert await pair.titles() == ["Choir"]


async def test_tasks_are_synchronised_as_events_are() -> None:
    async with paired() as pair:
        text = event("t1", "Buy milk").replace("VEVENT", "VTODO").replace("DURATION:PT1H", "PRIORITY:1")
        pair.server.put("1.ics", text)
        await pair.sync()
        (task,) = (await pair.door.http.get("/tasks")).json()["items"]
        assert (task["title"], task["priority"]) == ("Buy milk", "urgent")
        await pair.door.http.patch(f"/tasks/{task['id']}", json={"status": "done"})
        await pair.sync()
        assert "STATUS:COMPLETED" in pair.server.text("t1")


async def test_a_pass_with_nothing_changed_asks_two_things_and_writes_nothing() -> None:
    async with agreed() as pair:
        await pair.sync()
        pair.server.log.clear()
        done = await pair.sync()
        assert pair.server.asked("PROPFIND") == pair.server.asked() == 2
        assert {name: count for name, count in done.items() if isinstance(count, int) and count} == {}


@pytest.mark.parametrize(
    ("keep", "here", "there"),
    [
        ("here", ["Mine"], {"Mine"}),
        ("there", ["Theirs"], {"Theirs"}),
        ("both", ["Mine", "Theirs"], {"Mine", "Theirs"}),
    ],
)
async def test_what_both_sides_changed_waits_with_both_versions_until_its_owner_settles_it(
    keep: str, here: list[str], there: set[str]
) -> None:
    async with agreed() as pair:
        pair.server.put("1.ics", event("u1", "Theirs"))
        await pair.rename("Mine")
        assert (await pair.sync())["conflicts"] == 1
        (conflict,) = await pair.conflicts()
        assert "SUMMARY:Mine" in conflict["here"]
        assert "SUMMARY:Theirs" in conflict["there"]
        await pair.sync()
        assert (await pair.titles(), "Theirs" in pair.server.text("u1")) == (["Mine"], True)
        health = (await pair.door.http.get("/health")).json()["parts"]["calendar"]
        assert health["status"] == "degraded"
        await pair.door.http.post(f"/calendar/conflicts/{conflict['id']}", json={"keep": keep})
        await pair.sync()
        await pair.sync()
        assert await pair.titles() == here
        texts = [text for _, text in pair.server.objects.values()]
        assert {
            word for word in ("Mine", "Theirs") if any(f"SUMMARY:{word}" in text for text in texts)
        } == there
        assert await pair.conflicts() == []


async def test_what_is_changed_here_and_deleted_there_is_a_conflict_and_can_come_back() -> None:
    async with agreed() as pair:
        await pair.rename("Mine")
        pair.server.drop("1.ics")
        await pair.sync()
        (conflict,) = await pair.conflicts()
        assert conflict["there"] is None
        await pair.door.http.post(f"/calendar/conflicts/{conflict['id']}", json={"keep": "here"})
        await pair.sync()
        assert "SUMMARY:Mine" in pair.server.text("u1")


async def test_what_is_deleted_here_and_changed_there_is_a_conflict_and_can_come_back() -> None:
    async with agreed() as pair:
        found = (await pair.door.http.get("/calendar/events", params=_RANGE)).json()
        await pair.door.http.delete(f"/calendar/events/{found['items'][0]['event']}")
        pair.server.put("1.ics", event("u1", "Theirs"))
        await pair.sync()
        (conflict,) = await pair.conflicts()
        assert conflict["here"] is None
        await pair.door.http.post(f"/calendar/conflicts/{conflict['id']}", json={"keep": "both"})
        await pair.sync()
        assert await pair.titles() == ["Theirs"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_pass_that_is_cut_short_after_a_write_finds_it_done(method: str) -> None:
    """As if the process was killed, or the line broke, before the answer came."""
    async with agreed() as pair:
        if method == "PUT":
            await pair.plan("Choir")
        else:
            found = (await pair.door.http.get("/calendar/events", params=_RANGE)).json()
            await pair.door.http.delete(f"/calendar/events/{found['items'][0]['event']}")
        pair.server.loses_answers_to = method
        assert "cannot be reached" in (await pair.sync())["account"]["error"]
        done = await pair.sync()
        assert (done["account"]["error"], done["conflicts"]) == ("", 0)
        assert len(pair.server.objects) == (2 if method == "PUT" else 0)
        assert await pair.conflicts() == []


async def test_a_server_that_wants_fewer_requests_is_left_in_peace_for_as_long_as_it_says() -> None:
    async with agreed() as pair:
        pair.server.answers.append(("", Response(status_code=503, headers={"Retry-After": "7200"})))
        account = (await pair.sync())["account"]
        assert "503" in account["error"]
        kept = await pair.door.house.app.features.of(Calendars).sync.account(pair.door.house.me, pair.account)
        wait_us = kept.next_at - pair.door.house.clock.now_us()
        assert wait_us == 7_200_000_000
        assert (await pair.sync())["account"]["error"] == ""


async def test_a_server_that_fails_again_and_again_is_asked_less_and_less() -> None:
    async with agreed() as pair:
        waits: list[int] = []
        for _ in range(4):
            pair.server.answers.append(("", Response(status_code=500)))
            await pair.sync()
            sync = pair.door.house.app.features.of(Calendars).sync
            kept = await sync.account(pair.door.house.me, pair.account)
            waits.append(kept.next_at - pair.door.house.clock.now_us())
            # What a person does by hand has no say in it.
            assert kept.failures == len(waits)
        assert waits == sorted(waits)
        health = (await pair.door.http.get("/health")).json()["parts"]["calendar"]
        assert "500" in health["message"]


@pytest.mark.parametrize("knows", [True, False])
async def test_without_tokens_or_with_tokens_that_are_refused_etags_tell_what_changed(knows: bool) -> None:  # noqa: FBT001
    async with paired(CalendarServer(knows_tokens=knows, keeps_tokens=False)) as pair:
        pair.server.put("1.ics", event("u1", "Dentist"))
        pair.server.put("2.ics", event("u2", "Choir"))
        await pair.sync()
        pair.server.drop("1.ics")
        pair.server.put("2.ics", event("u2", "Choir, later"))
        done = await pair.sync()
        assert (done["received"], done["deleted_here"]) == (1, 1)
        assert await pair.titles() == ["Choir, later"]


async def test_a_server_that_says_that_nearly_all_is_gone_is_not_believed_unasked() -> None:
    async with paired() as pair:
        for number in range(20):
            pair.server.put(f"{number}.ics", event(f"u{number}", f"Event {number}"))
        assert (await pair.sync())["received"] == 20
        for number in range(15):
            pair.server.drop(f"{number}.ics")
        done = await pair.sync()
        assert "15 of 20" in done["account"]["error"]
        assert done["account"]["pending_deletions"] == 15
        assert len(await pair.titles()) == 20
        assert (await pair.sync(accept_deletions=True))["deleted_here"] == 15


async def test_everything_changed_at_once_comes_in_few_requests() -> None:
    async with paired() as pair:
        for number in range(120):
            pair.server.put(f"{number}.ics", event(f"u{number}", f"Event {number}"))
        await pair.sync()
        for number in range(120):
            pair.server.put(f"{number}.ics", event(f"u{number}", f"Changed {number}"))
        pair.server.log.clear()
        assert (await pair.sync())["received"] == 120
        assert pair.server.asked() <= 8


async def test_what_cannot_be_read_is_told_and_stays_on_its_server() -> None:
    async with paired() as pair:
        pair.server.put("1.ics", event("u1", "No day", start="20261399"))
        pair.server.put("2.ics", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
        pair.server.put("3.ics", event("u3", "Bomb", "RRULE:FREQ=SECONDLY"))
        pair.server.put("4.ics", "garbage \0 \xff")
        pair.server.put("5.ics", event("u5", "Good"))
        done = await pair.sync()
        assert (done["received"], done["account"]["error"]) == (1, "")
        told = " ".join(one["why"] for one in done["account"]["refused"])
        assert "20261399" in told
        assert "FREQ" in told
        await pair.sync()
        assert len(pair.server.objects) == 5
        pair.server.put("1.ics", event("u1", "A day"))
        await pair.sync()
        assert await pair.titles() == ["A day", "Good"]


async def test_unknown_lines_survive_a_change_here() -> None:
    async with paired() as pair:
        lines = ("X-COLOR;X-A=b:teal", "GEO:1.0;2.0", "BEGIN:X-PART", "X-B:c", "END:X-PART")
        pair.server.put("1.ics", event("u1", "Dentist", *lines))
        await pair.sync()
        await pair.rename("Mine")
        await pair.sync()
        text = pair.server.text("SUMMARY:Mine")
        assert all(line in text for line in lines)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Response("<html>Welcome", 200), "no calendar server"),
        (Response("<html>Welcome", 207), "did not answer as calendar servers do"),
        (Response('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 207), "DOCTYPE"),
        (Response("<a>" * 100_000, 207), "nested too deep"),
        (Response(status_code=401), "refuses the user name"),
        (Response(status_code=301, headers={"Location": "https://evil.example.net/"}), "evil.example.net"),
        (Response(status_code=301, headers={"Location": "http://calendars.example.org/"}), "http://"),
        (Response(status_code=301, headers={"Location": CALENDAR}), ""),
    ],
)
async def test_a_server_that_lies_is_told_of_and_changes_nothing(answer: Response, told: str) -> None:
    async with agreed() as pair:
        pair.server.answers.append(("", answer))
        error = (await pair.sync())["account"]["error"]
        assert told in error if told else error == ""
        assert await pair.titles() == ["Dentist"]


async def test_a_server_has_no_say_about_what_is_not_in_the_calendar() -> None:
    foreign = response("/bob/home/9.ics", made(f"{DAV}getetag", '"9"'))
    async with paired(CalendarServer(extra=lambda: [foreign])) as pair:
        pair.server.put("1.ics", event("u1", "Dentist"))
        assert (await pair.sync())["received"] == 1
        assert not [path for _, path in pair.server.log if "bob" in path]


async def test_a_server_without_etags_is_not_written_to() -> None:
    async with paired(CalendarServer(gives_etags=False, knows_tokens=False)) as pair:
        pair.server.put("1.ics", event("u1", "Dentist"))
        assert "no ETags" in (await pair.sync())["account"]["error"]
        assert pair.server.asked("PUT") == 0


async def test_two_passes_of_one_account_do_not_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with agreed() as pair:

        async def held(name: str, ttl_s: float) -> bool:
            return not (name == f"calendar-sync:{pair.account}" and ttl_s)

        monkeypatch.setattr(pair.door.house.app.ports.bus, "claim", held)
        answer = await pair.door.http.post(f"/calendar/accounts/{pair.account}/sync", json={})
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:bethink:error:busy")


async def test_two_passes_within_one_process_do_not_run_at_once_either() -> None:
    async with agreed() as pair:
        for number in range(5):
            pair.server.put(f"n{number}.ics", event(f"n{number}", f"Event {number}"))
        path, statuses = f"/calendar/accounts/{pair.account}/sync", list[int]()

        async def one() -> None:
            statuses.append((await pair.door.http.post(path, json={})).status_code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
        assert sorted(statuses) == [200, 409]


async def test_accounts_that_are_due_are_synchronised_by_themselves() -> None:
    async with agreed() as pair:
        pair.server.put("1.ics", event("u1", "Later"))
        pair.door.house.clock.advance(6 * 60)
        sync = pair.door.house.app.features.of(Calendars).sync
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sync.keep)
            while await pair.titles() != ["Later"]:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_the_password_is_kept_sealed_and_told_to_nobody() -> None:
    async with agreed() as pair:
        store, me = pair.door.house.app.ports.store, pair.door.house.me
        (kept,) = await store.get(ACCOUNTS, me.owner, [pair.account])
        assert kept is not None
        assert b"a secret of ann" not in ACCOUNTS.encode(kept.record)
        assert "a secret of ann" not in (await pair.door.http.get("/calendar/accounts")).text
        assert "password" not in (await pair.door.http.get("/calendar/accounts")).json()["items"][0]


async def test_an_account_that_only_takes_changes_is_not_sent_what_is_ours() -> None:
    async with paired(sends="changes") as pair:
        pair.server.put("1.ics", event("u1", "Dentist"))
        await pair.plan("Diary")
        await pair.sync()
        await pair.rename("Mine", None)
        await pair.sync()
        assert not [text for _, text in pair.server.objects.values() if "Diary" in text]
        assert "SUMMARY:Mine" in pair.server.text("u1")


async def test_an_account_that_is_removed_leaves_its_events_here_and_there() -> None:
    async with agreed() as pair:
        await pair.door.http.delete(f"/calendar/accounts/{pair.account}")
        assert await pair.titles() == ["Dentist"]
        assert len(pair.server.objects) == 1
        assert (await pair.door.http.get("/calendar/accounts")).json() == {"items": []}


async def test_events_name_the_account_they_come_from() -> None:
    async with agreed() as pair:
        found = (await pair.door.http.get("/calendar/events", params=_RANGE)).json()
        assert found["items"][0]["account"]["id"] == pair.account


async def test_xml_with_entities_is_refused() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
    with pytest.raises(BadInput, match="DOCTYPE"):
        parsed(bomb)


async def test_what_is_forgotten_goes_from_here_and_from_the_server_which_the_receipt_names() -> None:
    async with agreed("Dentist") as pair:
        said = "The quetzal of Bruna bites"
        kept = (await pair.door.http.post("/memories", json={"content": said})).json()
        await pair.rename(said)
        pair.server.put("1.ics", event("u1", f"{said}, too"))
        await pair.sync()
        assert said in (await pair.door.http.get("/calendar/conflicts")).text
        forget = {"ids": [kept["memory"]["id"]]}
        asked = (await pair.door.http.post("/memories/forget", json=forget)).json()
        body = {**forget, "confirm": asked["token"]}
        done = await pair.door.http.post("/memories/forget", json=body)
        assert "calendar server of ann at calendars.example.org has copies" in done.text
        assert await pair.conflicts() == []
        await pair.sync()
        assert await pair.titles() == ["[forgotten]"]
        assert "quetzal" not in pair.server.text("u1")
