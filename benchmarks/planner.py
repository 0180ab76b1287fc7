"""`bethink bench planner`: 10,000 tasks and 10,000 events of which 1,000 recur, and 1,000 schedules at once.

Beside recurring-ical-events in the same run, if a Python has it (`--peer-python`; `make servers` makes one):
it holds the parsed calendar in memory, while Bethink reads its store for each question. What both find in a
month is compared, and a difference is a figure of the table.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

import aiohttp
import anyio.to_thread
import msgspec

from benchmarks import CLONE, planner_corpus
from benchmarks.meter import Meter
from benchmarks.process import can_measure, serving
from bethink.app import open_app
from bethink.calendar.series import zone_of
from bethink.calendar.service import Calendar, EventConflict, EventTarget, put
from bethink.calendar_sync.feature import Calendars
from bethink.calendar_sync.service import AccountDraft
from bethink.clock import to_datetime, to_us
from bethink.settings import Settings
from bethink.store import Put
from bethink.tasks.records import TASKS, index_item
from bethink.tasks.service import TaskQuery, Tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from benchmarks.process import Serving
    from bethink.app import App
    from bethink.calendar.records import Event, Instance
    from bethink.principal import Principal

SCHEDULES: Final = 1_000
_ZONE: Final = "Europe/Berlin"
_TIMES: Final = 40
_BATCH: Final = 500
_SPREAD_S: Final = 60
_AHEAD_S: Final = 25
_IDLE_S: Final = 30
_PEER: Final = CLONE / ".servers" / "caldav" / "bin" / "python"
_PROGRAM: Final = Path(__file__).with_name("planner_peer.py")

Rows = list[dict[str, Any]]
T = TypeVar("T")


async def measure_planner(models: Path, peer_python: Path | None) -> Rows:
    """A row for each thing that is done with a full planner, then those of schedules."""
    made = [*planner_corpus.events()]
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        home = Path(directory)
        settings = Settings(data_dir=home / "data", models_dir=home / "none", time_zone=_ZONE)
        async with open_app(settings) as app:
            me = await app.accounts.authenticate(audience="cli")
            rows = await _filled(app, me, made)
            # A process that knows nothing yet asks first.
        async with open_app(settings) as app:
            me = await app.accounts.authenticate(audience="cli")
            rows += await _asked(app, me, made, home=home, peer=_peer_of(peer_python))
            text = await _written_out(app, me, rows)
        other = Settings(data_dir=home / "other", models_dir=home / "none", time_zone=_ZONE)
        async with open_app(other) as app:
            await _read_in(app, await app.accounts.authenticate(audience="cli"), text, rows=rows)
    if can_measure():
        async with serving(models, BETHINK_MODEL="") as server:
            rows += await _scheduled(server)
        async with serving(models, BETHINK_MODEL="") as server:
            rows += await _synchronised(server, text)
    return rows


def _peer_of(peer_python: Path | None) -> Path | None:
    return peer_python or (_PEER if _PEER.exists() else None)


async def _filled(app: App, me: Principal, made: Sequence[Event]) -> Rows:
    calendar = app.features.of(Calendar)
    began = time.perf_counter()
    for some in _batches(made):
        await calendar.commit(me.owner, [put(event, 0) for event in some])
    kept = time.perf_counter()
    for some in _batches([*planner_corpus.tasks()]):
        await calendar.store.commit(me.owner, [Put(TASKS, task, 0, index_item(task)) for task in some])
    return [
        {"kept": "events", "number": len(made), "per_s": round(len(made) / (kept - began))},
        {
            "kept": "tasks",
            "number": planner_corpus.TASKS,
            "per_s": round(planner_corpus.TASKS / (time.perf_counter() - kept)),
        },
    ]


def _batches(records: Sequence[T]) -> Iterator[Sequence[T]]:
    return (records[start : start + _BATCH] for start in range(0, len(records), _BATCH))


@dataclass(slots=True)
class _Bench:
    """Asks one thing many times; the first time of each is told by itself."""

    rows: Rows

    async def ask(self, name: str, question: Callable[[int], Awaitable[object]], times: int = _TIMES) -> None:
        meter = Meter()
        for number in range(times):
            stop = meter.start()
            await question(number)
            stop()
        self.rows.append({"asked": name, "first_ms": round(meter.wall_ms[0], 1), **meter.figures()})


async def _asked(app: App, me: Principal, made: Sequence[Event], *, home: Path, peer: Path | None) -> Rows:
    calendar, tasks, bench = app.features.of(Calendar), app.features.of(Tasks), _Bench([])
    months = [_month(number) for number in range(_TIMES)]
    busy = [await calendar.get(me, event.id) for event in made[1 : _TIMES + 1]]

    async def month(number: int) -> object:
        low, high = months[number]
        return await calendar.range(me, start=low, end=high)

    async def conflict(number: int) -> object:
        return await calendar.conflicts(me, busy[number].event)

    async def series(number: int) -> object:
        event = msgspec.structs.replace(busy[number].event, id="new", recurrence="FREQ=WEEKLY")
        return await calendar.conflicts(me, event)

    await bench.ask("month view", month)
    await bench.ask("conflicts of an event", conflict)
    await bench.ask("conflicts of a weekly series, half a year ahead", series)
    await bench.ask(
        "a new event that is refused, with free times", lambda at: _refused(calendar, me, busy[at])
    )
    await bench.ask("a new event that is kept", lambda at: _kept(calendar, me, busy[at]))
    await bench.ask("one instance of a series moved", lambda at: _moved(calendar, me, made[10 * at]))
    await bench.ask("free times of a week", lambda at: _free(calendar, me, months[at][0]))
    await bench.ask("search of events", lambda at: calendar.search(me, f"dinner with Bruna {at}"))
    await bench.ask("next reminder", lambda at: app.features.next_due(me.owner, months[at][0]))
    await bench.ask("tasks due this week", lambda _: tasks.list(me, TaskQuery(due="week")))
    await bench.ask("board of tasks", lambda _: tasks.list(me, TaskQuery(), order="position", limit=200))
    await bench.ask("search of tasks", lambda at: tasks.search(me, f"dinner for Bruna {at}", TaskQuery()))
    if peer is not None:
        bench.rows += await _compared(calendar, me, made, home=home, peer=peer)
    return bench.rows


async def _written_out(app: App, me: Principal, rows: Rows) -> bytes:
    """All events and tasks as one .ics file."""
    began = time.perf_counter()
    text = (await app.features.of(Calendars).files.text(me)).encode()
    took = time.perf_counter() - began
    rows.append({"file": "written out", "mb": round(len(text) / 1e6, 1), "s": round(took, 1)})
    return text


async def _read_in(app: App, me: Principal, text: bytes, *, rows: Rows) -> None:
    """The same into an empty Bethink, and once more where all is known."""
    for name in ("read in", "read in again"):
        began = time.perf_counter()
        taken = await app.features.of(Calendars).files.take(me, text, overwrite=False)
        took = time.perf_counter() - began
        row = {"file": name, "mb": round(len(text) / 1e6, 1), "s": round(took, 1)}
        rows.append(row | {"new": taken.new, "known": taken.known, "refused": taken.refused_count})


def _month(number: int) -> tuple[int, int]:
    """The weeks that a month's page shows, in microseconds UTC."""
    first = datetime(2024 + number // 12, number % 12 + 1, 1, tzinfo=zone_of(_ZONE))
    begin = first - timedelta(days=first.weekday())
    return to_us(begin), to_us(begin + timedelta(days=42))


async def _refused(calendar: Calendar, me: Principal, other: Instance) -> None:
    try:
        await calendar.create(me, {"title": "New", "start": to_datetime(other.starts_at)})
    except EventConflict:
        return
    raise RuntimeError(other.id)


async def _kept(calendar: Calendar, me: Principal, other: Instance) -> None:
    await calendar.create(me, {"title": "New", "start": to_datetime(other.starts_at)}, allow_conflict=True)


async def _moved(calendar: Calendar, me: Principal, event: Event) -> None:
    instance = await calendar.get(me, event.id)
    target = EventTarget(instance.id, "this")
    given = {"start": instance.start, "duration_minutes": 75 if not instance.all_day else 2880}
    await calendar.update(me, target, given, allow_conflict=True)


async def _free(calendar: Calendar, me: Principal, start: int) -> None:
    end = start + timedelta(days=7) // timedelta(microseconds=1)
    await calendar.free(me, start=start, end=end, minutes=60)


def asked_peer(peer: Path, home: Path, *, made: Sequence[Event], ranges: Sequence[tuple[int, int]]) -> Any:  # noqa: ANN401 - JSON
    """What recurring-ical-events finds in these ranges, and how long it took."""
    (home / "calendar.ics").write_text(planner_corpus.ics(made), encoding="utf-8", newline="")
    (home / "ranges.json").write_text(json.dumps(ranges), encoding="utf-8")
    subprocess.run([peer, _PROGRAM, home, _ZONE], check=True)
    return json.loads((home / "peer.json").read_text(encoding="utf-8"))


async def _compared(
    calendar: Calendar, me: Principal, made: Sequence[Event], *, home: Path, peer: Path
) -> Rows:
    """The month view beside recurring-ical-events, and whether both find the same."""
    ranges = [_month(number) for number in range(12, 24)]
    theirs = await anyio.to_thread.run_sync(partial(asked_peer, peer, home, made=made, ranges=ranges))
    ids = {event.id for event in made}
    differing, ours = 0, list[float]()
    for (low, high), other in zip(ranges, theirs["ranges"], strict=True):
        began = time.perf_counter()
        found = await calendar.range(me, start=low, end=high, limit=100_000)
        ours.append((time.perf_counter() - began) * 1000)
        said = sorted(
            [one.title, _written(one, 0), _written(one, 1)] for one in found.items if one.event.id in ids
        )
        differing += _differing(said, other["found"])
    other_ms = [one["ms"] for one in theirs["ranges"]]
    return [
        {
            "beside": "recurring-ical-events, 12 months",
            "bethink_ms": round(sum(ours) / len(ours), 1),
            "peer_ms": round(sum(other_ms) / len(other_ms), 1),
            "ratio": round(sum(ours) / sum(other_ms), 3),
            "peer_first_ms": round(other_ms[0], 1),
            "peer_parse_ms": round(theirs["parse_ms"]),
            "instances": sum(len(one["found"]) for one in theirs["ranges"]),
            "differing": differing,
        }
    ]


def _differing(ours: list[list[str]], theirs: list[list[str]]) -> int:
    """How many stand in one alone; those that `_moved` made longer are known by their start."""
    mine, others = ({(title, start) for title, start, _ in found} for found in (ours, theirs))
    return len(mine ^ others)


def _written(one: Instance, which: int) -> str:
    if one.all_day:
        return (one.start, one.end)[which]
    return to_datetime((one.starts_at, one.ends_at)[which]).isoformat()


async def _scheduled(server: Serving) -> Rows:
    """1,000 reminders within a minute: how late each was, and what that cost; then what waiting costs."""
    begin = datetime.now(UTC) + timedelta(seconds=_AHEAD_S)
    posted = time.perf_counter()
    ids: list[str] = []
    for number in range(SCHEDULES):
        at = begin + timedelta(seconds=_SPREAD_S * number / SCHEDULES)
        body = {"text": f"Reminder {number}", "when": at.isoformat()}
        ids.append((await server.post("/schedules", body))["id"])
    posted = time.perf_counter() - posted
    await _until(begin)
    before = server.cpu_ms()
    await _until(begin + timedelta(seconds=_SPREAD_S + 5))
    cpu = server.cpu_ms() - before
    late = sorted([ms for id in ids for ms in await _late_ms(server, id)])
    idle = server.cpu_ms()
    await asyncio.sleep(_IDLE_S)
    idle = server.cpu_ms() - idle
    return [
        {
            "schedules": SCHEDULES,
            "posted_per_s": round(SCHEDULES / posted),
            "within_s": _SPREAD_S,
            "done": len(late),
            "late_ms_p50": round(late[len(late) // 2], 1) if late else None,
            "late_ms_p99": round(late[len(late) * 99 // 100], 1) if late else None,
            "late_ms_most": round(late[-1], 1) if late else None,
            "cpu_ms_each": round(cpu / SCHEDULES, 2),
            "idle_cpu_percent": round(idle / (_IDLE_S * 10), 3),
        }
    ]


async def _until(moment: datetime) -> None:
    await asyncio.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))


async def _late_ms(server: Serving, id: str) -> list[float]:
    """How late each run of a schedule was taken up."""
    found = (await server.get(f"/schedules/{id}/history"))["items"]
    return [
        (datetime.fromisoformat(one["started_at"]) - datetime.fromisoformat(one["due_at"])).total_seconds()
        * 1000
        for one in found
    ]


async def _synchronised(server: Serving, text: bytes) -> Rows:
    """An empty Bethink synchronised with another one that has the calendar; then with nothing changed."""
    form = aiohttp.FormData()
    form.add_field("file", text, filename="calendar.ics")
    async with server.session.post(f"{server.origin}/calendar/import", data=form) as answer:
        answer.raise_for_status()
    rows: Rows = []
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        home = Path(directory)
        settings = Settings(
            data_dir=home / "data",
            models_dir=home / "none",
            time_zone=_ZONE,
            web_allow_private=["127.0.0.1"],
        )
        async with open_app(settings) as app:
            me = await app.accounts.authenticate(audience="cli")
            sync = app.features.of(Calendars).sync
            account = await sync.add(
                me,
                AccountDraft(url=f"{server.origin}/dav/", user="any", password="any"),  # noqa: S106 - on this machine without users none is asked for
            )
            for name in ("first", "nothing changed", "nothing changed"):
                before, began = time.process_time(), time.perf_counter()
                _, done = await sync.sync(me, account.id)
                took, cpu = time.perf_counter() - began, time.process_time() - before
                row = {"sync": name, "s": round(took, 2), "cpu_s": round(cpu, 2)}
                rows.append(row | {"received": done.received, "sent": done.sent})
    return rows
