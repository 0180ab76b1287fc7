"""`/schedules`: what happens by itself, and when; what came of it, and where its owner is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from bethink.clock import to_us
from bethink.errors import BadInput
from bethink.schedules.delivery import DeliveryChange
from bethink.schedules.due_times import recurrence_words, words_for
from bethink.schedules.records import Notice, Schedule, ScheduleRun
from bethink.schedules.service import ScheduleDraft, Schedules
from bethink.schedules.web_push import Browser
from bethink.web.deps import (
    Body,
    Caller,
    Cursor,
    Items,
    Limit,
    Moment,
    ResponseModel,
    Served,
    Timestamp,
)
from bethink.web.problems import documented
from bethink.web.sse import STREAM, EventStream, JsonFrames, event_stream

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.store import Versioned

_STREAMED = event_stream("The newest notices; with `Accept: text/event-stream` each as it comes")
router = APIRouter(prefix="/schedules", tags=["schedules"])

_MINUTE_US = 60_000_000
Action = Literal["remind", "run", "watch"]
Channel = Literal["page", "push", "email", "webhook"]
Outcome = Literal["running", "done", "failed", "missed", "skipped", "waiting_for_approval", "unknown"]


class LastRunShown(ResponseModel):
    """What came of a schedule's last run."""

    outcome: Outcome
    at: Timestamp = Field(description="When it was due.")
    error: str
    conversation: str


class ScheduleShown(ResponseModel):
    """One schedule."""

    id: str
    title: str
    action: Action
    text: str
    url: str
    at: Timestamp | None = Field(description="When it is due, if it is due once.")
    recurrence: str = Field(description="The rule of RFC 5545 by which it is due again; empty for once.")
    recurrence_words: str
    zone: str = Field(description="IANA name; empty for the owner's own.")
    next_at: Timestamp | None = Field(description="When it is due next; null while paused and once over.")
    next_words: str
    paused: bool
    snoozed_until: Timestamp | None
    conversation: str = Field(description="Where it was made; empty if in none.")
    results: str = Field(description="The conversation of its results; empty before the first.")
    channels: list[Channel] = Field(description="Empty: all that are set up.")
    budget_tokens: int | None
    missed: Literal["once", "skip"]
    last: LastRunShown | None
    untrusted: bool
    created_at: Timestamp
    updated_at: Timestamp
    version: int


class ScheduleList(Items[ScheduleShown]):
    """Some schedules, the newest first."""

    cursor: str | None


class _Fields(Body):
    title: str | None = Field(default=None, description="At most 160 characters.")
    action: Action | None = Field(
        default=None, description="`remind` says the text, `run` has the agent do it, `watch` watches a page."
    )
    url: str | None = Field(default=None, description="Page to watch.")
    zone: str | None = Field(default=None, description="IANA name, if not the owner's own zone is meant.")
    channels: list[Channel] | None = Field(default=None, description="Where it tells; empty: everywhere.")
    budget_tokens: int | None = Field(default=None, description="Tokens that one run may use at most.")
    missed: Literal["once", "skip"] | None = Field(
        default=None, description="What becomes of what was due while Bethink was off."
    )
    paused: bool | None = None


class NewSchedule(_Fields):
    """A schedule to keep."""

    when: str = Field(description="In words or as ISO 8601: `in 20 minutes`, `every weekday at 8`.")
    text: str = Field(default="", description="What to remind of, or what the agent is to do.")
    conversation: str = Field(default="", description="Where reminders are said, too.")


class SchedulePatch(_Fields):
    """What to change; what is left out stays."""

    when: str | None = None
    text: str | None = None
    version: int | None = Field(default=None, description="Refused if it has another version by now.")


class Snooze(Body):
    """Until when a schedule waits: one of the two."""

    minutes: int | None = Field(default=None, ge=1, le=525_600)
    until: Moment = None


class ScheduleRunShown(ResponseModel):
    """What came of one due time."""

    id: str
    due_at: Timestamp
    started_at: Timestamp
    ended_at: Timestamp | None
    outcome: Outcome
    run: str = Field(description="The agent's run; empty if there was none.")
    conversation: str
    notice: str
    message: str
    error: str
    late_s: float = Field(description="How many seconds after its due time it began.")


class ScheduleHistory(Items[ScheduleRunShown]):
    """What came of a schedule, the newest first."""

    cursor: str | None


class NoticeShown(ResponseModel):
    """What the owner was told."""

    id: str
    at: Timestamp
    kind: Literal["reminder", "result", "trouble"]
    title: str
    text: str
    conversation: str
    link: str = Field(description="Address of the page that it is about; empty if there is none.")
    schedule: str
    seen_at: Timestamp | None
    untrusted: bool


class NoticeList(Items[NoticeShown]):
    """Some notices, the newest first."""

    cursor: str | None


