"""The calendar server that Bethink is: what phones and calendar programs send, and what they get."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from bethink.calendar_sync.webdav import CALDAV, DAV, SERVER, Element, parsed
from tests.calendar_server import event
from tests.door import called, open_door
from tests.house import open_house

pytestmark = pytest.mark.anyio
EVENTS, TASKS = "/dav/calendars/events/", "/dav/calendars/tasks/"
NS = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:CS="http://calendarserver.org/ns/"'


@dataclass(frozen=True, slots=True)
class Client:
    """A client of calendars."""

    http: httpx2.AsyncClient
    key: str = "none"

    async def ask(
        self, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        secret = base64.b64encode(f"phone:{self.key}".encode()).decode()
        sent = {"Authorization": f"Basic {secret}", "Content-Type": "application/xml"} | dict(headers or {})
        return await self.http.request(method, path, content=body.encode(), headers=sent)

    async def told(self, method: str, path: str, body: str = "", depth: str = "1") -> Element:
        answer = await self.ask(method, path, body, {"Depth": depth})
        assert answer.status_code == 207, answer.text
        return parsed(answer.content)

    async def find(self, path: str, *names: str, depth: str = "0") -> list[Element]:
        """The responses of a PROPFIND for these properties."""
        body = f"<D:propfind {NS}><D:prop>{''.join(f'<{name}/>' for name in names)}</D:prop></D:propfind>"
        return list((await self.told("PROPFIND", path, body, depth)).all(f"{DAV}response"))

    async def put(self, name: str, text: str, **headers: str) -> httpx2.Response:
        return await self.ask("PUT", name, text, {"Content-Type": "text/calendar"} | headers)

    async def query(self, folder: str, inner: str) -> list[str]:
        """The paths that a calendar-query finds."""
        form = "VEVENT" if folder == EVENTS else "VTODO"
        told = await self.told(
            "REPORT",
            folder,
            f"<C:calendar-query {NS}><D:prop><D:getetag/><C:calendar-data/></D:prop>"
            f'<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="{form}">{inner}'
            "</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>",
        )
        return [one.text_of(f"{DAV}href").removeprefix(folder) for one in told.all(f"{DAV}response")]

    async def changes(self, token: str) -> tuple[str, dict[str, str]]:
        """The new token, and what changed: etags by names, "" of what is gone."""
        told = await self.told(
            "REPORT",
            EVENTS,
            f"<D:sync-collection {NS}><D:sync-token>{token}</D:sync-token><D:sync-level>1</D:sync-level>"
            "<D:prop><D:getetag/></D:prop></D:sync-collection>",
        )
        found = {
            one.text_of(f"{DAV}href").removeprefix(EVENTS): one.text_of(
                f"{DAV}propstat", f"{DAV}prop", f"{DAV}getetag"
            )
            for one in told.all(f"{DAV}response")
        }
        return told.text_of(f"{DAV}sync-token"), found


def said(response: Element, *path: str) -> str:
    return response.text_of(f"{DAV}propstat", f"{DAV}prop", *path)


@asynccontextmanager
async def client() -> AsyncGenerator[Client]:
    async with open_door() as door:
        yield Client(door.http)


@pytest.mark.requirement("C21")
async def test_a_phone_finds_the_calendars_from_the_name_of_the_host_alone() -> None:
    """As RFC 6764 has it; iOS and DAVx5 go this way."""
    async with client() as phone:
        moved = await phone.ask("PROPFIND", "/.well-known/caldav")
        assert (moved.status_code, moved.headers["location"]) == (301, "/dav/")
        for root in ("/dav/", "/dav", "/"):
            (one,) = await phone.find(root, "D:current-user-principal")
            principal = said(one, f"{DAV}current-user-principal", f"{DAV}href")
        (one,) = await phone.find(principal, "C:calendar-home-set", "D:displayname", "D:unknown-thing")
        home = said(one, f"{CALDAV}calendar-home-set", f"{DAV}href")
        _, *calendars = await phone.find(
            home, "D:resourcetype", "C:supported-calendar-component-set", "CS:getctag", depth="1"
        )
        assert [one.text_of(f"{DAV}href") for one in calendars] == [EVENTS, TASKS]
        for one in calendars:
            prop = one.find(f"{DAV}propstat", f"{DAV}prop")
            assert prop is not None
            assert prop.find(f"{DAV}resourcetype", f"{CALDAV}calendar") is not None
            assert prop.text_of(f"{SERVER}getctag")
        # The page stands at the same address.
        assert (await phone.http.get("/")).status_code == 200
        options = await phone.ask("OPTIONS", EVENTS)
        assert "calendar-access" in options.headers["dav"]


async def test_an_event_is_written_read_changed_and_deleted_as_thunderbird_does() -> None:
    async with client() as program:
        new = {"If-None-Match": "*"}
        assert (await program.put(f"{EVENTS}a b.ics", event("u1", "Dentist"), **new)).status_code == 201
        assert (await program.put(f"{EVENTS}a b.ics", event("u1", "Other"), **new)).status_code == 412
        got = await program.ask("GET", f"{EVENTS}a%20b.ics")
        assert "SUMMARY:Dentist" in got.text
        etag = got.headers["etag"]
        again = await program.ask("GET", f"{EVENTS}a%20b.ics", headers={"If-None-Match": etag})
        assert again.status_code == 304
        changed = await program.put(f"{EVENTS}a b.ics", event("u1", "Later"), **{"If-Match": etag})
        assert (changed.status_code, "etag" in changed.headers) == (204, False)
        stale = await program.put(f"{EVENTS}a b.ics", event("u1", "Stale"), **{"If-Match": etag})
        assert stale.status_code == 412
        found = (await program.http.get("/calendar/events?start=2026-12-01&end=2027-01-01")).json()["items"]
        assert [(one["title"], one["untrusted"]) for one in found] == [("Later", False)]
        assert (
            await program.ask("DELETE", f"{EVENTS}a b.ics", headers={"If-Match": etag})
        ).status_code == 412
        assert (await program.ask("DELETE", f"{EVENTS}a b.ics")).status_code == 204
        assert (await program.ask("DELETE", f"{EVENTS}a b.ics")).status_code == 404


async def test_only_what_changed_is_told_to_who_has_a_token() -> None:
    async with client() as program:
        await program.put(f"{EVENTS}1.ics", event("u1", "Dentist"))
        await program.put(f"{EVENTS}2.ics", event("u2", "Choir"))
        token, all_ = await program.changes("")
        assert set(all_) == {"1.ics", "2.ics"}
        assert (await program.changes(token))[1] == {}
        await program.put(f"{EVENTS}1.ics", event("u1", "Later"))
        await program.ask("DELETE", f"{EVENTS}2.ics")
        body = {"title": "Made here", "start": "2026-12-09T10:00"}
        made = (await program.http.post("/calendar/events", json=body)).json()
        token, changed = await program.changes(token)
        here = next(name for name in changed if name not in {"1.ics", "2.ics"})
        assert (changed["2.ics"], bool(changed["1.ics"]), bool(changed[here])) == ("", True, True)
        await program.http.delete(f"/calendar/events/{made['event']}")
        assert (await program.changes(token))[1] == {here: ""}


@pytest.mark.parametrize("token", ["x", "urn:bethink:calendar-sync:99999", "urn:bethink:calendar-sync:-1"])
async def test_a_token_that_is_not_ours_is_refused_so_that_all_is_read_again(token: str) -> None:
    async with client() as program:
        body = f"<D:sync-collection {NS}><D:sync-token>{token}</D:sync-token></D:sync-collection>"
        answer = await program.ask("REPORT", EVENTS, body)
        assert (answer.status_code, "valid-sync-token" in answer.text) == (403, True)


async def test_a_query_finds_what_lies_in_a_span_and_what_a_filter_lets_through() -> None:
    async with client() as program:
        await program.put(f"{EVENTS}1.ics", event("u1", "Dentist"))
        await program.put(
            f"{EVENTS}2.ics", event("u2", "Choir", "RRULE:FREQ=WEEKLY", start="20200101T180000Z")
        )
        await program.put(f"{EVENTS}3.ics", event("u3", "Past", start="20200101T090000Z"))
        span = '<C:time-range start="20261204T000000Z" end="20261210T000000Z"/>'
        assert set(await program.query(EVENTS, span)) == {"1.ics", "2.ics"}
        assert set(await program.query(EVENTS, '<C:time-range start="20261201T000000Z"/>')) == {
            "1.ics",
            "2.ics",
        }
        assert len(await program.query(EVENTS, "")) == 3
        match = '<C:prop-filter name="SUMMARY"><C:text-match>denT</C:text-match></C:prop-filter>'
        assert await program.query(EVENTS, match) == ["1.ics"]
        absent = '<C:prop-filter name="RRULE"><C:is-not-defined/></C:prop-filter>'
        assert set(await program.query(EVENTS, absent)) == {"1.ics", "3.ics"}


async def test_open_tasks_are_found_as_clients_ask_for_them() -> None:
    async with client() as program:
        todo = event("t1", "Milk").replace("VEVENT", "VTODO").replace("DURATION:PT1H", "X-A:b")
        done = todo.replace("t1", "t2").replace("X-A:b", "STATUS:COMPLETED\r\nCOMPLETED:20261101T100000Z")
        await program.put(f"{TASKS}1.ics", todo)
        await program.put(f"{TASKS}2.ics", done)
        absent = '<C:prop-filter name="COMPLETED"><C:is-not-defined/></C:prop-filter>'
        assert await program.query(TASKS, absent) == ["1.ics"]


async def test_many_are_read_at_once_and_what_is_gone_is_said() -> None:
    async with client() as program:
        await program.put(f"{EVENTS}1.ics", event("u1", "Dentist"))
        hrefs = "".join(f"<D:href>{EVENTS}{name}.ics</D:href>" for name in (1, 2))
        told = await program.told(
            "REPORT",
            EVENTS,
            f"<C:calendar-multiget {NS}><D:prop><D:getetag/><C:calendar-data/></D:prop>{hrefs}"
            "</C:calendar-multiget>",
        )
        one, gone = told.all(f"{DAV}response")
        assert "SUMMARY:Dentist" in said(one, f"{CALDAV}calendar-data")
        assert "404" in gone.text_of(f"{DAV}status")


async def test_what_is_kept_elsewhere_survives_the_way_through_a_phone() -> None:
    async with client() as phone:
        lines = ("X-APPLE-TRAVEL-ADVISORY-BEHAVIOR:AUTOMATIC", "SEQUENCE:4", "BEGIN:VALARM")
        lines += ("ACTION:DISPLAY", "TRIGGER:-PT15M", "X-WR-ALARMUID:7", "END:VALARM")
        await phone.put(f"{EVENTS}1.ics", event("u1", "Dentist", *lines))
        (one,) = (await phone.http.get("/calendar/events?start=2026-12-01&end=2027-01-01")).json()["items"]
        assert one["reminders"] == [15]
        text = (await phone.ask("GET", f"{EVENTS}1.ics")).text
        assert all(line in text for line in lines)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("MKCALENDAR", "/dav/calendars/new/", "", 403),
        ("MKCOL", "/dav/calendars/new/", "", 403),
        ("MOVE", EVENTS, "", 405),
        ("LOCK", EVENTS, "", 405),
        ("DELETE", EVENTS, "", 403),
        ("PUT", EVENTS, "x", 405),
        ("PUT", f"{EVENTS}1.ics", "garbage", 403),
        ("PUT", f"{EVENTS}1.txt", "BEGIN:VCALENDAR\nEND:VCALENDAR", 403),
        ("PUT", f"{TASKS}1.ics", event("u1", "No task"), 403),
        ("PUT", f"{EVENTS}1.ics", event("u1", "No day", start="20261399"), 403),
        ("PROPFIND", "/dav/elsewhere/", "", 404),
        ("PROPFIND", f"{EVENTS}none.ics", "", 404),
        ("PROPFIND", EVENTS, "<a", 422),
        ("PROPFIND", EVENTS, '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 422),
        ("PROPFIND", EVENTS, "<a>" * 10_000, 422),
        ("REPORT", EVENTS, "", 422),
        ("REPORT", EVENTS, f"<D:expand-property {NS}/>", 403),
        ("REPORT", "/dav/", f"<D:sync-collection {NS}/>", 403),
    ],
)
async def test_what_is_not_spoken_is_refused(method: str, path: str, body: str, status: int) -> None:
    async with client() as program:
        assert (await program.ask(method, path, body)).status_code == status


async def test_names_and_colors_that_a_client_gives_are_refused_one_by_one() -> None:
    async with client() as phone:
        body = f"<D:propertyupdate {NS}><D:set><D:prop><D:displayname>Mine</D:displayname></D:prop></D:set>"
        told = await phone.told("PROPPATCH", EVENTS, f"{body}</D:propertyupdate>")
        assert "403" in (told.find(f"{DAV}response") or told).text_of(f"{DAV}propstat", f"{DAV}status")


async def test_one_uid_does_not_stand_at_two_addresses() -> None:
    async with client() as program:
        await program.put(f"{EVENTS}1.ics", event("u1", "Dentist"))
        answer = await program.put(f"{EVENTS}2.ics", event("u1", "Dentist"))
        assert (answer.status_code, "no-uid-conflict" in answer.text) == (409, True)


@pytest.mark.requirement("R182")
async def test_a_key_is_needed_and_shows_its_own_calendars_alone() -> None:
    async with open_house() as house, called(house, peer="203.0.113.9") as http:
        register = house.app.accounts.register
        ann, bob = await register.add_user("ann"), await register.add_user("bob")
        hers = Client(http, (await register.add_key(ann.id, "phone")).text)
        his = Client(http, (await register.add_key(bob.id, "phone")).text)
        reads = Client(http, (await register.add_key(ann.id, "tv", scopes=("read",))).text)
        assert (await hers.put(f"{EVENTS}1.ics", event("u1", "Secret"))).status_code == 201
        for method, path in (("PROPFIND", EVENTS), ("GET", f"{EVENTS}1.ics"), ("PUT", f"{EVENTS}1.ics")):
            answer = await Client(http, "wrong").ask(method, path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Basic")
        assert (await his.ask("GET", f"{EVENTS}1.ics")).status_code == 404
        assert (await his.ask("DELETE", f"{EVENTS}1.ics")).status_code == 404
        assert "u1" not in (await his.ask("PROPFIND", EVENTS)).text
        assert (await his.changes(""))[1] == {}
        assert (await reads.ask("GET", f"{EVENTS}1.ics")).status_code == 200
        assert (await reads.put(f"{EVENTS}1.ics", event("u1", "Mine"))).status_code == 403
        # A password in an address or on another path opens nothing.
        basic = {"Authorization": f"Basic {base64.b64encode(f'x:{hers.key}'.encode()).decode()}"}
        assert (await http.get("/memories", headers=basic)).status_code == 401


async def test_a_feed_shows_its_calendar_and_opens_nothing_else() -> None:
    async with open_house() as house, called(house, peer="203.0.113.9") as http:
        register = house.app.accounts.register
        ann = await register.add_user("ann")
        key = {"Authorization": f"Bearer {(await register.add_key(ann.id, 'laptop')).text}"}
        await http.post("/calendar/events", json={"title": "Choir", "start": "2026-12-04T10:00"}, headers=key)
        feed = (await http.post("/calendar/feeds", json={"name": "Family"}, headers=key)).json()
        shown = await http.get(feed["path"])
        assert "SUMMARY:Choir" in shown.text
        same = await http.get(feed["path"], headers={"If-None-Match": shown.headers["etag"]})
        assert (same.status_code, same.text) == (304, "")
        listed = (await http.get("/calendar/feeds", headers=key)).text
        token = re.sub(r".*/|\.ics$", "", feed["path"])
        assert token not in listed
        for opened in ({"Authorization": f"Bearer {token}"}, {"api-key": token}):
            assert (await http.get("/calendar/events", headers=opened)).status_code == 401
        await http.delete(f"/calendar/feeds/{feed['id']}", headers=key)
        gone = await http.get(feed["path"])
        assert (gone.status_code, "revoked" in gone.json()["detail"]) == (404, True)
        answers: list[Any] = [await http.get("/calendar/feed/guess.x.ics") for _ in range(31)]
        assert answers[-1].status_code == 429
        assert "retry-after" in answers[-1].headers
