"""The log, and the background work whose errors it tells of: one line an event, without secrets.

Every module logs to a child of `bethink`; `cli` calls `configure` once. Strangers can
cause lines, so that lines have a length and each kind a rate: no disk is filled by them.
What a request or a run causes, in any task, is logged with their ids (`Correlation`).

Whoever has a task that runs for ever starts it with `supervise` of the app's `Supervisor`, in a task
group of its own: an unexpected error is logged and told in `/health`, and the task started again.

Spans of what is done go to a collector of OpenTelemetry, of which nothing is imported unless settings ask.
`web/security/guard` begins one for each request and `agent/runs` one for each run. Inside of them `span`
makes those of calls to models, calls of tools and searches of memory; outside it makes none. Names and
attributes are those of OpenTelemetry's GenAI conventions, which are still in development (docs/adr/0093).
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import NotInstalled

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer


_MINUTE_S: Final = 60
_KIND_CHARS: Final = 100
_MOST_KINDS: Final = 1_000
_LINE_CHARS: Final = 2_000
_TRACEBACK_CHARS: Final = 16_000


def log(room: str) -> logging.Logger:
    """The logger of one room of the house."""
    return logging.getLogger(f"bethink.{room}")


REQUESTS: Final = "bethink.requests"
"""The logger of answered requests, which the settings may ask for: as many lines as requests."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """What the work of a task is done for: the ids of a request, of a run, and of whose they are."""

    request_id: str | None = None
    run_id: str | None = None
    owner: str | None = None
    trace_id: str | None = None


NOTHING: Final = Correlation()
_correlation: ContextVar[Correlation] = ContextVar("correlation", default=NOTHING)


def correlation() -> Correlation:
    """What this task works for."""
    return _correlation.get()


def correlate(**ids: str | None) -> None:
    """Have what this task does from now on, and the tasks that it starts, told with these ids, too."""
    _correlation.set(replace(_correlation.get(), **ids))


@contextmanager
def correlated(whole: Correlation) -> Generator[None]:
    """Inside, work is told with these ids alone."""
    token = _correlation.set(whole)
    try:
        yield
    finally:
        _correlation.reset(token)


@dataclass(slots=True)
class WorkOutcome:
    """How a piece of background work ended: `fault` is what broke it, None where nothing did."""

    fault: Exception | None = None


@contextmanager
def recorded(log: logging.Logger, message: str) -> Generator[WorkOutcome]:
    """Background work that must not take the rest down: what breaks it is logged, with its traceback.

    Whoever waits for the work tells of the outcome. A cancellation passes.
    """
    outcome = WorkOutcome()
    try:
        yield outcome
    except Exception as error:
        log.exception(message)
        outcome.fault = error


@dataclass(slots=True)
class Throttle(logging.Filter):
    """Lets `per_minute` lines of a kind through, and `in_all` of all kinds; the next line counts the rest.

    A kind is a logger with the text of its message before anything is put into it.
    """

    per_minute: int = 30
    in_all: int = 600
    monotonic_s: Callable[[], float] = time.monotonic
    _minute: int = -1
    _passed: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _left_out: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        minute = int(self.monotonic_s() // _MINUTE_S)
        if minute != self._minute:
            self._minute = minute
            self._passed.clear()
        kind = (record.name, str(record.msg)[:_KIND_CHARS])
        if self._passed[kind] >= self.per_minute or self._passed.total() >= self.in_all:
            if kind in self._left_out or len(self._left_out) < _MOST_KINDS:
                self._left_out[kind] += 1
            return False
        self._passed[kind] += 1
        if more := self._left_out.pop(kind, 0):
            record.msg, record.args = f"{record.getMessage()} ({more:,} lines like it were left out)", ()
        return True


class _Text(logging.Formatter):
    """A line of bounded length; a traceback behind it keeps its end, which says what went wrong."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return _cut(without_keys(super().formatMessage(record)))

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - logging's names and types
        return without_keys(super().formatException(ei))[-_TRACEBACK_CHARS:]


