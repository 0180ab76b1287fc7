"""The clock of schedules: sleeps until something is due, takes it up once over all processes, and does it.

Whoever puts the `ScheduleRun` of a due time first has taken it up: its id is made of what is due and when,
and it must not be there before. A reminder, its message and its notice are one batch with that, so that it is
told once or is still due. What takes longer is begun after that: if its process ends before it does, what
came of it is not known, and that is what its owner is told; it is not repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from bethink.errors import BethinkError, Busy, Conflict, UnknownId
from bethink.feature import DUE_CHANGED, DueReminder, Features
from bethink.schedules.delivery import Outbox, said
from bethink.schedules.due_times import missed_between, next_due, words_for
from bethink.schedules.records import (
    DELIVERIES,
    MARK,
    REMINDER_MARKS,
    SCHEDULE_RUNS,
    SCHEDULES,
    LastRun,
    Notice,
    ReminderMark,
    Schedule,
    ScheduleRun,
    item_of,
    notice_id,
    run_id,
)
from bethink.schedules.work import MAX_RESULT_CHARS, Result, Work, result_of
from bethink.store import Change, Put, Scan, Store, Versioned, items_of, owners_of, pages_of, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bethink.bus import Bus
    from bethink.bus import Notice as BusNotice
    from bethink.clock import Clock
    from bethink.principal import AccountHolder, OnBehalfOf, Principal
    from bethink.schedules.records import Channel

AUDIENCE: Final = "schedules"
"""Whom a run by schedule reads for: what is hidden from other doors than the owner's own is hidden here."""
LOOK_S: Final = 60.0
"""The longest sleep: a clock that was set meanwhile, or a machine that slept, is noticed after it."""
_ELSEWHERE_S: Final = 10.0
"""How often runs of other processes are looked at: between machines one is known to be dead after so long."""
LATE_US: Final = 120_000_000
"""What begins later than this was missed: two sleeps."""
_JUMP_US: Final = 60_000_000
_TIDY_US: Final = 3_600_000_000
_OLDEST_US: Final = 7 * 24 * _TIDY_US
"""Reminders of other features that were missed before that are left."""
_MOST_LATE: Final = 20
"""More reminders than this that were missed at once are told in one notice."""
_AT_ONCE: Final = 4
"""Runs, looks and deliveries at the same time."""
_SETTLE_S: Final = 10.0
_PAGE: Final = 100
_log = log("schedules")


