"""A client of calendar servers: CalDAV (RFC 4791), its discovery (RFC 6764) and what changed (RFC 6578).

Requests go through the gate of the internet, and the password only to the server that its owner named and
to hosts of the same domain that this one names. Nothing that a server says is taken for granted.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread

from bethink.calendar_sync.webdav import CALDAV, DAV, SERVER, Element, made, parsed, written
from bethink.errors import BadInput, WebError
from bethink.internet.addresses import AddressGate, checked_url

if TYPE_CHECKING:
    import httpx2


_TIMEOUT_S: Final = 30.0
_LONGEST_ANSWER_S: Final = 120.0
"""Of a server that sends byte by byte."""
_MAX_BYTES: Final = 50_000_000
"""Of an answer: a listing of a hundred thousand events."""
_MAX_ITEM_BYTES: Final = 2_000_000
_WRITTEN: Final = frozenset({200, 201, 202, 204})
_LATER: Final = frozenset({408, 423, 425})
_MOST_REDIRECTS: Final = 5
_AT_ONCE: Final = 50
"""Events that are asked for in one request."""
_LONGEST_WAIT_S: Final = 24 * 3600.0
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_TOKEN_INVALID: Final = frozenset({400, 403, 404, 405, 409, 410, 412, 415, 422, 501, 507})
"""By which servers refuse a token, or the report itself: the whole list is asked for then."""
_SAFE_PATH: Final = "/:@!$&'()*+,;=~"
_MULTISTATUS: Final = 207


class CalendarServerError(WebError):
    """The calendar server did not do as it should."""

    code = "calendar_server"


class SignInRefused(CalendarServerError):
    """The calendar server refuses the user name and the password: many want a password made for programs."""

    code = "calendar_sign_in"


class ServerBusy(CalendarServerError):
    """The calendar server wants fewer requests, or rests; it says for how long."""

    code = "calendar_server_busy"

    def __init__(self, message: str, wait_s: float | None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ChangedThere(CalendarServerError):
    """It was changed on the calendar server meanwhile."""

    code = "calendar_changed"


class RefusedThere(CalendarServerError):
    """The calendar server does not take this one."""

    code = "calendar_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCalendar:
    """A calendar on a server; `href` is its path. `components` are the names of what it takes."""

    href: str
    name: str
    components: frozenset[str]
    ctag: str = ""
    sync_token: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in a calendar: etags by paths, None of what is gone; all there are if it `is_whole`."""

    etags: Mapping[str, str | None]
    sync_token: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class RemoteText:
    """An object of a calendar as its server gives it."""

    href: str
    etag: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Answer:
    url: httpx2.URL
    status: int
    headers: Mapping[str, str]
    content: bytes


@asynccontextmanager
async def connected(gate: AddressGate, url: str, *, user: str, password: str) -> AsyncGenerator[CalDavClient]:
    """A client of the server at this address.

    Raises:
        AddressRefused: the address is none, or may not be opened.
    """
    transport = await anyio.to_thread.run_sync(import_module, "bethink.internet.transport")
    base = checked_url(url)
    async with transport.gated_client(gate, _TIMEOUT_S) as http:
        yield CalDavClient(http, base, user, password)


