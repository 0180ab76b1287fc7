"""`/dav`: Bethink as a calendar server, for phones and calendar programs (RFC 4918, 4791, 6578, 6764).

Two calendars, of events and of tasks, and no way to make others. Clients come with any user name and an API
key as their password. What is not spoken here is refused as the standards want it, so that clients go on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from bethink.calendar_sync.caldav_objects import ServedText, UidTaken
from bethink.calendar_sync.feature import Calendars
from bethink.calendar_sync.webdav import APPLE, CALDAV, DAV, SERVER, Element, made, parsed, written
from bethink.clock import to_us
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.ical.lines import Component, read
from bethink.ical.values import unescaped, when
from bethink.web.deps import SEES_ALL, Caller, Served

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.calendar_sync.records import ServedObject
    from bethink.principal import Principal


router = APIRouter(tags=["calendar"], include_in_schema=False)

_METHODS: Final = (
    *("OPTIONS", "PROPFIND", "REPORT", "GET", "HEAD", "PUT", "DELETE"),
    *("PROPPATCH", "MKCALENDAR", "MKCOL", "MOVE", "COPY", "POST", "LOCK", "UNLOCK"),
)
_ALLOWED: Final = "OPTIONS, PROPFIND, REPORT, GET, HEAD, PUT, DELETE, PROPPATCH"
_ROOT: Final = "/dav/"
_PRINCIPAL: Final = f"{_ROOT}principal/"
_HOME: Final = f"{_ROOT}calendars/"
_FORMS: Final = {"events": "VEVENT", "tasks": "VTODO"}
_NAMES: Final = {"events": "Bethink", "tasks": "Bethink tasks"}
_CALENDAR: Final = "text/calendar; charset=utf-8"
_XML: Final = "application/xml; charset=utf-8"
_TOKEN: Final = "urn:bethink:calendar-sync:"  # noqa: S105 - no secret
_MAX_BYTES: Final = "2000000"
_FIRST_US, _LAST_US = -(2**53), 2**53
_OK, _MISSING, _FORBIDDEN = "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 403 Forbidden"
_PRIVILEGES: Final = ("read", "write", "write-content", "bind", "unbind", "read-current-user-privilege-set")
_REPORTS: Final = (f"{CALDAV}calendar-query", f"{CALDAV}calendar-multiget", f"{DAV}sync-collection")


@dataclass(frozen=True, slots=True)
class _Place:
    """What an address names: one of our calendars, an object in it, or what leads there."""

    folder: str = ""
    name: str = ""

    @property
    def form(self) -> str:
        """Of the calendar."""
        return _FORMS[self.folder]

    @property
    def href(self) -> str:
        """Its address, escaped."""
        return f"{_HOME}{self.folder}/{quote(self.name, safe='@+')}"

    def of(self, name: str) -> _Place:
        """An object of this calendar."""
        return _Place(self.folder, name)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of a client."""

    request: Request
    app: App
    caller: Principal
    path: str

    @property
    def calendars(self) -> Calendars:
        """What is served."""
        return self.app.features.of(Calendars)

    @property
    def place(self) -> _Place | None:
        """The calendar or the object that is meant; None for what leads there.

        Raises:
            UnknownId: there is nothing at this address.
        """
        parts = [part for part in self.path.split("/") if part]
        if parts in ([], ["principal"], ["calendars"]):
            return None
        match parts:
            case ["calendars", folder] if folder in _FORMS:
                return _Place(folder)
            case ["calendars", folder, name] if folder in _FORMS:
                return _Place(folder, name)
            case _:
                raise UnknownId(f"There is nothing at {_ROOT}{self.path[:200]}.")

    async def xml(self) -> Element | None:
        """The body; None if there is none.

        Raises:
            BadInput: it is no XML that is read.
        """
        body = await self.request.body()
        return await anyio.to_thread.run_sync(parsed, body) if body.strip() else None


@router.api_route("/.well-known/caldav", methods=["GET", "HEAD", "PROPFIND", "OPTIONS"])
async def find_calendars() -> Response:
    """Where the calendars are (RFC 6764, 5)."""
    return Response(status_code=301, headers={"Location": _ROOT})


