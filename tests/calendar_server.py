"""A small calendar server in memory, which does what its test wants: lies, dies, waits, forgets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bethink.calendar_sync.client import CalDavClient
from bethink.calendar_sync.feature import Calendars
from bethink.calendar_sync.webdav import CALDAV, DAV, SERVER, Element, made, parsed, written
from bethink.internet.addresses import AddressGate
from bethink.internet.http_get import ready
from tests.door import Door

HOST = "https://calendars.example.org"
CALENDAR = "/ann/home/"
_OK, _GONE = "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found"


class AnswerLostError(httpx2.ReadError):
    """The connection broke before the answer came."""


@dataclass
class CalendarServer:
    """One calendar. `answers` are given in place of its own, in order, for requests of a method."""

    objects: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    log: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    answers: list[tuple[str, Response]] = field(default_factory=list[tuple[str, Response]])
    knows_tokens: bool = True
    keeps_tokens: bool = True
    gives_etags: bool = True
    loses_answers_to: str = ""
    extra: Callable[[], list[Element]] = list
    changes: list[str] = field(default_factory=list[str])

    def put(self, name: str, text: str) -> None:
        """As another client does."""
        href = f"{CALENDAR}{name}"
        self.changes.append(href)
        self.objects[href] = (f"e{len(self.changes)}", text)

    def drop(self, name: str) -> None:
        """The same."""
        self.objects.pop(f"{CALENDAR}{name}")
        self.changes.append(f"{CALENDAR}{name}")

    def text(self, word: str) -> str:
        """The only object that holds a word."""
        (found,) = [text for _, text in self.objects.values() if word in text]
        return found

    def asked(self, *methods: str) -> int:
        """How many requests of these methods came, or how many at all."""
        return sum(not methods or method in methods for method, _ in self.log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.log.append((request.method, request.url.path))
        body = await request.body()
        if self.answers and self.answers[0][0] in {request.method, ""}:
            await self.answers.pop(0)[1](scope, receive, send)
            return
        response = self.answer(request, body)
        if self.loses_answers_to == request.method:
            self.loses_answers_to = ""
            raise AnswerLostError("the connection broke")
        await response(scope, receive, send)

    def answer(self, request: Request, body: bytes) -> Response:
        path, headers = request.url.path, request.headers
        match request.method:
            case "PROPFIND" if path == CALENDAR and headers["depth"] == "1":
                return self.told(*(self._state(href) for href in self.objects), *self.extra())
            case "PROPFIND":
                return self.told(self._calendar())
            case "REPORT":
                return self._report(parsed(body))
            case "GET" if path in self.objects:
                return Response(self.objects[path][1], headers={"ETag": f'"{self.objects[path][0]}"'})
            case "PUT" | "DELETE":
                return self._written(request.method, path, body, headers.get("if-match", ""))
            case _:
                return Response(status_code=404)

    def _written(self, method: str, path: str, body: bytes, match: str) -> Response:
        now = self.objects.get(path, ("", ""))[0]
        if match.strip('"') != now:
            return Response(status_code=412)
        self.changes.append(path)
        if method == "DELETE":
            del self.objects[path]
            return Response(status_code=204)
        self.objects[path] = (f"e{len(self.changes)}", body.decode())
        return Response(status_code=201, headers={"ETag": f'"{self.objects[path][0]}"'})

    def _report(self, asked: Element) -> Response:
        if asked.name == f"{CALDAV}calendar-multiget":
            hrefs = [one.text for one in asked.all(f"{DAV}href")]
            return self.told(*(self._state(href, data=True) for href in hrefs))
        if not self.keeps_tokens:
            return Response(status_code=403)
        since = int(asked.text_of(f"{DAV}sync-token").removeprefix("t"))
        changed = dict.fromkeys(self.changes[since:])
        token = made(f"{DAV}sync-token", f"t{len(self.changes)}")
        return self.told(*(self._state(href) for href in changed), *self.extra(), token)

    def _calendar(self) -> Element:
        token = [made(f"{DAV}sync-token", f"t{len(self.changes)}")] if self.knows_tokens else []
        return response(
            CALENDAR,
            made(f"{DAV}resourcetype", made(f"{DAV}collection"), made(f"{CALDAV}calendar")),
            made(f"{DAV}displayname", "Home"),
            made(f"{SERVER}getctag", f"c{len(self.changes)}"),
            *token,
        )

    def _state(self, href: str, *, data: bool = False) -> Element:
        if href not in self.objects:
            return made(f"{DAV}response", made(f"{DAV}href", href), made(f"{DAV}status", _GONE))
        etag, text = self.objects[href]
        told = [made(f"{DAV}getetag", f'"{etag}"')] if self.gives_etags else []
        return response(href, *told, *([made(f"{CALDAV}calendar-data", text)] if data else []))

    @staticmethod
    def told(*responses: Element) -> Response:
        return Response(written(made(f"{DAV}multistatus", *responses)), 207)


def response(href: str, *properties: Element) -> Element:
    """What is said of one path."""
    stat = made(f"{DAV}propstat", made(f"{DAV}prop", *properties), made(f"{DAV}status", _OK))
    return made(f"{DAV}response", made(f"{DAV}href", href), stat)


def event(uid: str, title: str, *more: str, start: str = "20261204T090000Z") -> str:
    """A calendar with one event of an hour."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "BEGIN:VEVENT", f"UID:{uid}", f"SUMMARY:{title}"]
    lines += [f"DTSTART:{start}", "DURATION:PT1H", *more, "END:VEVENT", "END:VCALENDAR", ""]
    return "\r\n".join(lines)


@asynccontextmanager
async def account_at(door: Door, server: CalendarServer, **more: object) -> AsyncGenerator[str]:
    """The id of an account of the server, which is asked without a network."""

    @asynccontextmanager
    async def connect(
        gate: AddressGate, url: str, *, user: str, password: str
    ) -> AsyncGenerator[CalDavClient]:
        del gate
        await ready()
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(server)) as http:
            yield CalDavClient(http, httpx2.URL(url), user, password)

    door.house.app.features.of(Calendars).sync.connect = connect
    body = {"url": f"{HOST}{CALENDAR}", "user": "ann", "password": "a secret of ann", **more}
    added = await door.http.post("/calendar/accounts", json=body)
    assert added.status_code == 201, added.text
    yield added.json()["id"]