@dataclass(slots=True)
class CalDavClient:
    """One server, as one of its users sees it."""

    http: httpx2.AsyncClient
    base: httpx2.URL
    user: str
    password: str = field(repr=False)
    _auth: httpx2.Auth | None = field(default=None, repr=False)

    async def calendars(self) -> list[RemoteCalendar]:
        """All calendars of the user: found from the address of the server, or of one calendar.

        Raises:
            WebError: the server cannot be reached, refuses, or is no calendar server.
        """
        here = await self._find(self.base)
        if found := _calendars(here):
            return found
        home = self._link(here, f"{CALDAV}calendar-home-set")
        principal = self._link(here, f"{DAV}current-user-principal")
        if home is None and principal is None:
            known = await self._find(self.base.copy_with(path="/.well-known/caldav", query=None))
            home = self._link(known, f"{CALDAV}calendar-home-set")
            principal = self._link(known, f"{DAV}current-user-principal")
        if home is None and principal is not None:
            home = self._link(await self._find(principal), f"{CALDAV}calendar-home-set")
        if home is None:
            raise CalendarServerError(
                f"No calendars were found at {self.base.host}. Enter the address that the server's own pages "
                "give for CalDAV, or that of one calendar."
            )
        self.base = home
        return _calendars(await self._find(home, depth="1"))

    async def calendar(self, href: str) -> RemoteCalendar | None:
        """One calendar as it is now; None if it is gone."""
        try:
            found = _calendars(await self._find(self._url(href)))
        except _NotThere:
            return None
        return found[0] if found else None

    async def changes(self, href: str, token: str) -> Changes:
        """What changed since a token was given; everything if there is none, or it is no longer good."""
        if token:
            try:
                return await self._changes(href, token)
            except _TokenRefused:
                pass
        return await self._whole(href)

    async def fetch(self, calendar: str, hrefs: Sequence[str]) -> list[RemoteText]:
        """The objects of these paths; what is gone is left out."""
        found: list[RemoteText] = []
        for start in range(0, len(hrefs), _AT_ONCE):
            found += await self._fetched(calendar, hrefs[start : start + _AT_ONCE])
        return found

    async def put(self, href: str, text: str, etag: str | None) -> str:
        """Write an object: a new one without an etag, else in place of that with it. The new etag, or "".

        Raises:
            ChangedThere: another one is there.
            RefusedThere: the server does not take it.
        """
        condition = {"If-None-Match": "*"} if etag is None else {"If-Match": f'"{etag}"'}
        headers = {"Content-Type": "text/calendar; charset=utf-8", **condition}
        answer = await self._ask("PUT", self._url(href), body=text.encode(), headers=headers)
        self._check_written(answer)
        etag = answer.headers.get("etag", "")
        # A weak one says that the server wrote something else than it was given.
        return "" if etag.startswith("W/") else _etag(etag)

    async def delete(self, href: str, etag: str) -> None:
        """Remove an object; nothing happens if it is gone.

        Raises:
            ChangedThere: it is not the one with this etag any more.
            RefusedThere: the server does not remove it.
        """
        answer = await self._ask("DELETE", self._url(href), headers={"If-Match": f'"{etag}"'})
        if answer.status not in _GONE:
            self._check_written(answer)

    def _check_written(self, answer: _Answer) -> None:
        if answer.status == HTTPStatus.PRECONDITION_FAILED:
            raise ChangedThere
        if answer.status in _LATER or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise CalendarServerError(f"{answer.url.host} answered {_phrase(answer.status)}.")
        if answer.status not in _WRITTEN:
            raise RefusedThere(f"{answer.url.host} did not take it: it answered {_phrase(answer.status)}.")

    async def _changes(self, href: str, token: str) -> Changes:
        found: dict[str, str | None] = {}
        while True:
            body = made(
                f"{DAV}sync-collection",
                made(f"{DAV}sync-token", token),
                made(f"{DAV}sync-level", "1"),
                made(f"{DAV}prop", made(f"{DAV}getetag")),
            )
            answer = await self._ask("REPORT", self._url(href), body=written(body), headers={"Depth": "0"})
            if answer.status in _TOKEN_INVALID:
                raise _TokenRefused
            told = self._multistatus(answer)
            new = told.text_of(f"{DAV}sync-token")
            is_cut = False
            for response in told.all(f"{DAV}response"):
                path, status = _path(response), _status(response.text_of(f"{DAV}status"))
                if path == _normal(href):
                    is_cut = is_cut or status == HTTPStatus.INSUFFICIENT_STORAGE
                elif _is_in(path, href):
                    found[path] = (
                        None if status in _GONE else _etag(_properties(response).text_of(f"{DAV}getetag"))
                    )
            if not new:
                raise _TokenRefused
            # A server that cuts its answer goes on from the token that it gave (RFC 6578, 3.6).
            if not is_cut or new == token:
                return Changes(found, new)
            token = new

    async def _whole(self, href: str) -> Changes:
        body = _propfind(f"{DAV}getetag", f"{DAV}resourcetype", f"{DAV}getcontenttype")
        answer = await self._ask("PROPFIND", self._url(href), body=body, headers={"Depth": "1"})
        etags: dict[str, str | None] = {}
        for response in self._multistatus(answer).all(f"{DAV}response"):
            path, properties = _path(response), _properties(response)
            is_folder = properties.find(f"{DAV}resourcetype", f"{DAV}collection") is not None
            if _is_in(path, href) and not is_folder:
                etags[path] = _etag(properties.text_of(f"{DAV}getetag"))
        if etags and not any(etags.values()):
            raise CalendarServerError(
                f"{self.base.host} gives no ETags: without them changes could be lost, so it is not used."
            )
        return Changes(etags, is_whole=True)

    async def _fetched(self, calendar: str, hrefs: Sequence[str]) -> list[RemoteText]:
        body = made(
            f"{CALDAV}calendar-multiget",
            made(f"{DAV}prop", made(f"{DAV}getetag"), made(f"{CALDAV}calendar-data")),
            *(made(f"{DAV}href", href) for href in hrefs),
        )
        answer = await self._ask("REPORT", self._url(calendar), body=written(body), headers={"Depth": "1"})
        found = _texts(self._multistatus(answer)) if _can_be_read(answer) else {}
        # What a server leaves out of many, or gives so that none can be read, it may give by itself.
        missing = [one for href in hrefs if href not in found if (one := await self._got(href)) is not None]
        return [*(found[href] for href in hrefs if href in found), *missing]

    async def _got(self, href: str) -> RemoteText | None:
        answer = await self._ask("GET", self._url(href), headers={"Accept": "text/calendar"})
        if answer.status in _GONE:
            return None
        if answer.status != HTTPStatus.OK or len(answer.content) > _MAX_ITEM_BYTES:
            raise CalendarServerError(
                f"{self.base.host} lists an event and does not give it: it answered {_phrase(answer.status)}."
            )
        return RemoteText(href, _etag(answer.headers.get("etag", "")), answer.content)

    async def _find(self, url: httpx2.URL, depth: str = "0") -> _Found:
        body = _propfind(
            f"{DAV}current-user-principal",
            f"{CALDAV}calendar-home-set",
            f"{DAV}resourcetype",
            f"{DAV}displayname",
            f"{CALDAV}supported-calendar-component-set",
            f"{SERVER}getctag",
            f"{DAV}sync-token",
            f"{DAV}current-user-privilege-set",
        )
        answer = await self._ask("PROPFIND", url, body=body, headers={"Depth": depth})
        if answer.status in _GONE:
            if depth == "0" and url.path == self.base.path:
                raise _NotThere(f"There is nothing at {url}: check the address.")
            return _Found(answer.url, Element("none"))
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            return _Found(answer.url, Element("none"))
        return _Found(answer.url, self._multistatus(answer))

    def _link(self, found: _Found, name: str) -> httpx2.URL | None:
        for response in found.told.all(f"{DAV}response"):
            if href := _properties(response).text_of(name, f"{DAV}href"):
                return self._allowed(found.url.join(href))
        return None

    def _url(self, href: str) -> httpx2.URL:
        return self.base.join(href)

    def _allowed(self, url: httpx2.URL) -> httpx2.URL:
        """Another address that the server names, if it may have the password, too."""
        mine, theirs = self.base.host.lower(), url.host.lower()
        shared = mine.partition(".")[2]
        is_ours = theirs == mine or (
            "." in shared and not mine[-1].isdigit() and theirs.endswith(f".{shared}")
        )
        if not is_ours or (self.base.scheme == "https" and url.scheme != "https"):
            raise CalendarServerError(
                f"{mine} sends us to {url.scheme}://{theirs}. If that is right, enter that address for the "
                "account: the password is not sent there otherwise."
            )
        return url

    def _multistatus(self, answer: _Answer) -> Element:
        if answer.status != _MULTISTATUS:
            raise CalendarServerError(
                f"{answer.url.host} is no calendar server: it answered {_phrase(answer.status)}."
            )
        try:
            told = parsed(answer.content)
        except BadInput as error:
            raise CalendarServerError(
                f"{answer.url.host} did not answer as calendar servers do. {error}"
            ) from error
        if told.name != f"{DAV}multistatus":
            raise CalendarServerError(f"{answer.url.host} did not answer as calendar servers do.")
        return told

    async def _ask(
        self, method: str, url: httpx2.URL, *, body: bytes = b"", headers: Mapping[str, str]
    ) -> _Answer:
        """The answer to a request, redirects followed; what says that all must wait is raised."""
        for _ in range(_MOST_REDIRECTS):
            answer = await self._sent(method, url, body=body, headers=headers)
            if answer.status in _REDIRECTS and "location" in answer.headers:
                url = self._allowed(answer.url.join(answer.headers["location"]))
                continue
            return answer
        raise CalendarServerError(f"{url.host} sends us in a circle.")

    async def _sent(
        self, method: str, url: httpx2.URL, *, body: bytes, headers: Mapping[str, str]
    ) -> _Answer:
        import httpcore2
        import httpx2

        auth = self._auth = self._auth or httpx2.BasicAuth(self.user, self.password)
        kind = {"Content-Type": "application/xml; charset=utf-8"} if body else {}
        request = self.http.build_request(method, url, content=body, headers={**kind, **headers})
        try:
            with anyio.fail_after(_LONGEST_ANSWER_S):
                response = await self.http.send(request, auth=auth, stream=True)
                content = await _read(response)
        except (TimeoutError, httpcore2.TimeoutException, httpx2.TimeoutException) as error:
            raise CalendarServerError(f"{url.host} did not answer in time.") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.HTTPError, ssl.SSLError) as error:
            raise CalendarServerError(
                f"{url.host} cannot be reached: {str(error) or type(error).__name__}."
            ) from error
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            if (
                isinstance(auth, httpx2.BasicAuth)
                and "digest" in response.headers.get("www-authenticate", "").lower()
            ):
                self._auth = httpx2.DigestAuth(self.user, self.password)
                return await self._sent(method, url, body=body, headers=headers)
            raise SignInRefused
        if response.status_code in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
            wait_s = _wait_s(response.headers.get("retry-after", ""))
            raise ServerBusy(
                f"{url.host} answered {_phrase(response.status_code)}: it is asked again later.", wait_s
            )
        return _Answer(url, response.status_code, response.headers, content)