@router.api_route("/", methods=["PROPFIND"], dependencies=[SEES_ALL])
@router.api_route("/dav", methods=list(_METHODS), dependencies=[SEES_ALL])
@router.api_route("/dav/{path:path}", methods=list(_METHODS), dependencies=[SEES_ALL])
async def answer_calendar_client(request: Request, app: Served, caller: Caller, path: str = "") -> Response:
    """Answer a client of calendars."""
    asked = _Asked(request, app, caller, path)
    answer = _ANSWERS.get(request.method, _refuse)
    try:
        response = await answer(asked)
    except UidTaken:
        response = _error(409, f"{CALDAV}no-uid-conflict")
    except Conflict:
        response = Response(status_code=412)
    response.headers["DAV"] = "1, 3, calendar-access"
    return response


async def _options(_: _Asked) -> Response:
    return Response(status_code=200, headers={"Allow": _ALLOWED})


async def _refuse(asked: _Asked) -> Response:
    """What would make or move calendars, or lock them."""
    if asked.request.method in {"MKCALENDAR", "MKCOL"}:
        return _error(403, f"{CALDAV}calendar-collection-location-ok")
    return Response(status_code=405, headers={"Allow": _ALLOWED})


# --- properties ----------------------------------------------------------------


async def _propfind(asked: _Asked) -> Response:
    place, body = asked.place, await asked.xml()
    wanted = _wanted(body)
    with_children = asked.request.headers.get("depth", "1") != "0"
    if place is None:
        responses = await _leading(asked, wanted, with_children=with_children)
    elif place.name:
        known, _ = await asked.calendars.served.current(asked.caller.owner, place.form)
        one = known.get(place.name)
        if one is None or not one.etag:
            raise UnknownId("There is nothing at this address.")
        responses = [_told(place.href, _object(one, place.form), wanted)]
    else:
        known, number = await asked.calendars.served.current(asked.caller.owner, place.form)
        responses = [_told(place.href, _calendar(asked, place, number), wanted)]
        if with_children:
            there = (one for one in known.values() if one.etag)
            responses += [_told(place.of(one.name).href, _object(one, place.form), wanted) for one in there]
    return await _multistatus(responses)


async def _leading(asked: _Asked, wanted: Sequence[str] | None, *, with_children: bool) -> list[Element]:
    """The root, the principal, or the folder of calendars, and what is in it."""
    path = asked.path.strip("/")
    if path == "principal":
        return [_told(_PRINCIPAL, _principal(asked), wanted)]
    href = _HOME if path else _ROOT
    responses = [_told(href, _folder(asked), wanted)]
    if with_children and path:
        for place in map(_Place, _FORMS):
            _, number = await asked.calendars.served.current(asked.caller.owner, place.form)
            responses.append(_told(place.href, _calendar(asked, place, number), wanted))
    return responses


def _wanted(body: Element | None) -> list[str] | None:
    """The names of the properties that are asked for; None for all."""
    prop = body.find(f"{DAV}prop") if body is not None else None
    return [child.name for child in prop.children] if prop is not None else None


def _folder(asked: _Asked) -> list[Element]:
    return [
        made(f"{DAV}resourcetype", made(f"{DAV}collection")),
        made(f"{DAV}displayname", "Bethink"),
        *_own(),
        *_rights(asked, ["read"]),
    ]


def _principal(asked: _Asked) -> list[Element]:
    return [
        made(f"{DAV}resourcetype", made(f"{DAV}principal"), made(f"{DAV}collection")),
        made(f"{DAV}displayname", "Bethink"),
        made(f"{DAV}principal-URL", _href(_PRINCIPAL)),
        made(f"{CALDAV}calendar-user-address-set", _href(_PRINCIPAL)),
        *_own(),
        *_rights(asked, ["read"]),
    ]


def _own() -> list[Element]:
    return [
        made(f"{DAV}current-user-principal", _href(_PRINCIPAL)),
        made(f"{DAV}owner", _href(_PRINCIPAL)),
        made(f"{DAV}principal-collection-set", _href(_PRINCIPAL)),
        made(f"{CALDAV}calendar-home-set", _href(_HOME)),
    ]


