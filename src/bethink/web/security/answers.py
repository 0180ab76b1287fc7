"""How many requests were answered, how, and how long that took; `guard` counts, `/metrics` tells.

If the settings ask for it, each is a line of the log, too.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from bethink.telemetry import FIELDS, REQUESTS, Histogram, Span
from bethink.web.problems import route_of

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send


ANSWERS: Final = "answers"
"""Their place in the state of every request."""
_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"}
)
_FAULT: Final = 500
_STREAM: Final = "text/event-stream"
_log = logging.getLogger(REQUESTS)


@dataclass(slots=True)
class AnswerCounts:
    """Answers by method and status, their times but for streams, and streams that are open now."""

    answered: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])
    times: Histogram = field(default_factory=Histogram)
    streams: int = 0

    @contextmanager
    def counting(self, scope: Scope, send: Send, span: Span) -> Generator[Send]:
        """Count one, and tell its span; inside, the answer is sent by what is given."""
        started = time.perf_counter()
        # Strangers may invent methods without end: they count as one.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status: int | None = None
        is_stream = False

        async def noting(message: Message) -> None:
            nonlocal is_stream, status
            if message["type"] == "http.response.start":
                status = message["status"]
                self.answered[method, str(status)] += 1
                kind = Headers(raw=message.get("headers", [])).get("content-type", "")
                if kind.startswith(_STREAM):
                    is_stream = True
                    self.streams += 1
            await send(message)

        try:
            yield noting
        finally:
            took_s = time.perf_counter() - started
            _describe(span, method, route_of(scope), status)
            if is_stream:
                self.streams -= 1
            else:
                self.times.take(took_s)
            if _log.isEnabledFor(logging.INFO):
                _log_request(scope, method, status, took_s)


def _describe(span: Span, method: str, route: str, status: int | None) -> None:
    span.rename(f"{method} {route}")
    span.set({"http.route": route, "http.response.status_code": status})
    if status is None or status >= _FAULT:
        span.fail(str(status or "unanswered"))


def _log_request(scope: Scope, method: str, status: int | None, took_s: float) -> None:
    """One line; it names the route, since an address may hold words of its owner's, or a secret."""
    route, took_ms = route_of(scope), round(took_s * 1000, 1)
    told = {"method": method, "route": route, "status": status, "duration_ms": took_ms}
    _log.info("%s %s %s in %s ms", method, route, status or "unanswered", took_ms, extra={FIELDS: told})