async def _read(response: httpx2.Response) -> bytes:
    content = bytearray()
    try:
        async for part in response.aiter_raw():
            content += part
            if len(content) > _MAX_BYTES:
                raise CalendarServerError(f"{response.url.host} answers with more than can be read.")
    finally:
        await response.aclose()
    return bytes(content)


class _TokenRefused(CalendarServerError):
    """The whole list is asked for then."""


class _NotThere(CalendarServerError):
    """There is nothing at an address."""


@dataclass(frozen=True, slots=True)
class _Found:
    url: httpx2.URL
    told: Element


def _can_be_read(answer: _Answer) -> bool:
    try:
        return answer.status == _MULTISTATUS and bool(parsed(answer.content))
    except BadInput:
        return False


def _texts(told: Element) -> dict[str, RemoteText]:
    """The objects that an answer gives, by their paths."""
    found: dict[str, RemoteText] = {}
    for response in told.all(f"{DAV}response"):
        path, properties = _path(response), _properties(response)
        if data := properties.text_of(f"{CALDAV}calendar-data"):
            found[path] = RemoteText(path, _etag(properties.text_of(f"{DAV}getetag")), data.encode())
    return found


def _propfind(*names: str) -> bytes:
    return written(made(f"{DAV}propfind", made(f"{DAV}prop", *map(made, names))))


