"""The schedules of all owners, as tools and doors read and change them; every call acts for one principal.

`clock` runs what is due. Every change wakes it, in whichever process it runs.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec

from bethink.clock import Clock, check_time_zone
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.feature import DUE_CHANGED
from bethink.recurrence import rule_of
from bethink.schedules.delivery import NOTICED, Outbox
from bethink.schedules.due_times import Timing, next_due, understood
from bethink.schedules.records import (
    NOTICES,
    SCHEDULE_RUNS,
    SCHEDULES,
    WATCHED_PAGES,
    Action,
    Channel,
    Missed,
    Notice,
    Schedule,
    ScheduleRun,
    item_of,
)
from bethink.store import (
    OWES_SCRUB,
    Delete,
    DeleteAll,
    Put,
    RecordPage,
    Scan,
    Versioned,
    records_of,
    retry_conflicts,
    scrub,
)

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.principal import Principal
    from bethink.schedules.clock import ScheduleClock
    from bethink.store import Change, Store

MAX_TITLE_CHARS = 160
MAX_TEXT_CHARS = 4_000
MAX_URL_CHARS = 2_000
MAX_SCHEDULES = 10_000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LEAST_BUDGET = 1_000
_LEAST_MINUTES = 5
"""Between two runs or looks: a reminder may come each minute."""
_PAGE = 200
_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDraft:
    """A schedule to keep. `when` is a time or a recurrence in words, or as ISO 8601; see `Schedule`."""

    text: str = ""
    when: str = ""
    action: Action = "remind"
    title: str = ""
    url: str = ""
    channels: Sequence[Channel] = ()
    budget_tokens: int | None = None
    missed: Missed = "once"
    zone: str = ""
    conversation: str = ""
    paused: bool = False
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of all owners, what came of them, and what their owners are told."""

    store: Store
    bus: Bus
    clock: Clock
    new_id: Callable[[], str] = field(repr=False)
    outbox: Outbox
    firing: ScheduleClock

    async def create(self, principal: Principal, draft: ScheduleDraft) -> Versioned[Schedule]:
        """Keep a new schedule.

        Raises:
            BadInput: what it says is not fit, or when is not understood; the sentence says what to do.
            Ambiguous: when can be understood in several ways.
        """
        if await self.store.count(principal.owner, SCHEDULES, {}) >= MAX_SCHEDULES:
            raise BadInput(f"There are {MAX_SCHEDULES:,} schedules already: delete some first.")
        now = self.clock.now_us()
        await _check_zone(draft.zone)
        timing = understood(draft.when, now, draft.zone or principal.time_zone)
        said: dict[str, Any] = asdict(draft) | {"channels": tuple(draft.channels)}
        del said["when"]
        schedule = checked(Schedule(id=self.new_id(), created_at=now, updated_at=now, **said))
        schedule = _due(_timed(schedule, timing, draft.zone), now, principal.time_zone)
        await self._commit(principal, [Put(SCHEDULES, schedule, if_version=0, index=item_of(schedule))])
        return Versioned(schedule, 1)

    async def get(self, principal: Principal, id: str) -> Versioned[Schedule]:
        """The schedule with this id, and its version.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        (found,) = await self.store.get(SCHEDULES, principal.owner, [id])
        if found is None:
            raise UnknownId("Schedule not found: it may have been deleted.")
        return found

    async def list(
        self, principal: Principal, *, limit: int = 50, cursor: str | None = None
    ) -> RecordPage[Schedule]:
        """A page of schedules, the newest first.

        Raises:
            BadInput: the cursor is of no such list.
        """
        scan = Scan(SCHEDULES, order="created_at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def update(
        self,
        principal: Principal,
        id: str,
        given: Mapping[str, Any],
        *,
        if_version: int | None = None,
        untrusted: bool = False,
    ) -> Versioned[Schedule]:
        """Change the given fields, as `ScheduleDraft` names them; what is left out stays.

        Raises:
            UnknownId: this owner has no such schedule.
            BadInput: a field is not fit, or when is not understood.
            Conflict: it has another version than `if_version` by now.
        """
        # Whoever names a version is told of a conflict at once.
        change = retry_conflicts(self._changed) if if_version is None else self._changed
        return await change(principal, id, given, if_version=if_version, untrusted=untrusted)

    async def _changed(
        self,
        principal: Principal,
        id: str,
        given: Mapping[str, Any],
        *,
        if_version: int | None,
        untrusted: bool,
    ) -> Versioned[Schedule]:
        held = await self.get(principal, id)
        if if_version not in {None, held.version}:
            raise Conflict
        now, was = self.clock.now_us(), held.record
        changes = {name: value for name, value in given.items() if name not in ("when", "zone")}
        if "channels" in changes:
            changes["channels"] = tuple(changes["channels"])
        schedule = checked(
            msgspec.structs.replace(was, **changes, updated_at=now, untrusted=was.untrusted or untrusted)
        )
        zone = given.get("zone", was.zone)
        if "zone" in given:
            await _check_zone(zone)
            schedule = msgspec.structs.replace(schedule, zone=zone)
        if given.get("when"):
            timing = understood(given["when"], now, zone or principal.time_zone)
            schedule = _timed(schedule, timing, zone)
        if {"when", "zone", "paused", "action"} & given.keys():
            schedule = _due(schedule, now, principal.time_zone)
        return await self._put(principal, schedule, held.version)

    async def pause(self, principal: Principal, id: str) -> Versioned[Schedule]:
        """Have it not due any more until it is resumed.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        return await self.update(principal, id, {"paused": True})

    async def resume(self, principal: Principal, id: str) -> Versioned[Schedule]:
        """Have it due again; what was due while it was paused is left.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        return await self.update(principal, id, {"paused": False})

    @retry_conflicts
    async def snooze(self, principal: Principal, id: str, until: int) -> Versioned[Schedule]:
        """Have it due at a time, in microseconds UTC, and not before; then it goes on as usual.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        held = await self.get(principal, id)
        schedule = msgspec.structs.replace(
            held.record, snoozed_until=until, next_at=until, updated_at=self.clock.now_us()
        )
        return await self._put(principal, schedule, held.version)

    async def run_now(self, principal: Principal, id: str) -> Versioned[Schedule]:
        """Have it due now, also while it is paused; then it goes on as usual.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        return await self.snooze(principal, id, self.clock.now_us())

    async def restore(self, principal: Principal, schedules: Sequence[Schedule]) -> None:
        """Keep schedules that were kept before, or elsewhere: due from now on, whatever was due by then."""
        now, zone = self.clock.now_us(), principal.time_zone
        due = [_due(one, now, zone) for one in schedules]
        await self._commit(principal, [Put(SCHEDULES, one, 0, item_of(one)) for one in due])

    async def delete(self, principal: Principal, id: str) -> Schedule:
        """Remove a schedule with its history and what its owner was told; which one it was.

        Raises:
            UnknownId: this owner has no such schedule.
        """
        gone = (await self.get(principal, id)).record
        await self._commit(principal, [*removal(id), OWES_SCRUB])
        await scrub(self.store, principal.owner)
        return gone

    async def history(
        self, principal: Principal, id: str, *, limit: int = 50, cursor: str | None = None
    ) -> RecordPage[ScheduleRun]:
        """What came of a schedule, the newest first.

        Raises:
            UnknownId: this owner has no such schedule.
            BadInput: the cursor is of no such list.
        """
        await self.get(principal, id)
        scan = Scan(SCHEDULE_RUNS, {"schedule": id}, order="due_at", reverse=True, limit=limit, after=cursor)
        return (await self.store.scan(principal.owner, scan))[0]

    async def brought(
        self, principal: Principal, since: int, *, limit: int = 50
    ) -> list[tuple[ScheduleRun, str]]:
        """What runs and looks brought since a time, the newest first, each with its schedule's title."""
        scan = Scan(SCHEDULE_RUNS, order="due_at", low=since, reverse=True, limit=_PAGE)
        (page,) = await self.store.scan(principal.owner, scan)
        runs = [item.record for item in page.items if item.record.schedule]
        found = await self.store.get(SCHEDULES, principal.owner, [run.schedule for run in runs])
        return [
            (run, held.record.title)
            for run, held in zip(runs, found, strict=True)
            if held is not None and held.record.action != "remind"
        ][:limit]

    async def notices(
        self, principal: Principal, *, unseen: bool = False, limit: int = 50, cursor: str | None = None
    ) -> RecordPage[Notice]:
        """What the owner was told, the newest first.

        Raises:
            BadInput: the cursor is of no such list.
        """
        scan = Scan(
            NOTICES,
            {"is_unseen": 1} if unseen else {},
            order="at",
            high=self.clock.now_us() + 1,
            reverse=True,
            limit=limit,
            after=cursor,
        )
        return (await self.store.scan(principal.owner, scan))[0]

    @retry_conflicts
    async def seen(self, principal: Principal, notice: str) -> Notice:
        """Note that the owner has seen a notice.

        Raises:
            UnknownId: there is no such notice.
        """
        (held,) = await self.store.get(NOTICES, principal.owner, [notice])
        if held is None:
            raise UnknownId("Notice not found: it may have been removed.")
        if held.record.seen_at is not None:
            return held.record
        now = msgspec.structs.replace(held.record, seen_at=self.clock.now_us(), is_unseen=0)
        await self.store.commit(principal.owner, [Put(NOTICES, now, if_version=held.version)])
        return now

    async def follow(
        self, principal: Principal, since: int | None = None
    ) -> AsyncGenerator[list[Notice], None]:
        """Notices as they come, from those `since` a time on, in microseconds UTC; for ever.

        Those of that very time may come again.
        """
        now = self.clock.now_us()
        at, last = now if since is None else min(since, now), frozenset[str]()
        async with self.bus.subscribe(NOTICED) as news:
            if since is not None and (found := await self._told(principal, at)):
                at, last = found[-1].at, frozenset(one.id for one in found)
                yield found
            async for one in news:
                if one.payload not in {principal.owner, None}:
                    continue
                found = await self._told(principal, at)
                if new := [notice for notice in found if notice.id not in last]:
                    at, last = new[-1].at, frozenset(notice.id for notice in found)
                    yield new

    async def _told(self, principal: Principal, since: int) -> list[Notice]:
        """The notices from a time on, in order."""
        scan = Scan(NOTICES, order="at", low=since, high=self.clock.now_us() + 1, limit=_PAGE)
        return [notice async for notice in records_of(self.store, principal.owner, scan)]

    async def try_delivery(self, principal: Principal) -> Notice:
        """Send a notice by all that is set up, to see that it comes."""
        notice = Notice(
            id=self.new_id(),
            at=self.clock.now_us(),
            title="A notice from Bethink",
            text="You asked for it, to see that notices reach you.",
            link="/schedules",
        )
        await self._commit(principal, (await self.outbox.recipients(principal)).told(notice))
        await self.outbox.announce(principal.owner)
        return notice

    async def _put(self, principal: Principal, schedule: Schedule, version: int) -> Versioned[Schedule]:
        await self._commit(principal, [Put(SCHEDULES, schedule, version, item_of(schedule))])
        return Versioned(schedule, version + 1)

    async def _commit(self, principal: Principal, changes: Sequence[Change]) -> None:
        await self.store.commit(principal.owner, changes)
        await self.bus.publish(DUE_CHANGED, principal.owner)