class _Json(_Text):
    """A line of JSON: time (RFC 3339, UTC), level, logger, message, and the ids of what it was done for."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(without_keys(record.getMessage())),
        }
        line |= {name: id for name, id in asdict(correlation()).items() if id is not None}
        line |= getattr(record, FIELDS, {})
        if record.exc_info:
            # As the library does: to read the lines of source again for each handler takes long.
            record.exc_text = record.exc_text or self.formatException(record.exc_info)
            line["traceback"] = without_keys(record.exc_text)[-_TRACEBACK_CHARS:]
        return msgspec.json.encode(line).decode()


FIELDS: Final = "fields"
"""In `extra` of a line: what it says in values; JSON has them beside the message."""


def _cut(line: str) -> str:
    # Half a surrogate pair, as a name from outside may have it, cannot be written.
    line = line.encode("utf-8", "replace").decode()
    return line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…"


KEY_FORMS: Final = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{20,}|[sr]k_(?:live|test)_\w{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_\w{30,}"
    r"|github_pat_\w{40,}|glpat-[\w-]{20,}|xox[abeprs]-[\w-]{10,}|AIza[\w-]{35}|hf_\w{30,}|npm_\w{36}"
    r"|pypi-\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_\w{20,}|ya29\.[\w-]{20,}|dop_v1_\w{40,}"
    r"|(?i:bearer) [\w.~+/=-]{16,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*|AGE-SECRET-KEY-1\w{50,})"
)
"""Formats that providers publish, so that such keys can be found."""
_OWN_KEY: Final = re.compile(r"\bb[ks]_[A-Za-z0-9_-]{43}")
_IN_ADDRESS: Final = re.compile(r"(?<=://)[^\s/@'\"<>]+(?=@)")


def without_keys(text: str) -> str:
    """A text with the keys masked that are known by their form. Who logs leaves them out: a second wall."""
    for form in (_OWN_KEY, KEY_FORMS, _IN_ADDRESS):
        text = form.sub("***", text)
    return text


def configure(level: str, form: Literal["text", "json"] = "text", *, requests: bool = False) -> None:
    """Write the log to standard error from `level` on; of what serves requests, warnings.

    With `requests` there is a line for each of them.
    """
    formatter = _Json() if form == "json" else _Text("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(Throttle())
    for name, least in (
        ("bethink", level.upper()),
        ("uvicorn", "WARNING"),
        ("asyncio", "WARNING"),
        ("opentelemetry", "WARNING"),
    ):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
    logging.getLogger("bethink").propagate = False
    # Who asked for a line of each request has them all, whatever the rate.
    unthrottled = logging.StreamHandler(sys.stderr)
    unthrottled.setFormatter(formatter)
    answered = logging.getLogger(REQUESTS)
    answered.handlers[:] = [unthrottled]
    answered.propagate = False
    answered.setLevel("INFO" if requests else "CRITICAL")


TIMES_S: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bounds between the counts of a `Histogram`: from a search of a few facts to a long answer."""