def _properties(response: Element) -> Element:
    """The properties that a response gives, as the children of one element."""
    found = [
        child
        for stat in response.all(f"{DAV}propstat")
        if _status(stat.text_of(f"{DAV}status")) in {0, HTTPStatus.OK}
        for prop in stat.all(f"{DAV}prop")
        for child in prop.children
    ]
    return Element("properties", children=found)


def _calendars(found: _Found) -> list[RemoteCalendar]:
    calendars: list[RemoteCalendar] = []
    for response in found.told.all(f"{DAV}response"):
        properties = _properties(response)
        if properties.find(f"{DAV}resourcetype", f"{CALDAV}calendar") is None:
            continue
        href = str(found.url.join(_path(response)).raw_path, "ascii")
        kinds = properties.find(f"{CALDAV}supported-calendar-component-set")
        names = [one.attributes.get("name", "").upper() for one in kinds.children] if kinds else []
        calendars.append(
            RemoteCalendar(
                href=href,
                name=properties.text_of(f"{DAV}displayname")[:200]
                or unquote(href.strip("/").rpartition("/")[2]),
                # A server that names none takes all (RFC 4791, 5.2.3).
                components=frozenset(names or ("VEVENT", "VTODO")),
                ctag=properties.text_of(f"{SERVER}getctag"),
                sync_token=properties.text_of(f"{DAV}sync-token"),
                read_only=_is_read_only(properties.find(f"{DAV}current-user-privilege-set")),
            )
        )
    return calendars


def _is_read_only(told: Element | None) -> bool:
    if told is None:
        return False
    names = {name.name for privilege in told.all(f"{DAV}privilege") for name in privilege.children}
    return bool(names) and names.isdisjoint(
        {f"{DAV}{one}" for one in ("all", "write", "write-content", "bind")}
    )


def _path(response: Element) -> str:
    return _normal(response.text_of(f"{DAV}href"))


def _normal(href: str) -> str:
    """A path as it is compared: servers write the same one with more or fewer escapes, or with their host."""
    if "://" in href:
        href = f"/{href.split('://', 1)[1].partition('/')[2]}"
    return quote(unquote(href), safe=_SAFE_PATH)


def _is_in(path: str, calendar: str) -> bool:
    """Whether a path is right in a calendar: a server has no say about others."""
    folder = f"{_normal(calendar).rstrip('/')}/"
    name = path.removeprefix(folder)
    return path.startswith(folder) and bool(name) and "/" not in name


def _status(line: str) -> int:
    parts = line.split()
    return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0


def _etag(text: str) -> str:
    """An etag without its quotes, and without the mark that proxies put before one."""
    return text.strip().removeprefix("W/").strip('"')


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _wait_s(text: str) -> float | None:
    """What Retry-After says, in seconds or as a date (RFC 9110, 10.2.3)."""
    if text.strip().isdecimal():
        return min(float(text), _LONGEST_WAIT_S)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), _LONGEST_WAIT_S)