@router.get("")
async def list_schedules(
    app: Served, caller: Caller, *, limit: Limit = 50, cursor: Cursor = None
) -> ScheduleList:
    """The schedules, the newest first."""
    page = await app.features.of(Schedules).list(caller, limit=limit, cursor=cursor)
    return ScheduleList(items=[shown(item, caller) for item in page.items], cursor=page.cursor)


@router.post("", status_code=201)
async def add_schedule(body: NewSchedule, app: Served, caller: Caller) -> ScheduleShown:
    """Keep a schedule; its `next_words` say how `when` was understood."""
    draft = ScheduleDraft(**body.model_dump(exclude_none=True))
    return shown(await app.features.of(Schedules).create(caller, draft), caller)


class DeliveryShown(ResponseModel):
    """Where the owner is told, beside the page."""

    email: str = Field(description="Empty: no e-mail.")
    has_mail_server: bool = Field(description="Whether e-mail can be sent: BETHINK_SMTP_URL is set.")
    webhook_url: str = Field(description="Empty: no webhook.")
    webhook_secret: str | None = Field(
        description="Of Standard Webhooks (`whsec_…`), shown once: when it was made."
    )
    quiet_hours: str | None = Field(description="`22:00-07:00`; null: those of the settings; empty: none.")
    quiet_hours_default: str
    browsers: int = Field(description="How many browsers take push messages.")
    failing: int = Field(description="Deliveries that were given up within a day.")


class DeliveryPatch(Body):
    """Where to be told; what is left out stays."""

    email: str | None = None
    webhook_url: str | None = None
    quiet_hours: str | None = Field(default=None, description="null: as the settings have it; empty: none.")
    new_webhook_secret: bool = False


class PushKeys(Body):
    """The keys of a browser's subscription."""

    p256dh: str = Field(max_length=200)
    auth: str = Field(max_length=100)


