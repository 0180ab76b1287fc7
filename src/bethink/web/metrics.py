"""`GET /metrics`: counts for a Prometheus, in its text format 0.0.4.

Labels are names of tools, models and reasons: never whose something is, nor what anybody said.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request, Response

from bethink import __version__
from bethink.backups.service import BackupService
from bethink.conversations.records import MESSAGES
from bethink.documents.records import PASSAGES
from bethink.documents.service import Documents
from bethink.errors import StorageError
from bethink.forgetting.announcements import INTENTS
from bethink.memory.facts import FACTS
from bethink.store import Collection, owners_of
from bethink.telemetry import TIMES_S, Histogram, log
from bethink.web.deps import Scraper, Served
from bethink.web.health import unreadable, unwritable
from bethink.web.security.answers import ANSWERS, AnswerCounts

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.settings import Settings

router = APIRouter(tags=["health"])
_log = log("metrics")

_MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SEARCHED: Final = (FACTS, MESSAGES, PASSAGES)
_SHOWN: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}
}


@router.get("/metrics", response_class=Response, responses=_SHOWN)
async def get_metrics(app: Served, caller: Scraper, request: Request) -> Response:
    """Counters since the start of this process, and what is live now.

    While it cannot be read who asks, that is all that is told.
    """
    about = "The version that runs."
    metrics = [_metric("info", "gauge", about, {(__version__,): 1}, ["version"])]
    if caller is None:
        metrics.append(_metric("store_up", "gauge", _STORE_UP, {("read",): 0, ("write",): 0}, _BY_ACCESS))
    else:
        answers: AnswerCounts = getattr(request.state, ANSWERS)
        about = "Searches of memory and of all else that is found by words."
        metrics += [
            *_of_requests(answers),
            *_of_runs(app),
            _times("recall_seconds", about, app.recall.times),
            *await _of_store(app, caller),
            *await _of_sizes(app, getattr(request.state, SIZES)),
            *await _of_work(app, getattr(request.state, SIZES)),
            *await _of_backups(app),
            *await anyio.to_thread.run_sync(_of_disks, app.settings),
        ]
    return Response("".join(metrics), media_type=_MEDIA_TYPE)


_STORE_UP: Final = "Whether what is stored can be read, and something new be stored."
_BY_ACCESS: Final = ("access",)


async def _of_store(app: App, caller: Principal) -> Sequence[str]:
    """The store and what connects processes: whether they work, and what they tell of themselves."""
    up: dict[tuple[str, ...], int] = {}
    seconds: dict[tuple[str, ...], float] = {}
    for access, look in (("read", unreadable), ("write", unwritable)):
        started = anyio.current_time()
        # What cannot be read need not be waited for once more.
        up[(access,)] = int(0 not in up.values() and await look(app, caller) is None)
        seconds[(access,)] = anyio.current_time() - started
    bus = {(): int(app.ports.bus.fault is None)}
    files = {(): int((await app.files.blobs.state()).fault is None)}
    metrics = [
        _metric("store_up", "gauge", _STORE_UP, up, _BY_ACCESS),
        _metric("store_seconds", "gauge", "What trying that just took.", seconds, _BY_ACCESS),
        _metric("bus_up", "gauge", "Whether this process hears of the others, and they of it.", bus),
        _metric("files_up", "gauge", "Whether the place of files' contents answers, as of late.", files),
    ]
    for gauges in app.ports.gauges:
        with suppress(StorageError):
            metrics += [
                _metric(one.name, "gauge", one.about, one.samples, one.labels) for one in await gauges()
            ]
    return metrics


def _of_requests(answers: AnswerCounts) -> Iterator[str]:
    about = "Requests that were answered, by method and status."
    yield _metric("requests_total", "counter", about, answers.answered, ["method", "status"])
    yield _times("request_seconds", "Requests, without streams.", answers.times)
    yield _metric("streams_live", "gauge", "Streams of events that are open now.", {(): answers.streams})


def _of_runs(app: App) -> Iterator[str]:
    tally = app.runs.metrics
    ended = {(reason,): count for reason, count in tally.ended.items()}
    about = "Runs that ended or wait, by the reason."
    yield _metric("runs_live", "gauge", "Runs that answer now.", {(): app.runs.live})
    yield _metric("runs_started_total", "counter", "Runs that were begun or went on.", {(): tally.started})
    yield _metric("runs_ended_total", "counter", about, ended, ["reason"])
    yield _times("first_text_seconds", "From a message to the first words of its answer.", tally.first_text)
    yield _times("turn_seconds", "From a message to the end of its answer, or until it waits.", tally.turns)
    about = "Tool calls that ended, by the tool and its error's code."
    yield _metric("tool_calls_total", "counter", about, tally.tool_calls, ["tool", "outcome"])
    about = "Tokens, by the model, what they were for and the direction."
    yield _metric("tokens_total", "counter", about, tally.tokens, ["model", "job", "direction"])
    about = "Dollars, by the model and what they were for, as far as prices are known."
    yield _metric("cost_usd_total", "counter", about, tally.cost_usd, ["model", "job"])


async def _of_work(app: App, sizes: Sizes) -> Sequence[str]:
    waiting = {"turns": app.post_turn.waiting, **app.background.waiting, "forgettings": sizes.unfinished}
    if app.sharing is not None:
        with suppress(StorageError):
            waiting["redis"] = await app.sharing.pending()
    queues = {(name,): count for name, count in waiting.items()}
    about = "What waits: turns to learn from, owners whose vectors, traces or forgettings are due, changes."
    forgotten, failing = {(): app.forgetting.completed}, {(): len(app.ports.supervisor.faults())}
    return (
        _metric("queue", "gauge", about, queues, ["queue"]),
        _metric("forgettings_total", "counter", "Forgettings that were completed.", forgotten),
        _metric("background_failing", "gauge", "Background tasks that failed lately.", failing),
    )


SIZES: Final = "sizes"
"""Their place in the state of every request."""
_REST: Final = 100
"""Counting takes a hundredth of the time: with 10,000 owners 1.7 s, every three minutes at most."""
_WAIT_S: Final = 2.0


@dataclass(slots=True)
class Sizes:
    """How much is searched, of all owners together, so that nothing tells of one. Counted when asked for."""

    searched: dict[tuple[str, ...], int] = field(default_factory=dict["tuple[str, ...]", int])
    stages: dict[tuple[str, ...], int] = field(default_factory=dict["tuple[str, ...]", int])
    unfinished: int = 0
    """Owners of forgettings that are under way, or were cut short."""
    files: dict[tuple[str, ...], int] = field(default_factory=dict["tuple[str, ...]", int])
    file_bytes: dict[tuple[str, ...], int] = field(default_factory=dict["tuple[str, ...]", int])
    _asked: anyio.Event = field(default_factory=anyio.Event)
    _counted: anyio.Event = field(default_factory=anyio.Event)
    _is_resting: bool = False

    async def known(self) -> None:
        """Have them counted, unless they were lately; if that takes long, the last ones stay."""
        if self._is_resting:
            return
        self._asked.set()
        with anyio.move_on_after(_WAIT_S):
            await self._counted.wait()

    async def count_always(self, app: App) -> None:
        """Count when somebody asked, for ever, and rest behind it."""
        while True:
            self._is_resting = False
            await self._asked.wait()
            began = anyio.current_time()
            try:
                await self._count(app)
            except StorageError as error:
                _log.warning("what is searched cannot be counted: %s", error)
            self._is_resting = True
            self._counted.set()
            self._asked, self._counted = anyio.Event(), anyio.Event()
            await anyio.sleep((anyio.current_time() - began) * _REST)

    async def _count(self, app: App) -> None:
        store = app.ports.store
        counts: dict[Collection[Any], int] = dict.fromkeys(_SEARCHED, 0)
        async for owner in owners_of(store, *_SEARCHED):
            for collection in counts:
                counts[collection] += await store.count(owner, collection, {})
        stages = await app.features.of(Documents).all_stages()
        self.unfinished = len([owner async for owner in owners_of(store, INTENTS)])
        self.searched = {(collection.name,): count for collection, count in counts.items()}
        self.stages = {(stage,): count for stage, count in stages.items()}
        try:
            count, size = await app.files.blobs.used()
        except StorageError:  # what holds them is away: the last numbers stay
            return
        self.files, self.file_bytes = {(): count}, {(): size}


async def _of_sizes(app: App, sizes: Sizes) -> Sequence[str]:
    await sizes.known()
    metrics = [
        _metric("indexed", "gauge", "Records that are searched, by kind.", sizes.searched, ["kind"]),
        _metric("documents", "gauge", "Files of documents, by how far they are.", sizes.stages, ["stage"]),
        _metric("files", "gauge", "Contents of files, of conversations and documents.", sizes.files),
        _metric("files_bytes", "gauge", "How much they take, wherever they are.", sizes.file_bytes),
    ]
    with suppress(StorageError):
        size = {(): await app.ports.size()}
        metrics.append(_metric("database_bytes", "gauge", "The database of all owners.", size))
    return metrics


def _of_disks(settings: Settings) -> Sequence[str]:
    """The disks on which this process keeps something; a server's are its own to tell of."""
    places = {"data": settings.data_dir, "backups": settings.backups.folder, "vault": settings.vault.path}
    free: dict[tuple[str, ...], int] = {}
    size: dict[tuple[str, ...], int] = {}
    for name, path in places.items():
        if path is not None and path.is_dir():
            usage = shutil.disk_usage(path)
            free[(name,)], size[(name,)] = usage.free, usage.total
    return (
        _metric("disk_free_bytes", "gauge", "Room on the disk of a folder.", free, ["place"]),
        _metric("disk_bytes", "gauge", "The size of that disk.", size, ["place"]),
    )


