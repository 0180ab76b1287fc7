"""Calendars with servers and a client that others wrote: Radicale, Xandikos, and the library `caldav`."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.server_process import ROOT, Running, running

PROGRAMS = ROOT / ".servers" / "caldav" / "bin"
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(120),
    pytest.mark.foreign(make="servers"),
    pytest.mark.skipif(
        not PROGRAMS.exists() and "CI" not in os.environ, reason="`make servers` makes their environment"
    ),
]
_RANGE = {"start": "2026-12-01", "end": "2027-01-01"}


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def _command(name: str, port: int, folder: Path) -> list[str]:
    if name == "xandikos":
        words = f"serve -d {folder} --defaults -l 127.0.0.1 -p {port} --current-user-principal /ann/"
        return [str(PROGRAMS / "xandikos"), *words.split()]
    config = folder.with_suffix(".conf")
    users = folder.with_suffix(".users")
    users.write_text("ann:secret\n")
    config.write_text(
        f"[server]\nhosts = 127.0.0.1:{port}\n[auth]\ntype = htpasswd\nhtpasswd_encryption = plain\n"
        f"htpasswd_filename = {users}\ndelay = 0\n[storage]\nfilesystem_folder = {folder}\n"
    )
    return [str(PROGRAMS / "python"), "-m", "radicale", "--config", str(config)]


@asynccontextmanager
async def calendar_server(name: str, folder: Path) -> AsyncGenerator[str]:
    """The address of a calendar of a server that runs."""
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        *_command(name, port, folder), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    base = f"http://127.0.0.1:{port}"
    try:
        async with httpx2.AsyncClient(auth=("ann", "secret"), trust_env=False) as http:
            while True:
                try:
                    await http.request("OPTIONS", base)
                    break
                except httpx2.TransportError:
                    assert process.returncode is None
                    await anyio.sleep(0.05)
            if name == "radicale":
                (await http.request("MKCALENDAR", f"{base}/ann/home/")).raise_for_status()
        yield base
    finally:
        process.kill()
        await process.wait()


@dataclass(frozen=True, slots=True)
class Other:
    """Another client of the same calendar, as plain as can be."""

    http: httpx2.AsyncClient
    calendar: str

    async def put(self, name: str, title: str) -> None:
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//x//y//EN", "BEGIN:VEVENT", f"UID:{name}"]
        lines += ["DTSTAMP:20261101T000000Z", "DTSTART:20261204T090000Z", "DTEND:20261204T100000Z"]
        lines += [f"SUMMARY:{title}", "X-KEPT;A=b:c", "END:VEVENT", "END:VCALENDAR", ""]
        headers = {"Content-Type": "text/calendar"}
        answer = await self.http.put(
            f"{self.calendar}{name}.ics", content="\r\n".join(lines), headers=headers
        )
        assert answer.is_success, answer.text

    async def drop(self, name: str) -> None:
        assert (await self.http.delete(f"{self.calendar}{name}.ics")).is_success

    async def text(self, name: str) -> str:
        return (await self.http.get(f"{self.calendar}{name}.ics")).text


@asynccontextmanager
async def account(name: str, folder: Path, data: Path) -> AsyncGenerator[tuple[Running, Other, str]]:
    async with calendar_server(name, folder) as base:
        host = base.removeprefix("http://")
        async with running(data, BETHINK_WEB_ALLOW_PRIVATE=host) as bethink:
            body = {"url": base, "user": "ann", "password": "secret", "interval_minutes": 1440}
            added = await bethink.http.post("/calendar/accounts", json=body)
            assert added.status_code == 201, added.text
            (calendar,) = [one for one in added.json()["calendars"] if "VEVENT" in one["forms"]]
            async with httpx2.AsyncClient(auth=("ann", "secret"), trust_env=False) as http:
                yield bethink, Other(http, base + calendar["href"]), added.json()["id"]


async def sync(bethink: Running, id: str) -> dict[str, Any]:
    """What a pass did; one that runs already is waited for."""
    while True:
        answer = await bethink.http.post(f"/calendar/accounts/{id}/sync", json={})
        if answer.status_code != 409:
            assert answer.json()["account"]["error"] == "", answer.text
            return answer.json()
        await anyio.sleep(0.05)


async def titles(bethink: Running) -> list[str]:
    found = (await bethink.http.get("/calendar/events", params=_RANGE)).json()["items"]
    return sorted(one["title"] for one in found)


@pytest.mark.requirement("C21")
@pytest.mark.parametrize("name", ["radicale", "xandikos"])
async def test_a_calendar_of_a_foreign_server_and_ours_become_the_same(name: str, tmp_path: Path) -> None:
    async with account(name, tmp_path / "there", tmp_path / "data") as (bethink, other, id):
        await sync(bethink, id)
        await other.put("u1", "Dentist")
        await sync(bethink, id)
        assert await titles(bethink) == ["Dentist"]
        body = {"title": "Choir", "start": "2026-12-05T10:00", "recurrence": "FREQ=WEEKLY;COUNT=2"}
        made = (await bethink.http.post("/calendar/events", json=body)).json()
        assert (await sync(bethink, id))["sent"] == 1
        await other.put("u1", "Dentist later")
        assert (await sync(bethink, id))["received"] == 1
        assert await titles(bethink) == ["Choir", "Choir", "Dentist later"]
        found = (await bethink.http.get("/calendar/events", params=_RANGE)).json()["items"]
        dentist = next(one["event"] for one in found if one["title"].startswith("Dentist"))
        await bethink.http.patch(f"/calendar/events/{dentist}", json={"title": "Dentist at last"})
        await sync(bethink, id)
        assert "X-KEPT;A=b:c" in await other.text("u1")
        assert "at last" in await other.text("u1")
        done = await sync(bethink, id)
        assert (done["received"], done["sent"], done["conflicts"]) == (0, 0, 0)
        await bethink.http.patch(f"/calendar/events/{dentist}", json={"title": "Mine"})
        await other.put("u1", "Theirs")
        assert (await sync(bethink, id))["conflicts"] == 1
        (conflict,) = (await bethink.http.get("/calendar/conflicts")).json()["items"]
        await bethink.http.post(f"/calendar/conflicts/{conflict['id']}", json={"keep": "here"})
        await sync(bethink, id)
        assert "SUMMARY:Mine" in await other.text("u1")
        await other.drop("u1")
        await bethink.http.delete(f"/calendar/events/{made['event']}", params={"scope": "all"})
        done = await sync(bethink, id)
        assert (done["deleted_here"], done["deleted_there"]) == (1, 1)
        assert await titles(bethink) == []


async def test_a_pass_that_is_killed_loses_nothing_and_makes_nothing_twice(tmp_path: Path) -> None:
    data, there = tmp_path / "data", tmp_path / "there"
    async with calendar_server("radicale", there) as base:
        host = base.removeprefix("http://")
        async with running(data, BETHINK_WEB_ALLOW_PRIVATE=host) as bethink:
            for number in range(40):
                body = {
                    "title": f"Event {number}",
                    "start": f"2026-12-{number % 20 + 1:02}T{number % 12 + 8:02}:00",
                }
                made = await bethink.http.post("/calendar/events", json={**body, "allow_conflict": True})
                assert made.is_success
            added = await bethink.http.post(
                "/calendar/accounts", json={"url": base, "user": "ann", "password": "secret"}
            )
            id = added.json()["id"]
            folder = there / "collection-root" / "ann" / "home"
            while len(list(folder.glob("*.ics"))) < 5:  # noqa: ASYNC110 - another program writes them
                await anyio.sleep(0.005)
            await bethink.kill()
        written = len(list(folder.glob("*.ics")))
        async with running(data, BETHINK_WEB_ALLOW_PRIVATE=host) as bethink:
            with anyio.fail_after(90):
                await sync(bethink, id)
            assert len(list(folder.glob("*.ics"))) == 40 >= written
            assert len(await titles(bethink)) == 40
            assert (await bethink.http.get("/calendar/conflicts")).json()["items"] == []


@pytest.mark.requirement("C21")
async def test_a_client_that_others_wrote_uses_our_calendar_server(tmp_path: Path) -> None:
    script = Path(__file__).parent / "calendar_client.txt"
    async with running(tmp_path) as bethink:
        base = str(bethink.http.base_url)
        process = await asyncio.create_subprocess_exec(
            *(str(PROGRAMS / "python"), str(script), base, "any"), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert json.loads(output) == {
            "events": ["Dentist later", "Weekly"],
            "found": ["Weekly"],
            "changed": [["Dentist later"], 0],
            "deleted": 1,
            "tasks": ["Milk"],
            "open": [],
            "refused": "AuthorizationError",
        }