def removal(id: str) -> list[Change]:
    """The changes that remove a schedule with all that came of it."""
    return [
        Delete(SCHEDULES, id),
        Delete(WATCHED_PAGES, id),
        DeleteAll(SCHEDULE_RUNS, {"schedule": id}),
        DeleteAll(NOTICES, {"schedule": id}),
    ]


def checked(schedule: Schedule) -> Schedule:
    """The schedule with its texts in order, and a title if it has none.

    Raises:
        BadInput: something of it is not fit; the sentence says what.
    """
    text, title, url = (
        _CONTROL.sub("", part).strip() for part in (schedule.text, schedule.title, schedule.url)
    )
    title = " ".join(title.split())
    if schedule.action == "watch":
        if not url:
            raise BadInput("Give the address of the page to watch in `url`.")
        url = checked_address(url)
    elif not text:
        raise BadInput("Say in `text` what to remind of, or what the agent is to do.")
    if len(text) > MAX_TEXT_CHARS or len(url) > MAX_URL_CHARS or len(title) > MAX_TITLE_CHARS:
        raise BadInput(
            f"A title has at most {MAX_TITLE_CHARS} characters, a text {MAX_TEXT_CHARS:,}, "
            f"an address {MAX_URL_CHARS:,}."
        )
    if schedule.budget_tokens is not None and schedule.budget_tokens < _LEAST_BUDGET:
        raise BadInput(f"A budget has at least {_LEAST_BUDGET:,} tokens: less is not enough for an answer.")
    return msgspec.structs.replace(
        schedule,
        text=text,
        url=url,
        title=title or _title_of(text or url),
        channels=tuple(dict.fromkeys(schedule.channels)),
    )