class NewPushSubscription(Body):
    """A browser's subscription, as `PushSubscription.toJSON()` gives it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    endpoint: str = Field(max_length=2000)
    keys: PushKeys


class PushBrowser(ResponseModel):
    """A browser that takes notices."""

    id: str
    host: str = Field(description="Of the browser's push service.")
    created_at: Timestamp


class PushShown(BaseModel):
    """What a browser needs to subscribe, and those that have."""

    public_key: str = Field(description="`applicationServerKey` for `pushManager.subscribe`.")
    browsers: list[PushBrowser]


@router.get("/delivery")
async def get_delivery(app: Served, caller: Caller) -> DeliveryShown:
    """Where the owner is told, beside the page."""
    return await _delivery_shown(app, caller, None)


@router.put("/delivery")
async def set_delivery(body: DeliveryPatch, app: Served, caller: Caller) -> DeliveryShown:
    """Say where to be told; a secret for a new webhook is shown once."""
    change = DeliveryChange(**body.given(empties=("quiet_hours",)))
    _, secret = await app.features.of(Schedules).outbox.change(caller, change)
    return await _delivery_shown(app, caller, secret or None)


@router.post("/delivery/try", status_code=201)
async def try_delivery(app: Served, caller: Caller) -> NoticeShown:
    """Send a notice by all that is set up."""
    return NoticeShown.of(await app.features.of(Schedules).try_delivery(caller))


@router.get("/push")
async def get_push(app: Served, caller: Caller) -> PushShown:
    """What a browser needs to take notices while the page is closed, and which do."""
    outbox = app.features.of(Schedules).outbox
    vapid = await outbox.vapid(caller)
    browsers = [PushBrowser.of(one) for one in await outbox.subscriptions(caller)]
    return PushShown(public_key=vapid.public, browsers=browsers)


@router.post("/push", status_code=201)
async def add_push(body: NewPushSubscription, app: Served, caller: Caller) -> PushBrowser:
    """Send notices to a browser from now on."""
    browser = Browser(body.endpoint, body.keys.p256dh, body.keys.auth)
    return PushBrowser.of(await app.features.of(Schedules).outbox.subscribe(caller, browser))


@router.delete("/push", status_code=204)
async def delete_push(app: Served, caller: Caller, endpoint: Annotated[str, Query(max_length=2000)]) -> None:
    """Send nothing to a browser any more."""
    await app.features.of(Schedules).outbox.unsubscribe(caller, endpoint)


@router.get(
    "/notices/events",
    response_model=NoticeList,
    responses={200: _STREAMED},
)
async def follow_notices(
    app: Served,
    caller: Caller,
    *,
    accept: Annotated[str, Header(max_length=1_000, include_in_schema=False)] = "",
    last_event_id: Annotated[
        str | None, Header(description="Where the reader was: the last frame's id.")
    ] = None,
) -> NoticeList | Response:
    """Notices as they come, for ever, or the newest for who does not take a stream."""
    if STREAM not in accept:
        return await list_notices(app, caller, limit=50, cursor=None, unseen=False)
    since = int(last_event_id) if last_event_id and last_event_id.isdecimal() else None
    notices = app.features.of(Schedules).follow(caller.lasting, since)
    frames: JsonFrames[Notice] = JsonFrames(NoticeShown.of, lambda notice: notice.at)
    return EventStream(notices, frames, until=app.stopping)


@router.get("/notices")
async def list_notices(
    app: Served,
    caller: Caller,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    unseen: Annotated[bool, Query(description="Only those that were not seen yet.")] = False,
) -> NoticeList:
    """What the owner was told, the newest first."""
    page = await app.features.of(Schedules).notices(caller, unseen=unseen, limit=limit, cursor=cursor)
    return NoticeList(items=[NoticeShown.of(item.record) for item in page.items], cursor=page.cursor)


@router.post("/notices/{notice}/seen", responses=documented(404))
async def see_notice(notice: str, app: Served, caller: Caller) -> NoticeShown:
    """Note that a notice was seen."""
    return NoticeShown.of(await app.features.of(Schedules).seen(caller, notice))


@router.get("/{schedule}", responses=documented(404))
async def get_schedule(schedule: str, app: Served, caller: Caller) -> ScheduleShown:
    """One schedule."""
    return shown(await app.features.of(Schedules).get(caller, schedule), caller)


@router.patch("/{schedule}", responses=documented(404, 409))
async def edit_schedule(schedule: str, body: SchedulePatch, app: Served, caller: Caller) -> ScheduleShown:
    """Change some of a schedule."""
    given = body.given("version", empties=("budget_tokens",))
    service = app.features.of(Schedules)
    return shown(await service.update(caller, schedule, given, if_version=body.version), caller)


@router.delete("/{schedule}", status_code=204, responses=documented(404))
async def delete_schedule(schedule: str, app: Served, caller: Caller) -> None:
    """Remove a schedule with its history, for good."""
    await app.features.of(Schedules).delete(caller, schedule)


@router.post("/{schedule}/run", responses=documented(404))
async def run_schedule(schedule: str, app: Served, caller: Caller) -> ScheduleShown:
    """Have it happen now, also while it is paused."""
    return shown(await app.features.of(Schedules).run_now(caller, schedule), caller)


@router.post("/{schedule}/pause", responses=documented(404))
async def pause_schedule(schedule: str, app: Served, caller: Caller) -> ScheduleShown:
    """Have it wait until it is resumed."""
    return shown(await app.features.of(Schedules).pause(caller, schedule), caller)


@router.post("/{schedule}/resume", responses=documented(404))
async def resume_schedule(schedule: str, app: Served, caller: Caller) -> ScheduleShown:
    """Have it go on; what was due while it was paused is left."""
    return shown(await app.features.of(Schedules).resume(caller, schedule), caller)


@router.post("/{schedule}/snooze", responses=documented(404))
async def snooze_schedule(schedule: str, body: Snooze, app: Served, caller: Caller) -> ScheduleShown:
    """Have it happen at another time, once; then it goes on as usual."""
    service = app.features.of(Schedules)
    now = service.clock.now_us()
    if (body.minutes is None) == (body.until is None):
        raise BadInput("Give either `minutes` or `until`.")
    until = now + (body.minutes or 0) * _MINUTE_US if body.until is None else to_us(body.until)
    if until <= now:
        raise BadInput("`until` is in the past: give a time to come.")
    return shown(await service.snooze(caller, schedule, until), caller)


@router.get("/{schedule}/history", responses=documented(404))
async def list_history(
    schedule: str, app: Served, caller: Caller, *, limit: Limit = 50, cursor: Cursor = None
) -> ScheduleHistory:
    """What came of a schedule, the newest first; it is kept for 90 days."""
    page = await app.features.of(Schedules).history(caller, schedule, limit=limit, cursor=cursor)
    return ScheduleHistory(items=[run_shown(item.record) for item in page.items], cursor=page.cursor)


def shown(item: Versioned[Schedule], caller: Principal) -> ScheduleShown:
    """A schedule as JSON."""
    schedule = item.record
    zone = schedule.zone or caller.time_zone
    return ScheduleShown.of(
        schedule,
        recurrence_words=recurrence_words(schedule),
        next_words=words_for(schedule.next_at, zone) if schedule.next_at is not None else "",
        version=item.version,
    )


async def _delivery_shown(app: Served, caller: Principal, secret: str | None) -> DeliveryShown:
    outbox = app.features.of(Schedules).outbox
    settings = await outbox.settings(caller)
    return DeliveryShown.of(
        settings,
        has_mail_server=outbox.mail is not None,
        webhook_secret=secret,
        quiet_hours_default=str(outbox.quiet_hours or ""),
        browsers=len(await outbox.subscriptions(caller)),
        failing=await outbox.failing(caller),
    )


def run_shown(run: ScheduleRun) -> ScheduleRunShown:
    """What came of a due time as JSON."""
    return ScheduleRunShown.of(run, late_s=run.late_us / 1_000_000)