def _rights(asked: _Asked, names: Sequence[str]) -> list[Element]:
    can_write = "write" in asked.caller.rights
    kept = [name for name in names if can_write or name.startswith("read")]
    told = [made(f"{DAV}privilege", made(f"{DAV}{name}")) for name in kept]
    return [made(f"{DAV}current-user-privilege-set", *told)]


def _calendar(asked: _Asked, place: _Place, number: int) -> list[Element]:
    reports = [made(f"{DAV}supported-report", made(f"{DAV}report", made(name))) for name in _REPORTS]
    return [
        made(f"{DAV}resourcetype", made(f"{DAV}collection"), made(f"{CALDAV}calendar")),
        made(f"{DAV}displayname", _NAMES[place.folder]),
        made(f"{DAV}getcontenttype", _CALENDAR),
        made(
            f"{CALDAV}supported-calendar-component-set",
            Element(f"{CALDAV}comp", attributes={"name": place.form}),
        ),
        made(
            f"{CALDAV}supported-calendar-data",
            Element(f"{CALDAV}calendar-data", attributes={"content-type": "text/calendar", "version": "2.0"}),
        ),
        made(f"{CALDAV}max-resource-size", _MAX_BYTES),
        made(f"{DAV}supported-report-set", *reports),
        made(f"{DAV}sync-token", f"{_TOKEN}{number}"),
        made(f"{SERVER}getctag", str(number)),
        made(f"{DAV}getetag", f'"{number}"'),
        made(f"{APPLE}calendar-color", "#2F6FDE"),
        *_own(),
        *_rights(asked, _PRIVILEGES),
    ]


def _object(one: ServedObject, form: str) -> list[Element]:
    return [
        made(f"{DAV}resourcetype"),
        made(f"{DAV}getetag", f'"{one.etag}"'),
        made(f"{DAV}getcontenttype", f"{_CALENDAR}; component={form.lower()}"),
        *_own()[:2],
    ]


async def _proppatch(asked: _Asked) -> Response:
    """Names and colors of our calendars stay: each property is refused by itself."""
    place, body = asked.place, await asked.xml()
    names = [
        child.name
        for change in (body.children if body is not None else ())
        for prop in change.all(f"{DAV}prop")
        for child in prop.children
    ]
    refused = made(f"{DAV}propstat", made(f"{DAV}prop", *map(made, names)), made(f"{DAV}status", _FORBIDDEN))
    href = place.href if place else f"{_ROOT}{asked.path}"
    return await _multistatus([made(f"{DAV}response", _href(href), refused)])


# --- reports -------------------------------------------------------------------


async def _report(asked: _Asked) -> Response:
    place, body = asked.place, await asked.xml()
    if body is None:
        raise BadInput("A REPORT says in XML what it asks for.")
    if place is None or place.name or body.name not in _REPORTS:
        return _error(403, f"{DAV}supported-report")
    if body.name == f"{DAV}sync-collection":
        return await _changes(asked, place, body)
    if body.name == f"{CALDAV}calendar-multiget":
        names = [_name_in(place, href.text.strip()) for href in body.all(f"{DAV}href")]
    else:
        names = await _matching(asked, place, body)
    return await _multistatus(await _objects(asked, place, names, wanted=_wanted(body)))


async def _changes(asked: _Asked, place: _Place, body: Element) -> Response:
    known, number = await asked.calendars.served.current(asked.caller.owner, place.form)
    token = body.text_of(f"{DAV}sync-token")
    since = token.removeprefix(_TOKEN)
    if token and (since == token or not since.isdecimal() or int(since[:18]) > number):
        return _error(403, f"{DAV}valid-sync-token")
    first = int(since[:18]) if token else 0
    changed = [one for one in known.values() if one.number > first]
    names = [one.name for one in changed if one.etag]
    responses = await _objects(asked, place, names, wanted=_wanted(body), known=known)
    gone = [one.name for one in changed if not one.etag and token]
    responses += [_missing(place.of(name).href) for name in gone]
    return await _multistatus([*responses, made(f"{DAV}sync-token", f"{_TOKEN}{number}")])