@dataclass(slots=True, kw_only=True)
class ScheduleClock:
    """Does what is due, of all owners. Every process that serves has one."""

    store: Store
    bus: Bus
    clock: Clock
    acting: OnBehalfOf
    find_user: Callable[[str], Awaitable[AccountHolder | None]]
    features: Features
    outbox: Outbox
    work: Work
    _next: dict[str, int] = field(default_factory=dict[str, int])
    _stale: set[str] = field(default_factory=set[str])
    _marks: dict[str, int] = field(default_factory=dict[str, int])
    _taken: set[str] = field(default_factory=set[str])
    _elsewhere: set[str] = field(default_factory=set[str])
    _slots: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_AT_ONCE))
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _looked: int = 0
    _tidied: int = 0

    async def run(self) -> None:
        """Do what is due, for ever."""
        self._taken.clear()
        self._elsewhere.clear()
        self._tidied = 0
        async with self.bus.subscribe(DUE_CHANGED) as changes, anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, changes)
            while True:
                await self.look(tasks)
                await self._sleep()

    async def _listen(self, changes: AsyncIterator[BusNotice]) -> None:
        async for notice in changes:
            if notice.payload is None:
                # Of any owner: all are looked at anew.
                self._tidied = 0
                self._news.set()
            else:
                self.wake(notice.payload)

    def wake(self, owner: str) -> None:
        """Have what is due of an owner looked at anew."""
        self._stale.add(owner)
        self._news.set()

    async def _sleep(self) -> None:
        """Sleep until something is due or has changed, and never long: a clock may be set meanwhile."""
        due = min(self._next.values(), default=None)
        until_s = LOOK_S if due is None else (due - self.clock.now_us()) / 1_000_000
        most_s = _ELSEWHERE_S if self._elsewhere else LOOK_S
        with anyio.move_on_after(max(0.0, min(until_s, most_s))):
            await self._news.wait()

    async def look(self, tasks: TaskGroup) -> None:
        """Do what is due now; what takes long goes on in `tasks`."""
        now = self.clock.now_us()
        self._news.clear()
        has_jumped = now < self._looked - _JUMP_US
        self._looked = now
        if has_jumped or now >= self._tidied + _TIDY_US:
            self._tidied = now
            await self._tidy(now)
        else:
            for owner in sorted(self._elsewhere):
                with recorded(_log, "what was begun of an owner was not looked at"):
                    await self._settle_all(self.acting(owner, audience=AUDIENCE))
        due = self._stale | {owner for owner, at in self._next.items() if at <= now}
        self._stale = set()
        for owner in self._marks.keys() - due:
            # Nothing was due until now: what is changed later into a time before now is not missed.
            self._marks[owner] = now
        for owner in sorted(due):
            with recorded(_log, "what is due of an owner was not done") as outcome:
                await self._fire(self.acting(owner, audience=AUDIENCE), now, tasks)
            if outcome.fault is not None:
                self._next[owner] = now + round(LOOK_S * 1_000_000)

    # --- what holds of all

    async def _tidy(self, now: int) -> None:
        """Find all owners, and put right what other processes, and clocks that were set, left behind."""
        self._next.clear()
        kept = (SCHEDULES, SCHEDULE_RUNS, DELIVERIES, *self.features.reminding)
        async for owner in owners_of(self.store, *kept):
            principal = self.acting(owner, audience=AUDIENCE)
            with recorded(_log, "what was begun of an owner was not looked at"):
                await self._settle_all(principal)
                await self._align(principal, now)
                await self._mark(owner, now)
            self._stale.add(owner)

    async def _mark(self, owner: str, now: int) -> None:
        """Keep up to when reminders were looked at, so that those of a time without Bethink are told once."""
        (held,) = await self.store.get(REMINDER_MARKS, owner, [MARK])
        known = self._marks.get(owner, held.record.until if held else now)
        self._marks[owner] = mark = min(known, now)
        if held is None or held.record.until != mark:
            await self.store.commit(owner, [Put(REMINDER_MARKS, ReminderMark(id=MARK, until=mark))])

    async def _align(self, principal: Principal, now: int) -> None:
        """Work out again when recurring schedules are due: the clock or the owner's zone may have changed.

        A due time that was taken up is not due again.
        """
        scan = Scan(SCHEDULES, order="next_at", low=now + 1, limit=_PAGE)
        async for held in items_of(self.store, principal.owner, scan):
            schedule, at = held.record, now
            if not schedule.recurrence or schedule.snoozed_until is not None:
                continue
            while (due := next_due(schedule, at, principal.time_zone)) not in (None, schedule.next_at):
                (known,) = await self.store.get(SCHEDULE_RUNS, principal.owner, [run_id(schedule.id, due)])
                if known is None:
                    break
                at = due
            if due != schedule.next_at:
                aligned = msgspec.structs.replace(schedule, next_at=due)
                with suppress(Conflict):
                    # Somebody changes it just now, and works it out.
                    await self.store.commit(principal.owner, [_put(aligned, held.version)])

    async def _settle_all(self, principal: Principal) -> None:
        """Find out how runs ended that this process does not drive; those of living processes are theirs."""
        scan = Scan(SCHEDULE_RUNS, {"is_open": 1}, order="due_at", limit=_PAGE)
        is_elsewhere = False
        async for held in items_of(self.store, principal.owner, scan):
            run = held.record
            if run.schedule in self._taken:
                continue
            is_other = run.outcome == "running" and run.process != self.bus.process
            if is_other and await self.bus.is_alive(run.process):
                is_elsewhere = True
                continue
            with anyio.move_on_after(_SETTLE_S):
                await self._settle(principal, held)
        # Only now: if the store did not answer, these runs are looked at again.
        (self._elsewhere.add if is_elsewhere else self._elsewhere.discard)(principal.owner)

    async def _settle(self, principal: Principal, held: Versioned[ScheduleRun]) -> None:
        run, result = held.record, None
        if run.run:
            try:
                end = await self.work.unattended.end(principal, run.run)
            except UnknownId:
                end = None
            if end is not None and end.reason != "interrupted":
                result = result_of(end, run.conversation)
        if result is None:
            at = words_for(run.started_at, principal.time_zone)
            told = (
                f"It was begun on {at} and broke off. What it did by then is not known; it is not repeated."
            )
            result = Result(
                outcome="unknown", text="", conversation=run.conversation, notice=told, error=told
            )
        if run.outcome == "waiting_for_approval":
            # Its owner has decided, and seen what came of it.
            result = replace(result, notice="")
        if result.outcome != run.outcome:
            await self._end(principal, run, result)

    # --- what is due of one owner

    async def _fire(self, principal: Principal, now: int, tasks: TaskGroup) -> None:
        owner = principal.owner
        user = await self.find_user(owner)
        if user is not None and user.disabled_at is not None:
            # Nothing happens for who may not come in; it is looked at again every hour.
            self._next.pop(owner, None)
            return
        await self._remind_of_records(principal, now)
        scan = Scan(SCHEDULES, order="next_at", low=0, high=now + 1, limit=_PAGE)
        async for page in pages_of(self.store, owner, scan):
            free = [held for held in page if held.record.id not in self._taken]
            reminders = [held for held in free if held.record.action == "remind"]
            await self._remind_all(principal, reminders, now)
            for held in free:
                if held.record.action != "remind":
                    work = partial(self._do, principal, held.record.id)
                    self._begin(tasks, owner, held.record.id, work=work)
        for held in await self.outbox.due(owner, now):
            if held.record.id not in self._taken:
                work = partial(self.outbox.deliver, principal, held)
                self._begin(tasks, owner, held.record.id, work=work)
        following = await self._next_at(owner)
        if following is None:
            self._next.pop(owner, None)
        else:
            self._next[owner] = following

    async def _next_at(self, owner: str) -> int | None:
        """When the next thing of an owner is due that is not at work."""
        scan = Scan(SCHEDULES, order="next_at", low=0, limit=len(self._taken) + 1)
        (page,) = await self.store.scan(owner, scan)
        schedules = (item.record.next_at for item in page.items if item.record.id not in self._taken)
        found = (
            next(schedules, None),
            await self.outbox.next_at(owner, self._taken),
            await self.features.next_due(owner, self._marks.get(owner, 0)),
        )
        return min((at for at in found if at is not None), default=None)

    def _begin(self, tasks: TaskGroup, owner: str, id: str, *, work: Callable[[], Awaitable[None]]) -> None:
        """Have what is due done beside the clock, once."""
        self._taken.add(id)
        tasks.start_soon(self._in_turn, id, owner, work)

    async def _in_turn(self, id: str, owner: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do what is due once there is a place for it; what breaks is left alone for a while."""
        try:
            async with self._slots:
                with recorded(_log, "what was due was not done") as outcome:
                    await work()
            if outcome.fault is not None:
                await anyio.sleep(LOOK_S)
        finally:
            self._taken.discard(id)
            self.wake(owner)

    # --- reminders

    async def _remind_all(self, principal: Principal, due: Sequence[Versioned[Schedule]], now: int) -> None:
        """Remind of what is due: in one batch, but for what is said in conversations too."""
        recipients = await self.outbox.recipients(principal)
        alone = [held for held in due if held.record.conversation]
        changes: list[Change] = []
        for held in due:
            if held.record.conversation:
                continue
            run, after = self._taken_up(principal, held.record, now)
            changes += [Put(SCHEDULE_RUNS, run, 0), _put(after, held.version)]
            if run.outcome != "missed":
                notice = _reminder(held.record, run, principal.time_zone)
                changes += recipients.told(notice, held.record.channels)
        if changes:
            try:
                await self.store.commit(principal.owner, changes)
                await self.outbox.announce(principal.owner)
            except Conflict:
                # One of them was taken up by another process, or changed.
                alone = [*due]
        for held in alone:
            await self._remind(principal, held, now)

    async def _remind(self, principal: Principal, held: Versioned[Schedule], now: int) -> None:
        run, after = self._taken_up(principal, held.record, now)
        changes: list[Change] = [Put(SCHEDULE_RUNS, run, 0), _put(after, held.version)]
        try:
            if run.outcome == "missed":
                await self.store.commit(principal.owner, changes)
            else:
                notice = _reminder(held.record, run, principal.time_zone)
                await self._tell(principal, notice, changes, channels=held.record.channels)
        except Conflict:
            await self._pass_over(principal, held, run.id, now=now)

    async def _remind_of_records(self, principal: Principal, now: int) -> None:
        """Tell the reminders of other features that fell due since the last look."""
        owner = principal.owner
        if (mark := self._marks.get(owner)) is None:
            (held,) = await self.store.get(REMINDER_MARKS, owner, [MARK])
            mark = held.record.until if held else now - LATE_US
            if held is None:
                # What is missed after a crash is counted from here.
                await self.store.commit(owner, [Put(REMINDER_MARKS, ReminderMark(id=MARK, until=mark))])
        begin = max(min(mark, now), now - _OLDEST_US)
        due = await self.features.due(owner, begin, now + 1)
        late = [one for one in due if now - one.at > LATE_US]
        if len(late) > _MOST_LATE:
            due = [_summary(late, now), *(one for one in due if one not in late)]
        for reminder in due:
            await self._remind_of(principal, reminder, now)
        self._marks[owner] = now + 1

    @retry_conflicts
    async def _remind_of(self, principal: Principal, reminder: DueReminder, now: int) -> None:
        id, told = run_id(reminder.id, reminder.at), notice_id(reminder.id, reminder.at)
        (known,) = await self.store.get(SCHEDULE_RUNS, principal.owner, [id])
        if known is not None:
            return
        run = ScheduleRun(
            id=id,
            schedule="",
            due_at=reminder.at,
            started_at=now,
            ended_at=now,
            outcome="done",
            notice=told,
            link=reminder.link,
            conversation=reminder.conversation,
            late_us=now - reminder.at,
        )
        notice = Notice(
            id=told,
            kind="reminder",
            at=now,
            title=reminder.title,
            text=f"{reminder.text}{_late_words(reminder.at, now, principal.time_zone)}",
            conversation=reminder.conversation,
            link=reminder.link,
            untrusted=reminder.untrusted,
        )
        mark = ReminderMark(id=MARK, until=reminder.at)
        await self._tell(principal, notice, [Put(SCHEDULE_RUNS, run, 0), Put(REMINDER_MARKS, mark)])

    async def _tell(
        self,
        principal: Principal,
        notice: Notice,
        changes: Sequence[Change],
        *,
        channels: Sequence[Channel] = (),
        is_said: bool = True,
    ) -> None:
        """Keep these changes, and tell the owner in the same batch; in the conversation too, if it `is_said`.

        Raises:
            Conflict: something is not as the changes expect.
        """
        recipients = await self.outbox.recipients(principal)
        told = recipients.told(notice, channels)
        is_kept = False
        if notice.conversation and is_said:
            try:
                await self.work.unattended.say(
                    principal,
                    notice.conversation,
                    said(notice),
                    changes=[*changes, *told],
                    untrusted=notice.untrusted,
                )
                is_kept = True
            except Busy:
                told = recipients.told(notice, channels, busy=True)
            except UnknownId:
                # The conversation was deleted: the page tells it.
                pass
        if not is_kept:
            await self.store.commit(principal.owner, [*changes, *told])
        await self.outbox.announce(principal.owner)

    # --- runs and looks

    async def _do(self, principal: Principal, id: str) -> None:
        """Take up what is due of a schedule, and do it to its end."""
        now = self.clock.now_us()
        (held,) = await self.store.get(SCHEDULES, principal.owner, [id])
        if held is None or held.record.next_at is None or held.record.next_at > now:
            return
        run, after = self._taken_up(principal, held.record, now)
        try:
            await self.store.commit(principal.owner, [Put(SCHEDULE_RUNS, run, 0), _put(after, held.version)])
        except Conflict:
            await self._pass_over(principal, held, run.id, now=now)
            return
        if run.outcome == "missed":
            return
        result = await self._worked(principal, held.record, run)
        late = _lateness(held.record, now, principal.time_zone)
        was = held.record.last
        if result.outcome == "failed" and held.record.action == "watch" and was and was.outcome == "failed":
            # It was told when it began to fail.
            result = replace(result, notice="")
        await self._end(principal, run, replace(result, notice=result.notice and result.notice + late))

    async def _worked(self, principal: Principal, schedule: Schedule, run: ScheduleRun) -> Result:
        async def begun(conversation: str, id: str) -> None:
            await self._begun(principal, msgspec.structs.replace(run, run=id, conversation=conversation))

        with recorded(_log, "a schedule's run failed") as outcome:
            try:
                if schedule.action == "watch":
                    return await self.work.watch(principal, schedule)
                return await self.work.run(principal, schedule, begun)
            except BethinkError as error:
                return Result(outcome="failed", text="", notice=str(error), error=str(error))
        why = f"It failed: {type(outcome.fault).__name__}. The log says more."
        return Result(outcome="failed", text="", notice=why, error=why)

    @retry_conflicts
    async def _begun(self, principal: Principal, run: ScheduleRun) -> None:
        """Note where a run is, before it is waited for: its end can be found out after a crash."""
        changes: list[Change] = [Put(SCHEDULE_RUNS, run)]
        (held,) = await self.store.get(SCHEDULES, principal.owner, [run.schedule])
        if held is not None and held.record.results != run.conversation:
            after = msgspec.structs.replace(held.record, results=run.conversation)
            changes.append(_put(after, held.version))
        await self.store.commit(principal.owner, changes)

    @retry_conflicts
    async def _end(self, principal: Principal, run: ScheduleRun, result: Result) -> None:
        """Keep what came of a run, and tell it; nothing if the schedule is gone."""
        owner, now = principal.owner, self.clock.now_us()
        (held,) = await self.store.get(SCHEDULES, owner, [run.schedule])
        (known,) = await self.store.get(SCHEDULE_RUNS, owner, [run.id])
        if held is None or known is None:
            return
        schedule, place = held.record, result.conversation or known.record.conversation
        is_waiting = result.outcome == "waiting_for_approval"
        told = notice_id(schedule.id, run.due_at)
        ended = msgspec.structs.replace(
            known.record,
            outcome=result.outcome,
            ended_at=None if is_waiting else now,
            is_open=int(is_waiting),
            conversation=place,
            message=shorten(result.text, MAX_RESULT_CHARS, placeholder="…"),
            error=result.error,
            notice=told if result.notice else known.record.notice,
        )
        last = LastRun(outcome=result.outcome, at=run.due_at, error=result.error, conversation=place)
        after = msgspec.structs.replace(schedule, last=last, results=place or schedule.results)
        changes: list[Change] = [
            *result.changes,
            Put(SCHEDULE_RUNS, ended, known.version),
            _put(after, held.version),
        ]
        if not result.notice:
            await self.store.commit(owner, changes)
            return
        notice = Notice(
            id=told,
            at=now,
            title=schedule.title,
            text=result.notice,
            conversation=place,
            link=f"/c/{place}" if place else f"/schedules/{schedule.id}",
            schedule=schedule.id,
            untrusted=result.untrusted or schedule.untrusted,
        )
        await self._tell(principal, notice, changes, channels=schedule.channels, is_said=result.is_said)

    # --- due times

    def _taken_up(self, principal: Principal, schedule: Schedule, now: int) -> tuple[ScheduleRun, Schedule]:
        """The run of what is due now, and the schedule behind it."""
        due = now if schedule.next_at is None else schedule.next_at
        late = now - due
        is_reminder = schedule.action == "remind"
        is_missed = late > LATE_US and schedule.missed == "skip"
        is_over = is_missed or is_reminder
        outcome = "missed" if is_missed else "done" if is_reminder else "running"
        run = ScheduleRun(
            id=run_id(schedule.id, due),
            schedule=schedule.id,
            due_at=due,
            started_at=now,
            ended_at=now if is_over else None,
            is_open=int(not is_over),
            outcome=outcome,
            process=self.bus.process,
            notice="" if is_missed or not is_reminder else notice_id(schedule.id, due),
            conversation=schedule.conversation if is_reminder else "",
            error=_MISSED if is_missed else "",
            late_us=late,
        )
        return run, _advanced(schedule, run, now, owner_zone=principal.time_zone)

    @retry_conflicts
    async def _pass_over(
        self, principal: Principal, held: Versioned[Schedule], run: str, *, now: int
    ) -> None:
        """Go on behind a due time that was taken up already, if its schedule still stands there."""
        (known,) = await self.store.get(SCHEDULE_RUNS, principal.owner, [run])
        (again,) = await self.store.get(SCHEDULES, principal.owner, [held.record.id])
        if known is None or again is None or again.record.next_at != held.record.next_at:
            return
        after = _advanced(again.record, known.record, now, owner_zone=principal.time_zone)
        await self.store.commit(principal.owner, [_put(after, again.version)])


_MISSED: Final = "Bethink was off when it was due, and it is set to be left then."


def _reminder(schedule: Schedule, run: ScheduleRun, owner_zone: str) -> Notice:
    return Notice(
        id=run.notice,
        kind="reminder",
        at=run.started_at,
        title=schedule.title,
        text=f"{schedule.text}{_lateness(schedule, run.started_at, owner_zone)}",
        conversation=schedule.conversation,
        link=f"/schedules/{schedule.id}",
        schedule=schedule.id,
        untrusted=schedule.untrusted,
    )


def _put(schedule: Schedule, version: int) -> Put[Schedule]:
    return Put(SCHEDULES, schedule, version, item_of(schedule))


def _advanced(schedule: Schedule, run: ScheduleRun, now: int, *, owner_zone: str) -> Schedule:
    """The schedule behind a due time that was taken up."""
    following = None if schedule.paused else next_due(schedule, now, owner_zone)
    last = LastRun(outcome=run.outcome, at=run.due_at, error=run.error, conversation=run.conversation)
    return msgspec.structs.replace(schedule, next_at=following, snoozed_until=None, last=last)


def _lateness(schedule: Schedule, now: int, owner_zone: str) -> str:
    """What is said of a due time that was missed, "" of one that was not."""
    due = schedule.next_at
    if due is None or now - due <= LATE_US:
        return ""
    times = missed_between(schedule, due, now, owner_zone=owner_zone)
    return _late_words(due, now, schedule.zone or owner_zone, times=times)


def _late_words(due: int, now: int, zone: str, *, times: int = 1) -> str:
    if now - due <= LATE_US:
        return ""
    when = words_for(due, zone)
    if times > 1:
        return f"\n\nThis was due {times} times while Bethink was off, first on {when}."
    return f"\n\nThis was due on {when}, while Bethink was off."


def _summary(late: Sequence[DueReminder], now: int) -> DueReminder:
    """Many reminders that were missed, as one."""
    titles = "\n".join(f"- {one.title}" for one in late[:_MOST_LATE])
    more = f"\n- … and {len(late) - _MOST_LATE} more"
    return DueReminder(
        id="\0".join(one.id for one in late),
        at=now,
        title=f"{len(late)} reminders were due while Bethink was off",
        text=f"{titles}{more}",
        link="/today",
        untrusted=any(one.untrusted for one in late),
    )