@dataclass(slots=True)
class Histogram:
    """How often something took how long, in seconds; counts only grow."""

    total_s: float = 0
    counts: list[int] = field(default_factory=lambda: [0] * (len(TIMES_S) + 1))

    def take(self, seconds: float) -> None:
        """Count one."""
        self.total_s += seconds
        self.counts[bisect_left(TIMES_S, seconds)] += 1

    @contextmanager
    def measuring(self) -> Generator[None]:
        """Count what is done inside, unless it fails."""
        started = time.perf_counter()
        yield
        self.take(time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Gauge:
    """A figure of `/metrics` that goes up and down: its values by those of its `labels`."""

    name: str
    about: str
    samples: Mapping[tuple[str, ...], float]
    labels: tuple[str, ...] = ()


Gauges: TypeAlias = "Callable[[], Awaitable[Sequence[Gauge]]]"
"""What an adapter tells of itself; it may raise `StorageError`."""


PAUSES_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""What is waited before each further start: an error of a moment costs little, a lasting one no load."""
_STEADY_S = 300.0
"""A task that did not fail for so long is well again."""

_supervision = log("supervision")


class Supervise(Protocol):
    """Runs `work` until it returns or is cancelled; see `Supervisor.supervise`."""

    async def __call__(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Run it."""
        ...


@dataclass(slots=True)
class SupervisedLoop:
    """A task that runs for ever; `fault` names the kind of its last error, while that is told.

    `failures` counts those that followed one another.
    """

    failures: int = 0
    fault: str | None = None
    failed_at: float = 0


@dataclass(slots=True)
class Supervisor:
    """The tasks of one process that run for ever, by name; several of one name are told as one."""

    pauses_s: Sequence[float] = PAUSES_S
    loops: dict[str, SupervisedLoop] = field(default_factory=dict[str, SupervisedLoop])

    async def supervise(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Run `work`, and again after each unexpected error, until it returns or is cancelled.

        What it leaves half done it must find again when it is started again.
        """
        loop = self.loops.setdefault(name, SupervisedLoop())
        while True:
            try:
                # Whoever happened to start it: it works for all.
                with correlated(NOTHING):
                    await work()
            except Exception as error:  # noqa: BLE001 - a background task: recorded, and told in /health
                _supervision.exception("%s stopped unexpectedly and is started again", name)
                now = anyio.current_time()
                loop.failures = loop.failures + 1 if now - loop.failed_at < _STEADY_S else 1
                loop.failed_at = now
                # Its kind only: what an error says may be somebody's own words.
                loop.fault = " and ".join(sorted(_kinds(error)))
            else:
                return
            await anyio.sleep(self.pauses_s[min(loop.failures, len(self.pauses_s)) - 1])

    def faults(self) -> list[str]:
        """A sentence for each task that failed lately."""
        now = anyio.current_time()
        return [
            f"{name} stopped unexpectedly ({loop.fault}) and was started again; the log says why"
            for name, loop in self.loops.items()
            if loop.fault is not None and now - loop.failed_at < _STEADY_S
        ]


def _kinds(error: BaseException) -> set[str]:
    if not isinstance(error, BaseExceptionGroup):
        return {type(error).__name__}
    group = cast("BaseExceptionGroup[BaseException]", error)
    return {kind for one in group.exceptions for kind in _kinds(one)}


Kind = Literal["internal", "client", "server"]
Value = str | int | float | bool | Sequence[str]
MISSING: Final = "Traces need a package that is not installed: pip install 'bethink[telemetry]'."
_SEND_S: Final = 5
"""How long one sending may take, and the last one before the process ends."""
_CONTENT_CHARS: Final = 20_000


class Span:
    """What is told of a piece of work; this one is kept by nobody."""

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Tell attributes; those that are None are left out."""

    def tell(self, name: str, content: Callable[[], object]) -> None:
        """Tell what somebody said, as JSON, if the settings ask for content."""

    def fail(self, kind: str) -> None:
        """Tell that the work failed, by the kind of its error: what an error says may be somebody's words."""

    def rename(self, name: str) -> None:
        """Give another name, once it is known."""


class _KeptSpan(Span):
    """A span of OpenTelemetry's."""

    def __init__(self, tracing: Tracing, span: OtelSpan) -> None:
        self.tracing = tracing
        self._span = span

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(name, value)

    def tell(self, name: str, content: Callable[[], object]) -> None:
        if self.tracing.has_content and self._span.is_recording():
            said = content()
            text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
            self._span.set_attribute(name, text[:_CONTENT_CHARS])

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)

    def rename(self, name: str) -> None:
        self._span.update_name(name)


_NOBODYS: Final = Span()
_current: ContextVar[_KeptSpan | None] = ContextVar("span", default=None)


@contextmanager
def span(name: str, attributes: Mapping[str, Value | None], *, kind: Kind = "internal") -> Generator[Span]:
    """A span of what is done inside, if that is part of a request or run that is traced."""
    if (parent := _current.get()) is None:
        yield _NOBODYS
        return
    with parent.tracing.begin(name, attributes, kind=kind) as child:
        yield child


def trace_headers() -> dict[str, str]:
    """What tells another service which span asks it (W3C Trace Context); empty if none does."""
    headers: dict[str, str] = {}
    if _current.get() is not None:
        _propagator().inject(headers)
    return headers


@dataclass(frozen=True, slots=True)
class Tracing:
    """Where spans begin. Without a `tracer` none are made; `has_content` tells what was said, too."""

    tracer: Tracer | None = None
    has_content: bool = False

    @contextmanager
    def begin(
        self,
        name: str,
        attributes: Mapping[str, Value | None],
        *,
        kind: Kind = "internal",
        headers: Mapping[str, str] | None = None,
    ) -> Generator[Span]:
        """A span of what is done inside: part of the current one, of what `headers` name, or by itself."""
        if self.tracer is None:
            # An app beside another one traces with that one's.
            with span(name, attributes, kind=kind) as child:
                yield child
            return
        from opentelemetry import context
        from opentelemetry.trace import SpanKind, set_span_in_context

        before, parent = _current.get(), context.get_current()
        within: Context = parent if headers is None else _propagator().extract(headers, parent)
        known = {key: value for key, value in attributes.items() if value is not None}
        made = self.tracer.start_span(name, within, SpanKind[kind.upper()], known)
        kept = _KeptSpan(self, made)
        _current.set(kept)
        # The SDK for MCP finds the span there, and tells it to servers.
        context.attach(set_span_in_context(made, parent))
        correlate(trace_id=f"{made.get_span_context().trace_id:032x}")
        try:
            yield kept
        except Exception as error:
            kept.fail(type(error).__name__)
            raise
        finally:
            # No tokens: a generator may be closed by another task than the one that began it.
            _current.set(before)
            context.attach(parent)
            made.end()


@asynccontextmanager
async def open_tracing(
    url: str | None, *, headers: str = "", share: float = 1.0, has_content: bool = False
) -> AsyncGenerator[Tracing]:
    """Spans of a `share` of requests to the collector at `url`; None is no tracing.

    `headers` are "name=value" pairs with commas between. Spans that wait are sent at the end, for a few
    seconds at most.

    Raises:
        NotInstalled: the package is missing.
    """
    if url is None:
        yield Tracing()
        return
    try:
        provider = await anyio.to_thread.run_sync(_provider, url, headers, share)
    except ImportError as error:
        raise NotInstalled(MISSING) from error
    try:
        yield tracing_of(provider, has_content=has_content)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_SEND_S):
            await anyio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)


def tracing_of(provider: TracerProvider, *, has_content: bool = False) -> Tracing:
    """Spans that go to a provider of OpenTelemetry's."""
    from bethink import __version__

    return Tracing(provider.get_tracer("bethink", __version__), has_content)


def _provider(url: str, headers: str, share: float) -> TracerProvider:
    """What sends spans in the background; no process-wide one is set, so nothing else is traced by it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    from bethink import __version__

    pairs = (pair.partition("=") for pair in headers.split(",") if "=" in pair)
    exporter = OTLPSpanExporter(
        endpoint=f"{url.rstrip('/')}/v1/traces",
        headers={name.strip(): value.strip() for name, _, value in pairs},
        timeout=_SEND_S,
    )
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(share)),
        resource=Resource.create({"service.name": "bethink", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _propagator() -> Any:  # noqa: ANN401 - OpenTelemetry's, imported when it is needed
    module = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
    return module.TraceContextTextMapPropagator()