async def _objects(
    asked: _Asked,
    place: _Place,
    names: Sequence[str],
    *,
    wanted: Sequence[str] | None,
    known: Mapping[str, ServedObject] | None = None,
) -> list[Element]:
    """What is asked for of objects, in their order."""
    if known is None:
        known, _ = await asked.calendars.served.current(asked.caller.owner, place.form)
    data = f"{CALDAV}calendar-data"
    there = [name for name in names if name in known and known[name].etag]
    texts: dict[str, ServedText] = {}
    if wanted is None or data in wanted:
        found = await asked.calendars.served.texts(asked.caller, place.form, there)
        texts = {one.name: one for one in found if one is not None}
    responses: list[Element] = []
    for name in names:
        one = known.get(name)
        if one is None or not one.etag or (texts and name not in texts):
            responses.append(_missing(place.of(name).href))
            continue
        properties = _object(one, place.form)
        if text := texts.get(name):
            properties[1] = made(f"{DAV}getetag", f'"{text.etag}"')
            properties.append(made(data, text.text))
        responses.append(_told(place.of(name).href, properties, wanted))
    return responses


def _name_in(place: _Place, href: str) -> str:
    """The name of an object by its address; one of another calendar is none of ours."""
    from urllib.parse import unquote, urlsplit

    path = unquote(urlsplit(href).path)
    return path.removeprefix(f"{_HOME}{place.folder}/")


async def _matching(asked: _Asked, place: _Place, body: Element) -> list[str]:
    """The names of the objects that a filter lets through (RFC 4791, 9.7)."""
    known, _ = await asked.calendars.served.current(asked.caller.owner, place.form)
    there = {one.name: one.uid for one in known.values() if one.etag}
    outer = body.find(f"{CALDAV}filter", f"{CALDAV}comp-filter")
    for inner in outer.all(f"{CALDAV}comp-filter") if outer is not None else ():
        is_ours = inner.attributes.get("name", "").upper() == place.form
        is_absent = inner.find(f"{CALDAV}is-not-defined") is not None
        if is_ours == is_absent:
            return []
        if is_ours:
            there = await _fitting(asked, place, inner, there=there)
    return list(there)


async def _fitting(
    asked: _Asked, place: _Place, wanted: Element, *, there: Mapping[str, str]
) -> dict[str, str]:
    if (span := wanted.find(f"{CALDAV}time-range")) is not None:
        begin, end = (_moment(span.attributes.get(name)) for name in ("start", "end"))
        form = asked.app.features.components[place.form]
        within = await form.within(
            asked.caller, _FIRST_US if begin is None else begin, _LAST_US if end is None else end
        )
        there = {name: uid for name, uid in there.items() if uid in within}
    filters = list(wanted.all(f"{CALDAV}prop-filter"))
    if not filters:
        return dict(there)
    texts = await asked.calendars.served.texts(asked.caller, place.form, list(there))

    def fits(text: ServedText) -> bool:
        parts = [part for part in read(text.text.encode()).calendars[0].parts if part.name == place.form]
        return any(all(_passes(part, one) for one in filters) for part in parts)

    kept = await anyio.to_thread.run_sync(lambda: [text.name for text in texts if text and fits(text)])
    return {name: there[name] for name in kept}


def _passes(part: Component, wanted: Element) -> bool:
    lines = part.all(wanted.attributes.get("name", "").upper())
    if wanted.find(f"{CALDAV}is-not-defined") is not None:
        return not lines
    if (match := wanted.find(f"{CALDAV}text-match")) is None:
        return bool(lines)
    text = match.text.casefold()
    is_in = any(text in unescaped(line.value).casefold() for line in lines)
    return is_in != (match.attributes.get("negate-condition") == "yes")


def _moment(text: str | None) -> int | None:
    return None if not text else to_us(when(text, name="time-range").moment())


# --- objects -------------------------------------------------------------------


