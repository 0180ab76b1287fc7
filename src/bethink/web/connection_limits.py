"""HTTP as uvicorn reads it, with bounds on what comes before a request can be judged. `server` uses it.

Nothing above sees a request before its head is whole, nor an answer that nobody
takes: whoever is silent, or slow on purpose, is let go here, so that neither
memory nor connections run out for others.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

MAX_HEAD_BYTES: Final = 128 * 1024
"""Room for long addresses and for the headers that proxies add; a request may have one piece more."""
_TOLD: Final = "The head of this request is too long."
_MOST: Final = 1_000
"""Connections: six for each of 160 browsers."""
_LOCAL: Final = frozenset({"127.0.0.1", "::1"})
_OTHER_FILES: Final = 256
"""Of the files that a process may have open, so many are left for what is no connection."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how slow they may be. Times in seconds.

    `of_address` does not hold for `trusted`: this machine, and the proxies that the settings name.
    """

    connections: int = _MOST
    of_address: int = 200
    """A fifth of all: an office behind one address has room, one address cannot take everything."""
    trusted: frozenset[str] = _LOCAL
    head_s: float = 20
    """For a request's head, from the connection's beginning or the head's own."""
    progress_s: float = 30
    """In which `progress_bytes` of a body must come, or of an answer be taken."""
    progress_bytes: int = 1_024


class BoundedHttp(HttpToolsProtocol):
    """Ends a connection that takes too long or too much before it is a request, or behind its answer."""

    limits: ClassVar[Limits] = Limits()
    _unfinished: int = 0
    _is_further: bool = False
    _is_reading: bool = False
    """Some of a request came, and not all of it."""
    _came: int = 0
    """Bytes of its body."""
    heard_at: float = 0
    """When something came last, by the loop's clock."""
    _reading: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or let go of it or of one that is silent if there are too many."""
        super().connection_made(transport)
        self.heard_at = self.loop.time()
        if not self._has_room():
            transport.abort()
            return
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_reading_timer()
        self._stop_writing_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came, unless it is too much of what tells nothing yet."""
        self._is_further = False
        self.heard_at = self.loop.time()
        if self._reading is None and not self._is_answering:
            self._expect_head()
        super().data_received(data)
        self._unfinished = 0 if self._is_further else self._unfinished + len(data)
        if self._unfinished > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(_TOLD)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._is_further = self._is_reading = True
        self._came = 0
        self._stop_reading_timer()
        super().on_headers_complete()
        self._expect_body(0)

    def on_body(self, body: bytes) -> None:
        """Some of the body came."""
        self._is_further = True
        self._came += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_further, self._is_reading = True, False
        self._stop_reading_timer()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The reader is behind: it has so long to take some of what waits."""
        super().pause_writing()
        self._expect_taken(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The reader is not behind any more."""
        self._stop_writing_timer()
        super().resume_writing()

    @property
    def is_silent(self) -> bool:
        """Whether no request is being read or answered: closing the connection loses nothing."""
        return not self._is_reading and not self._is_answering

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - None before the first request

    def _has_room(self) -> bool:
        """Whether this connection may stay; one that is silent makes room for it."""
        known = cast("set[BoundedHttp]", self.connections)
        others = [each for each in known if each is not self and not each.transport.is_closing()]
        address = self.client[0] if self.client else ""
        limits = self.limits
        if address not in limits.trusted:
            beside = [each for each in others if each.client and each.client[0] == address]
            if len(beside) >= limits.of_address and not _let_go(beside):
                return False
        return len(others) < limits.connections or _let_go(others)

    def _expect_head(self) -> None:
        self._wait(self.limits.head_s, self.transport.abort)

    def _expect_body(self, came: int) -> None:
        def look() -> None:
            # What nobody has asked for yet holds up its sender, and is no fault of theirs.
            is_held = self.flow.read_paused and self._is_answering
            if is_held or (self._came - came >= self.limits.progress_bytes and self._is_answering):
                self._expect_body(self._came)
            else:
                self.transport.abort()

        if self._is_reading:
            self._wait(self.limits.progress_s, look)

    def _expect_taken(self, waiting: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if waiting - left >= self.limits.progress_bytes:
                self._expect_taken(left)
            else:
                self.transport.abort()

        self._stop_writing_timer()
        self._writing = self.loop.call_later(self.limits.progress_s, look)

    def _wait(self, seconds: float, act: Callable[[], None]) -> None:
        self._stop_reading_timer()
        self._reading = self.loop.call_later(seconds, act)

    def _stop_reading_timer(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _stop_writing_timer(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None


def bounded_http(limits: Limits) -> type[BoundedHttp]:
    """The protocol with these limits: uvicorn makes one for each connection."""
    return type("BoundedHttp", (BoundedHttp,), {"limits": limits})


def limits_for(trusted: Sequence[str]) -> Limits:
    """The limits of this process, which asks the system for as many open files as they need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, unlimited = _MOST, resource.RLIM_INFINITY
    if soft != unlimited and soft < most + _OTHER_FILES:
        soft = most + _OTHER_FILES if hard == unlimited else min(most + _OTHER_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != unlimited:
        most = min(most, max(soft - _OTHER_FILES, soft // 2))
    return Limits(most, of_address=max(1, most // 5), trusted=_LOCAL | frozenset(trusted))


def _let_go(connections: list[BoundedHttp]) -> bool:
    """End the one that has been silent longest; False if all are at work."""
    silent = [each for each in connections if each.is_silent]
    if not silent:
        return False
    min(silent, key=lambda each: each.heard_at).transport.abort()
    return True
