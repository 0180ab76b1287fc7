"""One server's connection: one task opens, watches and reopens its session. `servers.py` owns it.

The SDK's session lives in a task that nobody else touches: a lost peer may
cancel it. Calls come from other tasks, wait for the session within bounds, and
are never repeated: what was sent may have had effects.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from time import monotonic
from traceback import format_exception
from typing import TYPE_CHECKING, Any, TypeVar

from bethink.errors import BethinkError, McpError, McpLost, McpTimeout, McpUnreachable, NotAllowed
from bethink.mcp_client import Hooks, ServerStatus
from bethink.mcp_client.masking import SecretMask
from bethink.mcp_client.sign_in import WAIT_S
from bethink.questions import CANCELLED, Answer, Question
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.clock import Clock
    from bethink.mcp_client import (
        CallOwner,
        CallResult,
        Connector,
        Library,
        Progress,
        RemoteTool,
        Sampled,
        Sampling,
        ServerConfig,
        ServerInfo,
        ServerSession,
        SignIn,
        State,
    )

    _Request = Callable[[ServerSession, Progress], Coroutine[Any, Any, "T"]]

T = TypeVar("T")

_FIRST_S = 0.5
_LONGEST_S = 60
_JITTER = 0.2
"""Waits between attempts double, each longer or shorter by up to a fifth, so that not all come at once."""
_STEADY_S = 30
"""A session that held so long was a good one: the next wait is short again."""
_SPACING_S = 1
"""Between the beginnings of two attempts, also where a call asks for one."""
_PING_S = 10
_COALESCE_S = 0.3
_SHOWN_CHARS = 200
"""Changes within so short a time are read at once."""
_CALM = 4
"""So many times the last wait without a change, and the next wait is short again."""
_MOMENT_S = 1
_NAMED = 5
_END_S = 6
"""For a session to end: its input closed, SIGTERM and SIGKILL take three seconds."""

_log = log("mcp")
_current: ContextVar[_Call | None] = ContextVar("the call that this task makes", default=None)


@dataclass(slots=True)
class _Open:
    """A session that can be called; `gone` says why it cannot any more."""

    session: ServerSession
    gone: asyncio.Future[str]


@dataclass(slots=True, eq=False)
class _Call:
    """A request under way: until when, and whom the server may ask during it. `over` is its end."""

    end: float
    idle_s: float
    person: CallOwner | None
    limit: asyncio.Timeout = field(init=False)
    over: asyncio.Future[None] = field(init=False)
    _asked: int = 0

    def __post_init__(self) -> None:
        self.limit = asyncio.timeout_at(self._until())
        self.over = _future()

    def _until(self) -> float:
        return min(self.end, asyncio.get_running_loop().time() + self.idle_s)

    def sign(self) -> None:
        """Take note of a sign of progress."""
        if not self._asked:
            self.limit.reschedule(self._until())

    async def during(self, asked: Coroutine[Any, Any, T]) -> T | None:
        """What a person says, while the call's time stands still; None if it is over before."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._asked += 1
        self.limit.reschedule(None)
        task = asyncio.ensure_future(asked)
        try:
            await asyncio.wait({task, self.over}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            self._asked -= 1
            if not self._asked and not self.over.done() and not self.limit.expired():
                self.end += loop.time() - began
                self.limit.reschedule(self._until())


class ServerConnection:
    """A server's session, kept open from the first need on."""

    def __init__(
        self,
        config: ServerConfig,
        connector: Connector,
        *,
        clock: Clock,
        on_tools: Callable[[str, list[RemoteTool], ServerInfo], Awaitable[None]],
    ) -> None:
        self.config = config
        self.hidden = SecretMask(config)
        self._connector = connector
        self._clock = clock
        self._on_tools = on_tools
        self._open: _Open | None = None
        self._calls = 0
        self._running: list[_Call] = []
        self._wanted, self._kick, self._wake = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._changed = False
        self._patience_s, self._read_at = _COALESCE_S, float("-inf")
        self._lost: str | None = None
        self._words = ""
        self._sign_in: SignIn | None = None
        self._settled: asyncio.Future[str | None] = _future()
        self.status = ServerStatus.of(config, "idle", clock.now_us())
        if config.start == "eager":
            self.want()

    def want(self) -> None:
        """Have the session opened, now and again whenever it is lost."""
        self._wanted.set()

    def reconnect(self) -> None:
        """Have the session closed, if there is one, and opened anew at once."""
        self.want()
        self._kick.set()
        if self._open is not None or self._sign_in is not None:
            self._end("it was asked to reconnect")

    async def run(self) -> None:
        """Keep the session, for ever."""
        delay = _FIRST_S
        while True:
            await self._wanted.wait()
            self._kick.clear()
            begun = monotonic()
            self._say("connecting", attempts=self.status.attempts + 1)
            reason, was_open = await self._attempt()
            reason = self.hidden(reason)
            held = monotonic() - begun
            delay = _FIRST_S if held > _STEADY_S else delay
            self._say("retrying", reason=reason, last_error=reason, sign_in=None)
            if not was_open:
                self._settle(reason)
            _log.info("MCP server %s: %s", self.config.name, reason)
            wait = delay * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret hangs on it
            await asyncio.sleep(max(0.0, _SPACING_S - held))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._kick.wait()
            delay = min(delay * 2, _LONGEST_S)

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        on_progress: Progress = lambda _text, _fraction: None,
        *,
        person: CallOwner | None = None,
    ) -> CallResult:
        """Make a call on the session; opens it if need be. The server may ask the `person`.

        Raises:
            McpUnreachable: there is no session within the server's time for connecting.
            McpTimeout: the answer did not come in time; the server was told to stop.
            McpLost: the session ended during the call.
            McpError: the server refused.
        """
        return await self._request(
            lambda session, progress: session.call(tool, arguments, progress), on_progress, person=person
        )

    async def ask(self, request: Callable[[Library], Coroutine[Any, Any, T]]) -> T:
        """What the server answers to a request beside tools; bounded as calls are, and raises as they do."""
        return await self._request(lambda session, _progress: request(session.library))

    async def _request(
        self,
        request: _Request[T],
        on_progress: Progress = lambda _text, _fraction: None,
        *,
        person: CallOwner | None = None,
    ) -> T:
        opened = await self.ready()
        self._calls += 1
        try:
            return await self._bounded(opened, request, on_progress, person=person)
        except McpError as error:
            # It may be the session that failed.
            if self._open is opened:
                self._wake.set()
            raise type(error)(self.hidden(error.message)) from None
        finally:
            self._calls -= 1

    async def _bounded(
        self, opened: _Open, request: _Request[T], on_progress: Progress, *, person: CallOwner | None
    ) -> T:
        config, loop = self.config, asyncio.get_running_loop()
        idle = config.idle_timeout_s or config.call_timeout_s
        call = _Call(loop.time() + config.call_timeout_s, idle, person)

        def progress(text: str, fraction: float | None) -> None:
            call.sign()
            on_progress(self.hidden(text), fraction)

        self._running.append(call)
        token = _current.set(call)
        try:
            async with call.limit:
                return await _first(request(opened.session, progress), opened.gone)
        except TimeoutError as error:
            if not call.limit.expired():
                raise
            waited = "in all" if loop.time() >= call.end else "without a sign of progress"
            seconds = config.call_timeout_s if loop.time() >= call.end else idle
            raise McpTimeout(
                f"The server {config.name} took more than {seconds:g} s {waited}. It was told to stop;"
                " whether the call had effects is not known."
            ) from error
        finally:
            _current.reset(token)
            self._running.remove(call)
            call.over.set_result(None)

    async def ready(self) -> _Open:
        """Wait for the session.

        Raises:
            McpUnreachable: it does not come about, or not within the server's time for connecting.
        """
        if self._open is not None:
            return self._open
        if self._sign_in is not None:
            raise McpUnreachable(f"The server {self.config.name} needs you to sign in: {self._sign_in.url}")
        settled = self._settled
        self.want()
        if self.status.state == "retrying":
            self._kick.set()
        try:
            async with asyncio.timeout(self.config.connect_timeout_s + _SPACING_S):
                reason = await asyncio.shield(settled)
        except TimeoutError:
            reason = "it did not answer in time"
        if self._open is None:
            raise McpUnreachable(f"The server {self.config.name} cannot be reached: {reason}")
        return self._open

    # --- what the server asks during a call

    async def _question(self, question: Question) -> Answer:
        call = self._asking()
        if call is None or call.person is None:
            return CANCELLED
        told = replace(question, text=self.hidden(question.text))
        answer = await call.during(call.person.answer(told))
        return answer or CANCELLED

    async def _sampling(self, wanted: Sampling) -> Sampled:
        call = self._asking()
        sampled = await call.during(call.person.sample(wanted)) if call and call.person else None
        if sampled is None:
            raise NotAllowed("There is nobody whose model could be asked.")
        return sampled

    def _asking(self) -> _Call | None:
        """The call during which the server asks.

        Older revisions do not say: it is the last one, unless calls of several people run.
        """
        if (known := _current.get()) in self._running:
            return known
        people = [call for call in self._running if call.person is not None]
        owners = {call.person.owner for call in people if call.person is not None}
        return people[-1] if len(owners) == 1 else None

    # --- the one task

    async def _attempt(self) -> tuple[str, bool]:
        """Open the session and hold it as long as it lasts; why it ended, and whether it ever was open."""
        self._lost, self._changed, self._sign_in, self._words = None, False, None, ""
        task = asyncio.create_task(self._live(), name=f"mcp:{self.config.name}")
        is_up = False
        try:
            is_up = await self._until_up(task)
            if is_up:
                await asyncio.wait({task})
        finally:
            self._close("the connection was closed")
            for _ in range(2):
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task}, timeout=_END_S)
            if task.done() and not task.cancelled():
                # Looked at, also where the server is given up meanwhile: nobody else will.
                task.exception()
        reason = self._reason(task)
        if self._lost is not None:
            reason = self._lost
        elif not is_up and (not task.done() or task.cancelled()):
            reason = f"it did not answer within {self.config.connect_timeout_s:g} s"
            reason = ": ".join(filter(None, (reason, self._words)))
        return reason, is_up

    async def _until_up(self, task: asyncio.Task[None]) -> bool:
        """Wait until the session is open; while a person signs in, they have their own time."""
        seconds = self.config.connect_timeout_s
        while self._open is None and not task.done():
            up = asyncio.ensure_future(self._wake.wait())
            done, _ = await asyncio.wait({task, up}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            up.cancel()
            self._wake.clear()
            if not done or self._lost is not None:
                return False
            seconds = WAIT_S if self._sign_in is not None else self.config.connect_timeout_s
        return self._open is not None

    async def _live(self) -> None:
        hooks = Hooks(
            on_change=self._change,
            on_lost=self._end,
            on_sign_in=self._must_sign_in,
            on_words=self._hear,
            on_question=self._question,
            on_sampling=self._sampling,
        )
        async with self._connector.open(self.config, hooks) as session:
            info = session.info
            await self._on_tools(self.config.name, await session.tools(), info)
            self._open = _Open(session, _future())
            server = self.hidden(f"{info.name} {info.version}"[:_SHOWN_CHARS].strip()) or None
            self._say(
                "ready",
                reason=self._left_out(session),
                protocol=info.protocol,
                server=server,
                attempts=0,
                sign_in=None,
            )
            self._settle(None)
            self._wake.set()
            await self._watch(session)

    async def _watch(self, session: ServerSession) -> None:
        while self._lost is None:
            if self._changed:
                await self._look_again(session)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self.config.ping_every_s):
                    await self._wake.wait()
            self._wake.clear()
            if self._lost is not None or self._changed:
                continue
            try:
                async with asyncio.timeout(_PING_S):
                    await session.ping()
            except TimeoutError as error:
                # A server that does one thing at a time cannot answer during a call.
                if not self._calls:
                    raise McpUnreachable(f"It gave no sign of life within {_PING_S} s.") from error

    async def _look_again(self, session: ServerSession) -> None:
        """Read the list of tools, the more rarely the more often it is said to have changed."""
        is_calm = monotonic() - self._read_at > _CALM * self._patience_s
        self._patience_s = _COALESCE_S if is_calm else min(2 * self._patience_s, _LONGEST_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                while self._lost is None:
                    self._wake.clear()
                    await self._wake.wait()
        if self._lost is None:
            self._changed = False
            await self._on_tools(self.config.name, await session.tools(), session.info)
            self._read_at = monotonic()
            self._say(self.status.state, reason=self._left_out(session))

    def _left_out(self, session: ServerSession) -> str | None:
        names = session.left_out
        if not names:
            return None
        shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        return self.hidden(f"{len(names)} of its tools are left out, since they break the protocol: {shown}")

    def _reason(self, task: asyncio.Task[None]) -> str:
        if not task.done():
            return "it could not be ended"
        if task.cancelled():
            return "the connection was lost"
        error = task.exception()
        if error is None:
            return "the connection ended"
        if not isinstance(error, BethinkError):
            # A background task: what nobody foresaw is recorded, and the server is tried again.
            _log.error("MCP connection failed: %s", self.hidden("".join(format_exception(error))))
            return f"{type(error).__name__}: {error}"
        return error.message

    # --- what the session tells

    def _change(self) -> None:
        self._changed = True
        self._wake.set()

    def _end(self, reason: str) -> None:
        self._lost = self._lost or reason
        self._close(reason)
        self._wake.set()

    def _hear(self, words: str) -> None:
        self._words = words

    def _must_sign_in(self, page: SignIn | None) -> None:
        self._sign_in = page
        if page is not None:
            shown = "It needs you to sign in: open the page."
            self._say("sign_in", reason=shown, sign_in=page.url)
            self._settle(f"it needs you to sign in: {page.url}")
        else:
            self._say("connecting", reason=None, sign_in=None)
        self._wake.set()

    def _close(self, reason: str) -> None:
        opened, self._open = self._open, None
        if opened is not None and not opened.gone.done():
            opened.gone.set_result(reason)

    # --- what others are told

    def _settle(self, reason: str | None) -> None:
        """Tell those who wait for this attempt how it went."""
        settled, self._settled = self._settled, _future()
        if not settled.done():
            settled.set_result(reason)

    def _say(self, state: State, **more: Any) -> None:  # noqa: ANN401 - fields of the status
        since = self.status.since if state == self.status.state else self._clock.now_us()
        self.status = replace(self.status, state=state, since=since, **more)


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def _first(call: Coroutine[Any, Any, T], gone: asyncio.Future[str]) -> T:
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done() and not isinstance(task.exception(), McpLost):
            return task.result()
        # Why it ended is known a moment later than that it did.
        await asyncio.wait({gone}, timeout=_MOMENT_S)
        reason = gone.result() if gone.done() else "the connection was closed"
        raise McpLost(f"The server was lost during the call ({reason}). It may or may not have happened.")
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_END_S)
        if task.done() and not task.cancelled():
            # Looked at, so that nobody reports it as overlooked.
            task.exception()