async def _get(asked: _Asked) -> Response:
    place = asked.place
    if place is None:
        return Response(
            "Bethink's calendars: add this address to a calendar program.", media_type="text/plain"
        )
    if not place.name:
        text = await asked.calendars.files.text(asked.caller, [place.form], title=_NAMES[place.folder])
        return Response(text, media_type=_CALENDAR)
    (found,) = await asked.calendars.served.texts(asked.caller, place.form, [place.name])
    if found is None:
        raise UnknownId("There is nothing at this address.")
    etag = f'"{found.etag}"'
    if etag in asked.request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": etag})
    return Response(found.text, media_type=_CALENDAR, headers={"ETag": etag})


async def _put(asked: _Asked) -> Response:
    place = asked.place
    if place is None or not place.name:
        return Response(status_code=405, headers={"Allow": _ALLOWED})
    if_etag = await _condition(asked, place)
    try:
        is_new = await asked.calendars.served.put(
            asked.caller, place.form, place.name, content=await asked.request.body(), if_etag=if_etag
        )
    except UidTaken:
        raise
    except BadInput as error:
        return _error(403, f"{CALDAV}valid-calendar-data", error.message)
    asked.app.background.ask_vectors(asked.caller.owner)
    # No etag: what is kept is written in our own way, and the client shall fetch it (RFC 4791, 5.3.4).
    return Response(status_code=201 if is_new else 204)


async def _delete(asked: _Asked) -> Response:
    place = asked.place
    if place is None or not place.name:
        return Response(status_code=403)
    served = asked.calendars.served
    uid = await served.find(asked.caller.owner, place.form, place.name)
    form = asked.app.features.components[place.form]
    if not await form.delete(asked.caller, uid, await _condition(asked, place)):
        raise UnknownId("There is nothing at this address.")
    return Response(status_code=204)


async def _condition(asked: _Asked, place: _Place) -> str | None:
    """The etag that must be there: "" if nothing may be, None if anything may.

    Raises:
        Conflict: something must be there, and is not.
    """
    headers = asked.request.headers
    if headers.get("if-none-match", "").strip() == "*":
        return ""
    match = headers.get("if-match", "").strip()
    if match == "*":
        (found,) = await asked.calendars.served.texts(asked.caller, place.form, [place.name])
        if found is None:
            raise Conflict
        return found.etag
    return match.removeprefix("W/").strip('"') or None


# --- answers -------------------------------------------------------------------


def _href(path: str) -> Element:
    return made(f"{DAV}href", path)


def _told(href: str, properties: Sequence[Element], wanted: Sequence[str] | None) -> Element:
    """A response with the properties that are wanted, and the names of those that are not there."""
    known = {one.name: one for one in properties}
    names = list(known) if wanted is None else list(dict.fromkeys(wanted))
    found = [known[name] for name in names if name in known]
    missing = [made(name) for name in names if name not in known]
    stats = [
        made(f"{DAV}propstat", made(f"{DAV}prop", *some), made(f"{DAV}status", status))
        for some, status in ((found, _OK), (missing, _MISSING))
        if some
    ]
    return made(f"{DAV}response", _href(href), *(stats or [made(f"{DAV}status", _OK)]))


def _missing(href: str) -> Element:
    return made(f"{DAV}response", _href(href), made(f"{DAV}status", _MISSING))


async def _multistatus(responses: Sequence[Element]) -> Response:
    body = await anyio.to_thread.run_sync(written, made(f"{DAV}multistatus", *responses))
    return Response(body, 207, media_type=_XML)


def _error(status: int, condition: str, told: str = "") -> Response:
    more = [made(f"{DAV}responsedescription", told)] if told else []
    return Response(written(made(f"{DAV}error", made(condition), *more)), status, media_type=_XML)


_ANSWERS: Final[Mapping[str, Callable[[_Asked], Awaitable[Response]]]] = {
    "OPTIONS": _options,
    "PROPFIND": _propfind,
    "PROPPATCH": _proppatch,
    "REPORT": _report,
    "GET": _get,
    "HEAD": _get,
    "PUT": _put,
    "DELETE": _delete,
}
