"""`/calendar`: its files, feeds to subscribe to, and accounts of calendar servers with their conflicts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from bethink.calendar.service import Calendar
from bethink.calendar_sync.feature import Calendars
from bethink.calendar_sync.feeds import NO_FEED
from bethink.calendar_sync.service import AccountDraft
from bethink.ical.lines import MAX_BYTES
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    Items,
    KnownTime,
    Label,
    ResponseModel,
    Served,
    Timestamp,
    opened_by_link,
)
from bethink.web.problems import documented
from bethink.web.request_scope import READER_FILTER
from bethink.web.uploads import file_body, receive

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.calendar_sync.records import CalendarAccount, Feed

router = APIRouter(prefix="/calendar", tags=["calendar"])

_CALENDAR = "text/calendar; charset=utf-8"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A calendar file", "content": {"text/calendar": {}}}
}
_TOO_LARGE = f"A calendar file has at most {MAX_BYTES // 1_000_000} MB: export it in parts."
FormName = Literal["VEVENT", "VTODO"]
Sends = Literal["all", "changes", "nothing"]


class CalendarRefusal(ResponseModel):
    """An entry that was not taken, and why."""

    title: str
    why: str


class ImportedCalendarFile(ResponseModel):
    """What became of the entries of a calendar file."""

    new: int
    changed: int
    known: int = Field(description="Here already, the same.")
    kept: int = Field(description="Here already and different: left as they are here.")
    refused_count: int
    refused: list[CalendarRefusal] = Field(description="The first hundred.")
    problems: list[str] = Field(description="What in the file was not as it should be.")


class FeedDraft(Body):
    """A calendar to subscribe to."""

    name: Label = "Bethink"
    forms: list[FormName] = Field(default=[], description="What it shows; nothing: all.")


class FeedShown(ResponseModel):
    """A feed. `path` is its address, a secret: it is told once, when the feed is made."""

    id: str
    name: str
    forms: list[FormName]
    created_at: Timestamp
    used_at: KnownTime
    path: str | None = None


class FeedList(Items[FeedShown]):
    """The feeds."""


class CalendarAccountDraft(Body):
    """An account of a calendar server. Many servers want a password made for programs."""

    url: Label = Field(description="Of the server, or of one calendar.")
    user: Label
    password: Label
    name: str = Field(default="", max_length=200)
    sends: Sends = Field(
        default="all",
        description="What goes there: all that no other account has, or changes of what came from there.",
    )
    interval_minutes: int = Field(default=5, ge=1, le=1440)


class CalendarAccountPatch(Body):
    """What to change of an account; `off` are the paths of calendars that are not synchronised."""

    name: Label | None = None
    password: Label | None = None
    sends: Sends | None = None
    interval_minutes: int | None = Field(default=None, ge=1, le=1440)
    paused: bool | None = None
    off: list[str] | None = Field(default=None, max_length=1000)


class SyncedCalendarShown(ResponseModel):
    """A calendar of an account."""

    href: str
    name: str
    forms: list[FormName]
    on: bool
    read_only: bool


class CalendarAccountShown(ResponseModel):
    """An account; `error` says what does not work, `next_at` when it is tried again."""

    id: str
    name: str
    url: str
    user: str
    sends: Sends
    interval_minutes: int
    paused: bool
    calendars: list[SyncedCalendarShown]
    error: str
    synced_at: KnownTime
    next_at: KnownTime
    pending_deletions: int = Field(description="Entries gone on one side: more than are believed unasked.")
    refused: list[CalendarRefusal] = Field(
        default=[], description="What one side does not take of the other."
    )


class CalendarAccountList(Items[CalendarAccountShown]):
    """The accounts."""


class SyncAsked(Body):
    """How to synchronise."""

    accept_deletions: bool = Field(default=False, description="Delete also where very many entries are gone.")


class Synced(ResponseModel):
    """What a pass did, and the account after it."""

    received: int
    sent: int
    deleted_here: int
    deleted_there: int
    conflicts: int
    refused: int
    account: CalendarAccountShown


class CalendarConflictShown(ResponseModel):
    """An entry that was changed on both sides; null of what was deleted."""

    id: str
    account: str
    account_name: str
    form: FormName
    uid: str
    title: str
    at: Timestamp
    here: str | None = Field(description="As a calendar file.")
    there: str | None = Field(description="As a calendar file.")


class CalendarConflictList(Items[CalendarConflictShown]):
    """The conflicts, the oldest first."""


class ConflictChoice(Body):
    """Which version stays; of both, that of the server becomes an entry of its own."""

    keep: Literal["here", "there", "both"]


class AccountRemoved(BaseModel):
    """How many entries went with an account."""

    removed: int


# --- files ---------------------------------------------------------------------


@router.get("/export.ics", dependencies=[SEES_ALL], response_class=Response, responses=_FILE)
async def export_calendar(
    app: Served, caller: Caller, form: Annotated[list[FormName] | None, Query()] = None
) -> Response:
    """Everything that is planned as one calendar file: events, and tasks."""
    text = await _calendars(app).files.text(caller, form or (), title="Bethink")
    return _file(text, "bethink.ics")


@router.get(
    "/events/{event}/invitation.ics",
    dependencies=[SEES_ALL],
    response_class=Response,
    responses={**_FILE, **documented(404)},
)
async def export_invitation(
    event: str,
    app: Served,
    caller: Caller,
    organizer: Annotated[str, Query(max_length=200, description="The owner's e-mail address.")] = "",
) -> Response:
    """One event as an invitation, to be sent to those who take part."""
    found = await app.features.of(Calendar).get(caller, event)
    text = await _calendars(app).files.invitation(caller, "VEVENT", found.event.uid, organizer=organizer)
    return _file(text, "invitation.ics")


@router.post(
    "/import",
    dependencies=[SEES_ALL],
    openapi_extra=file_body(),
    responses=documented(413, 422),
)
async def import_calendar(
    request: Request,
    app: Served,
    caller: Caller,
    *,
    overwrite: Annotated[
        bool, Query(description="Replace what is here already; otherwise it is left as it is.")
    ] = False,
) -> ImportedCalendarFile:
    """Take the events and tasks of a calendar file."""
    taken = _Buffer()
    await receive(request, lambda _: taken, limit=MAX_BYTES, name="calendar.ics", too_large=_TOO_LARGE)
    done = await _calendars(app).files.take(caller, taken.content, overwrite=overwrite)
    app.background.ask_vectors(caller.owner)
    return ImportedCalendarFile.of(done)


class _Buffer(io.BytesIO):
    """Keeps what was written when it is closed: a calendar file is small enough."""

    content = b""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


# --- feeds ---------------------------------------------------------------------


@router.get("/feeds", dependencies=[SEES_ALL])
async def list_feeds(app: Served, caller: Caller) -> FeedList:
    """The calendars to subscribe to, without their addresses."""
    return FeedList(items=[_feed(feed) for feed in await _calendars(app).feeds.list(caller)])


@router.post("/feeds", status_code=201, dependencies=[SEES_ALL])
async def add_feed(body: FeedDraft, app: Served, caller: Caller) -> FeedShown:
    """Make a calendar to subscribe to. Whoever knows its address sees it."""
    feed, token = await _calendars(app).feeds.add(caller, body.name, body.forms)
    return _feed(feed, f"/calendar/feed/{token}.ics")


@router.delete("/feeds/{feed}", status_code=204, responses=documented(404))
async def revoke_feed(feed: str, app: Served, caller: Caller) -> None:
    """End a feed: its address shows nothing any more."""
    await _calendars(app).feeds.revoke(caller, feed)


@router.get("/feed/{token}.ics", response_class=Response, responses={**_FILE, **documented(304, 404, 429)})
async def read_feed(token: str, request: Request, app: Served) -> Response:
    """A calendar to subscribe to, by its secret address alone: without a key."""
    feeds = _calendars(app).feeds
    owner, feed = await opened_by_link(request, app, await feeds.of(token), NO_FEED)
    principal = await app.visibility.filters.hold(app.accounts.on_behalf_of(owner, audience="rest:feed"))
    request.scope["state"][READER_FILTER] = await app.visibility.filter_for(principal)
    etag = f'"{await feeds.etag(owner, feed)}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    text = await _calendars(app).files.text(principal, feed.forms, title=feed.name)
    return Response(text, media_type=_CALENDAR, headers=headers)


# --- accounts of calendar servers ------------------------------------------------


@router.get("/accounts", dependencies=[SEES_ALL])
async def list_calendar_accounts(app: Served, caller: Caller) -> CalendarAccountList:
    """The accounts of calendar servers."""
    found = await _calendars(app).sync.accounts(caller)
    return CalendarAccountList(items=[await _account(app, caller, one) for one in found])


@router.post("/accounts", status_code=201, dependencies=[SEES_ALL], responses=documented(502))
async def add_calendar_account(
    body: CalendarAccountDraft, app: Served, caller: Caller
) -> CalendarAccountShown:
    """Add an account: its server is asked for its calendars, which are synchronised from now on."""
    added = await _calendars(app).sync.add(caller, AccountDraft(**body.model_dump()))
    return await _account(app, caller, added)


@router.patch("/accounts/{account}", dependencies=[SEES_ALL], responses=documented(404))
async def update_calendar_account(
    account: str, body: CalendarAccountPatch, app: Served, caller: Caller
) -> CalendarAccountShown:
    """Change an account."""
    return await _account(app, caller, await _calendars(app).sync.update(caller, account, body.given()))


@router.delete("/accounts/{account}", dependencies=[SEES_ALL], responses=documented(404, 409))
async def remove_calendar_account(
    account: str,
    app: Served,
    caller: Caller,
    *,
    with_entries: Annotated[bool, Query(description="Remove here what came from it, too.")] = False,
) -> AccountRemoved:
    """Remove an account; its server keeps everything."""
    removed = await _calendars(app).sync.remove(caller, account, with_entries=with_entries)
    return AccountRemoved(removed=removed)


@router.post("/accounts/{account}/sync", dependencies=[SEES_ALL], responses=documented(404, 409))
async def sync_calendar_account(
    account: str, app: Served, caller: Caller, body: SyncAsked | None = None
) -> Synced:
    """Synchronise an account now; it says what went wrong."""
    accepts = body is not None and body.accept_deletions
    kept, report = await _calendars(app).sync.sync(caller, account, accepts_deletions=accepts)
    app.background.ask_vectors(caller.owner)
    return Synced.of(report, account=await _account(app, caller, kept))


@router.get("/conflicts", dependencies=[SEES_ALL])
async def list_calendar_conflicts(app: Served, caller: Caller) -> CalendarConflictList:
    """What was changed here and on a calendar server: both versions are kept until one is chosen."""
    found = await _calendars(app).sync.conflicts(caller)
    items = [CalendarConflictShown.of(one.conflict, account_name=one.account, here=one.here) for one in found]
    return CalendarConflictList(items=items)


@router.post("/conflicts/{conflict}", status_code=204, dependencies=[SEES_ALL], responses=documented(404))
async def settle_calendar_conflict(conflict: str, body: ConflictChoice, app: Served, caller: Caller) -> None:
    """Choose which version stays."""
    await _calendars(app).sync.settle(caller, conflict, body.keep)


def _calendars(app: App) -> Calendars:
    return app.features.of(Calendars)


def _file(text: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=_CALENDAR, headers=headers)


def _feed(feed: Feed, path: str | None = None) -> FeedShown:
    return FeedShown.of(feed, path=path)


async def _account(app: App, caller: Caller, account: CalendarAccount) -> CalendarAccountShown:
    refused = await _calendars(app).sync.refused(caller, account.id)
    return CalendarAccountShown.of(
        account,
        next_at=None if account.paused else account.next_at,
        refused=[CalendarRefusal(title=link.uid or link.href, why=link.why) for link in refused[:100]],
    )
