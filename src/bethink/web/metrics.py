"""`GET /metrics`: counts for a Prometheus, in its text format 0.0.4.

Labels are names of tools, models and reasons: never whose something is, nor what anybody said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request, Response

from bethink import __version__
from bethink.backups.service import BackupService
from bethink.conversations import MESSAGES
from bethink.documents.records import PASSAGES
from bethink.documents.service import Documents
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.errors import StorageError
from bethink.memory.facts import FACTS
from bethink.store import owners_of
from bethink.telemetry import TIMES_S
from bethink.web.deps import Caller, Served
from bethink.web.security.answers import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bethink.app import App
    from bethink.store import Collection
    from bethink.telemetry import Histogram
    from bethink.web.security.answers import AnswerCounts

router = APIRouter(tags=["health"])

_MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SEARCHED: Final = (FACTS, MESSAGES, PASSAGES)
_SHOWN: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}
}


@router.get("/metrics", response_class=Response, responses=_SHOWN)
async def get_metrics(app: Served, _: Caller, request: Request) -> Response:
    """Counters since the start of this process, and what is live now."""
    answers: AnswerCounts = getattr(request.state, ANSWERS)
    metrics = [
        _metric("info", "gauge", "The version that runs.", {(__version__,): 1}, ["version"]),
        *_of_requests(answers),
        *_of_runs(app),
        _times(
            "recall_seconds", "Searches of memory and of all else that is found by words.", app.recall.times
        ),
        *_of_work(app),
        *await _of_sizes(app, getattr(request.state, SIZES)),
        *await _of_backups(app),
    ]
    return Response("".join(metrics), media_type=_MEDIA_TYPE)


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


def _of_work(app: App) -> Sequence[str]:
    waiting = {"turns": app.post_turn.waiting, **app.background.waiting}
    queues = {(name,): count for name, count in waiting.items()}
    about = "What waits in this process: turns to learn from, owners whose vectors or deleted traces are due."
    forgotten = {(): app.forgetting.completed}
    return (
        _metric("queue", "gauge", about, queues, ["queue"]),
        _metric("forgettings_total", "counter", "Forgettings that were completed.", forgotten),
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
            await self._count(app)
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
        self.searched = {(collection.name,): count for collection, count in counts.items()}
        self.stages = {(stage,): count for stage, count in stages.items()}


async def _of_sizes(app: App, sizes: Sizes) -> Sequence[str]:
    await sizes.known()
    metrics = [
        _metric("indexed", "gauge", "Records that are searched, by kind.", sizes.searched, ["kind"]),
        _metric("documents", "gauge", "Files of documents, by how far they are.", sizes.stages, ["stage"]),
    ]
    if app.settings.database_url is None:
        size = await anyio.to_thread.run_sync(_bytes_of, app.settings.data_dir)
        metrics.append(_metric("database_bytes", "gauge", "The SQLite file with its log.", {(): size}))
    return metrics


def _bytes_of(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.glob(f"{FILE_NAME}*") if path.is_file())


async def _of_backups(app: App) -> Sequence[str]:
    service = app.features.of(BackupService)
    try:
        backups = await service.list()
    except StorageError:
        return (_metric("backups_readable", "gauge", "Whether backups can be looked at.", {(): 0}),)
    good = [backup.header.at for backup in backups if backup.header and backup.is_good]
    last = {(): max(good) / 1_000_000} if good else {}
    return (
        _metric("backups_readable", "gauge", "Whether backups can be looked at.", {(): 1}),
        _metric("backups", "gauge", "Backups that are kept and whole.", {(): len(good)}),
        _metric("backup_last_good_seconds", "gauge", "When the last good one was made, by Unix time.", last),
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
