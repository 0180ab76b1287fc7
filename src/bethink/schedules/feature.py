"""What schedules say about themselves: how they are found, forgotten and exported, and what runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import checked_id
from bethink.feature import (
    BackgroundTask,
    Feature,
    HealthFinding,
    OpenFeature,
    Recallable,
    RecallKind,
    RetentionRule,
)
from bethink.internet.connect import gate_for
from bethink.record_texts import JointTexts, RecordLines, RecordTexts, of_document
from bethink.schedules.channels import Mail
from bethink.schedules.clock import ScheduleClock
from bethink.schedules.delivery import Outbox
from bethink.schedules.due_times import QuietHours, check_timing
from bethink.schedules.records import (
    DELIVERIES,
    DELIVERY_SETTINGS,
    KIND,
    NOTICES,
    PUSH_SUBSCRIPTIONS,
    REMINDER_MARKS,
    SCHEDULE_RUNS,
    SCHEDULES,
    WATCHED_PAGES,
    Schedule,
    item_of,
)
from bethink.schedules.service import Schedules, checked
from bethink.schedules.work import Work
from bethink.settings.live import follows
from bethink.store import Change, Delete, Scan, Store, items_of, records_of

if TYPE_CHECKING:
    from bethink.feature import Surroundings
    from bethink.principal import OnBehalfOf, Principal
    from bethink.settings import Settings

_DAY_US = 86_400_000_000
HISTORY_US = 90 * _DAY_US
"""How long what came of schedules is kept, and what their owners were told."""
_TOLD_US = 7 * _DAY_US
_EXAMPLES = 3
_NAME_CHARS = 60
_IMPORTANCE = 0.5
_PAGE = 500


def _texts(store: Store) -> JointTexts:
    """What schedules say, what came of them, what their owners were told, and what watched pages said."""
    schedules = RecordTexts(
        store=store,
        collection=SCHEDULES,
        kind="schedules",
        one="schedule",
        name=lambda schedule: schedule.title,
        fields=lambda schedule: {"title": schedule.title, "text": schedule.text, "url": schedule.url},
        sentences=frozenset(("title", "text")),
        rewrite=lambda schedule, left: msgspec.structs.replace(schedule, **left),
        index=item_of,
        others=[SCHEDULE_RUNS, NOTICES, DELIVERIES, WATCHED_PAGES],
    )
    runs = RecordTexts(
        store=store,
        collection=SCHEDULE_RUNS,
        kind="schedules",
        one="schedule",
        name=lambda run: run.message[:_NAME_CHARS],
        fields=lambda run: {"message": run.message, "error": run.error},
        sentences=frozenset(("message", "error")),
        rewrite=lambda run, left: msgspec.structs.replace(run, **left),
    )
    notices = RecordTexts(
        store=store,
        collection=NOTICES,
        kind="schedules",
        one="notice",
        name=lambda notice: notice.title,
        fields=lambda notice: {"title": notice.title, "text": notice.text},
        sentences=frozenset(("title", "text")),
        rewrite=lambda notice, left: msgspec.structs.replace(notice, **left),
    )
    # What a page said goes as a whole: the next look keeps it anew, as the first did.
    pages = RecordTexts(
        store=store,
        collection=WATCHED_PAGES,
        kind="schedules",
        one="watched page",
        name=lambda page: page.title,
        fields=lambda page: {"title": page.title, "text": page.text},
        sentences=frozenset(),
        rewrite=lambda page, _: msgspec.structs.replace(page, title="", text=""),
    )
    return JointTexts((schedules, runs, notices, pages))


def parsed(document: Mapping[str, Any]) -> Schedule:
    """The schedule of a line of an export file, checked as strictly as a new one.

    Raises:
        BadInput, msgspec.ValidationError: it is none.
    """
    schedule = of_document(document, Schedule)
    checked_id(schedule.id)
    check_timing(schedule)
    return checked(schedule)


def _lines(schedules: Schedules, acting: OnBehalfOf) -> RecordLines[Schedule]:
    async def keep(owner: str, given: Sequence[Schedule]) -> None:
        await schedules.restore(acting(owner, audience="import"), given)

    return RecordLines(
        store=schedules.store,
        collection=SCHEDULES,
        kind=KIND,
        parse=parsed,
        # Without what time changes of it.
        told=lambda one: msgspec.structs.replace(
            one, next_at=None, snoozed_until=None, last=None, updated_at=0
        ),
        keep=keep,
    )


@dataclass(frozen=True, slots=True)
class _Upkeep:
    """What goes by itself, what needs a look, and the numbers."""

    schedules: Schedules

    async def drop(self, principal: Principal) -> int:
        """Remove a part of what came of schedules, and was told, before `HISTORY_US`; of how much."""
        schedules, owner = self.schedules, principal.owner
        until = schedules.clock.now_us() - HISTORY_US
        runs = Scan(SCHEDULE_RUNS, {"is_open": 0}, order="due_at", high=until, limit=_PAGE)
        notices = Scan(NOTICES, order="at", high=until, limit=_PAGE)
        sent = Scan(DELIVERIES, order="created_at", high=until, limit=_PAGE)
        scans: list[Scan[Any]] = [runs, notices, sent]
        dropped: list[Change] = [
            Delete(scan.collection, item.record.id)
            for scan in scans
            for item in (await schedules.store.scan(owner, scan))[0].items
        ]
        if dropped:
            await schedules.store.commit(owner, dropped)
        return len(dropped)

    async def check(self, principal: Principal) -> list[HealthFinding]:
        """Deliveries that were given up, and schedules whose last run did not go well."""
        schedules, owner = self.schedules, principal.owner
        low = schedules.clock.now_us() - _TOLD_US
        failed = Scan(DELIVERIES, {"state": "failed"}, order="created_at", low=low, limit=_PAGE)
        lost = [item.record async for item in items_of(schedules.store, owner, failed)]
        bad = [
            schedule
            async for schedule in records_of(schedules.store, owner, Scan(SCHEDULES, limit=_PAGE))
            if schedule.last is not None and schedule.last.outcome in ("failed", "unknown")
        ]
        found: list[HealthFinding] = []
        if lost:
            found.append(
                HealthFinding(
                    trouble="notice not delivered",
                    count=len(lost),
                    about=f"They were given up within a week: {lost[-1].error}",
                    mend="Look at the notices, and at where you are told: `bethink schedules delivery`.",
                    examples=tuple(one.notice for one in lost[:_EXAMPLES]),
                )
            )
        if bad:
            found.append(
                HealthFinding(
                    trouble="schedule failed",
                    count=len(bad),
                    about="Their last run failed, or broke off.",
                    mend="`bethink schedules history ID` says why.",
                    examples=tuple(one.id for one in bad[:_EXAMPLES]),
                )
            )
        return found

    async def statistics(self, principal: Principal) -> dict[str, Any]:
        """How many schedules there are, of which kind, and how many are paused or over."""
        scan = Scan(SCHEDULES, limit=_PAGE)
        kinds: Counter[str] = Counter()
        async for schedule in records_of(self.schedules.store, principal.owner, scan):
            kinds[schedule.action] += 1
            kinds["paused"] += schedule.paused
            kinds["over"] += schedule.next_at is None and not schedule.paused
        return dict(sorted(kinds.items()))


def _mail(settings: Settings) -> Mail | None:
    url = settings.smtp_url
    return Mail.of(url.get_secret_value(), settings.smtp_from) if url else None


def _outbox(at: Surroundings) -> Outbox:
    settings = at.settings
    return Outbox(
        store=at.store,
        bus=at.bus,
        clock=at.clock,
        unattended=at.unattended,
        secret_box=at.secrets,
        gate=gate_for(settings),
        mail=_mail(settings),
        quiet_hours=QuietHours.parse(settings.quiet_hours),
        site=settings.public_urls[0].rstrip("/") if settings.public_urls else "",
    )


def _open(at: Surroundings) -> OpenFeature:
    outbox = _outbox(at)
    firing = ScheduleClock(
        store=at.store,
        bus=at.bus,
        clock=at.clock,
        acting=at.acting,
        find_user=at.find_user,
        features=at.features,
        outbox=outbox,
        work=Work(store=at.store, clock=at.clock, unattended=at.unattended, internet=at.internet),
    )
    schedules = Schedules(at.store, at.bus, at.clock, at.new_id, outbox, firing)
    upkeep = _Upkeep(schedules)

    async def resolve(principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        found = await at.store.get(SCHEDULES, principal.owner, ids)
        return [item and _recallable(item.record) for item in found]

    texts = _texts(at.store)
    return OpenFeature(
        service=schedules,
        recall=[RecallKind(name=KIND, resolve=resolve, on_request=True)],
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[_lines(schedules, at.acting).form],
        tasks=[BackgroundTask(name="schedules", run=firing.run, served=True)],
        retention=[
            RetentionRule(
                of=(SCHEDULE_RUNS, NOTICES, DELIVERIES),
                log="records of what schedules did are removed",
                drop=upkeep.drop,
            )
        ],
        check=upkeep.check,
        statistics=upkeep.statistics,
        parts=[
            follows(
                outbox,
                gate=gate_for,
                mail=_mail,
                quiet_hours=lambda settings: QuietHours.parse(settings.quiet_hours),
            )
        ],
    )


def _recallable(schedule: Schedule) -> Recallable:
    return Recallable(
        f"{schedule.title}\n{schedule.text}" if schedule.text != schedule.title else schedule.title,
        schedule.created_at,
        _IMPORTANCE,
        source=f"schedule:{schedule.id}",
        untrusted=schedule.untrusted,
    )


FEATURE = Feature(
    name="schedules",
    open=_open,
    collections=(
        SCHEDULES,
        SCHEDULE_RUNS,
        NOTICES,
        DELIVERIES,
        WATCHED_PAGES,
        DELIVERY_SETTINGS,
        PUSH_SUBSCRIPTIONS,
        REMINDER_MARKS,
    ),
    counted={"schedules": ("schedule", SCHEDULES)},
    tools="bethink.tools.schedules",
    routes=("bethink.web.schedules",),
    commands="bethink.cli.schedules",
    mcp_summary="What happens by itself: reminders, runs of the agent, and pages that are watched.",
)
