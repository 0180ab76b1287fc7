"""Spans of what is done, for a collector of OpenTelemetry; nothing of that is imported unless settings ask.

`web/security/guard` begins one for each request and `agent/runs` one for each run. Inside of them `span`
makes those of calls to models, calls of tools and searches of memory; outside it makes none. Names and
attributes are those of OpenTelemetry's GenAI conventions, which are still in development (docs/adr/0093).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import NotInstalled
from bethink.telemetry import correlate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer

    from bethink.settings import Settings

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
async def open_tracing(settings: Settings) -> AsyncGenerator[Tracing]:
    """What the settings ask for; spans that wait are sent at the end, for a few seconds at most.

    Raises:
        NotInstalled: the package is missing.
    """
    if settings.traces_url is None:
        yield Tracing()
        return
    try:
        provider = await anyio.to_thread.run_sync(_provider, settings)
    except ImportError as error:
        raise NotInstalled(MISSING) from error
    try:
        yield tracing_of(provider, has_content=settings.traces_content)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_SEND_S):
            await anyio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)


def tracing_of(provider: TracerProvider, *, has_content: bool = False) -> Tracing:
    """Spans that go to a provider of OpenTelemetry's."""
    from bethink import __version__

    return Tracing(provider.get_tracer("bethink", __version__), has_content)


def _provider(settings: Settings) -> TracerProvider:
    """What sends spans in the background; no process-wide one is set, so nothing else is traced by it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    from bethink import __version__

    given = settings.traces_headers.get_secret_value() if settings.traces_headers else ""
    pairs = (pair.partition("=") for pair in given.split(",") if "=" in pair)
    exporter = OTLPSpanExporter(
        endpoint=f"{(settings.traces_url or '').rstrip('/')}/v1/traces",
        headers={name.strip(): value.strip() for name, _, value in pairs},
        timeout=_SEND_S,
    )
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.traces_share)),
        resource=Resource.create({"service.name": "bethink", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _propagator() -> Any:  # noqa: ANN401 - OpenTelemetry's, imported when it is needed
    module = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
    return module.TraceContextTextMapPropagator()