async def _of_backups(app: App) -> Sequence[str]:
    service = app.features.of(BackupService)
    try:
        backups = await service.list()
    except StorageError:
        return (_metric("backups_readable", "gauge", "Whether backups can be looked at.", {(): 0}),)
    good = [backup.header.at for backup in backups if backup.header and backup.is_good]
    hours = app.settings.backups.every_hours
    every = {(): hours * 3600} if hours else {}
    last = {(): max(good) / 1_000_000} if good else {}
    return (
        _metric("backups_readable", "gauge", "Whether backups can be looked at.", {(): 1}),
        _metric("backups", "gauge", "Backups that are kept and whole.", {(): len(good)}),
        _metric("backup_last_good_seconds", "gauge", "When the last good one was made, by Unix time.", last),
        _metric("backup_every_seconds", "gauge", "The rhythm in which they are made by themselves.", every),
        _metric("backup_failed", "gauge", "Whether the last one failed.", {(): int(bool(service.fault))}),
    )


def _times(name: str, about: str, histogram: Histogram) -> str:
    """A histogram: how many took at most so long, for each of its bounds."""
    lines = [f"# HELP bethink_{name} {about}", f"# TYPE bethink_{name} histogram"]
    bounds = [*map(str, TIMES_S), "+Inf"]
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        lines.append(f'bethink_{name}_bucket{{le="{bound}"}} {count}')
    lines.append(f"bethink_{name}_sum {histogram.total_s:.6f}")
    lines.append(f"bethink_{name}_count {sum(histogram.counts)}")
    return "\n".join((*lines, ""))


def _metric(
    name: str, kind: str, about: str, samples: Mapping[tuple[str, ...], float], labels: Sequence[str] = ()
) -> str:
    """A metric; each sample has a value for each of the `labels`."""
    lines = [f"# HELP bethink_{name} {about}", f"# TYPE bethink_{name} {kind}"]
    for values, number in samples.items():
        told = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))
        lines.append(f"bethink_{name}{'{' + told + '}' if told else ''} {number}")
    return "\n".join((*lines, ""))


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