def checked_address(url: str) -> str:
    """The address of a page, as it is kept; what it leads to is judged when it is opened.

    Raises:
        BadInput: it is none.
    """
    url = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(url)
        # An odd port raises.
        has_host = bool(parts.hostname) and parts.port != 0
        is_page = parts.scheme in ("http", "https") and has_host and not parts.username
    except ValueError:
        is_page = False
    if not is_page:
        raise BadInput("Give the address of a page: it begins with https:// or http://, and has no password.")
    return url


async def _check_zone(name: str) -> None:
    if name:
        await anyio.to_thread.run_sync(check_time_zone, name)


def _title_of(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else line[:_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def _timed(schedule: Schedule, timing: Timing, zone: str) -> Schedule:
    return msgspec.structs.replace(
        schedule,
        at=timing.at,
        start=timing.start,
        recurrence=timing.recurrence,
        zone=timing.zone or zone,
        snoozed_until=None,
    )


def _due(schedule: Schedule, now: int, owner_zone: str) -> Schedule:
    """The schedule with its next due time, behind now.

    Raises:
        BadInput: it is due too often for what it does.
    """
    if schedule.recurrence and schedule.action != "remind":
        rule = rule_of(schedule.recurrence)
        if rule.frequency == "MINUTELY" and rule.interval < _LEAST_MINUTES:
            raise BadInput(f"Only reminders may come more often than every {_LEAST_MINUTES} minutes.")
    following = None if schedule.paused else next_due(schedule, now, owner_zone)
    return msgspec.structs.replace(schedule, next_at=following, snoozed_until=None)
