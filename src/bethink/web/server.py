"""`bethink serve`: the web door on a port of this machine, until somebody stops it.

Nothing above sees a request before its head is whole, nor an answer that nobody takes. Whoever is
silent, or slow on purpose, is therefore let go here (`BoundedHttp`), so that neither memory nor
connections run out for others.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, cast

import anyio
import anyio.lowlevel
import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bethink.accounts import Accounts, Register, is_loopback
from bethink.accounts.setup_key import setup_key
from bethink.app import App, open_app
from bethink.clock import Ids, SystemClock
from bethink.engines.memory import MemoryBus
from bethink.errors import BadInput
from bethink.ports import open_database
from bethink.web import create_web
from bethink.web.security.credentials import is_trusted

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

    from bethink.settings import Settings

_BACKLOG = 512
_KEEP_ALIVE_S = 75
"""Longer than browsers and proxies keep an idle connection: closing it while they use it loses a request."""
_STOP_S = 3
"""How long open requests may take to end once the runs were told to; streams end with their runs."""
MAX_HEAD_BYTES: Final = 128 * 1024
"""Room for long addresses and for the headers that proxies add; a request may have one piece more."""
_TOLD: Final = "The head of this request is too long."
_MOST: Final = 1_000
"""Connections: six for each of 160 browsers."""
_LOCAL: Final = ("127.0.0.1", "::1")
_SERVED_AT: Final = "served-at.json"
_OTHER_FILES: Final = 256
"""Of the files that a process may have open, so many are left for what is no connection."""


class Address(msgspec.Struct, frozen=True):
    """Where a server listens, and the model that it began with."""

    host: str
    port: int
    model: str = ""


def serve(
    settings: Settings,
    *,
    on_ready: Callable[[str], None] | None = None,
    make: Callable[[AbstractAsyncContextManager[App]], ASGIApp] = create_web,
) -> None:
    """Serve until SIGINT or SIGTERM; returns then, with everything stored and closed.

    Prints one line with the address and the data directory on standard output
    once requests are answered, and calls `on_ready` with the address. A second
    SIGINT does not wait for open requests. `make` makes what is served.

    Raises:
        NotAllowed: the address is reachable from other machines.
        BadInput: the address does not exist here, or its port is taken.
        StorageError: the data directory cannot be used.
    """
    key: str | None = None
    if (not is_loopback(settings.host) or settings.needs_users) and asyncio.run(check_bind(settings)):
        key = setup_key(settings.data_dir, settings.setup_key_file)
    with listening(settings.host, settings.port) as listener:
        # uvicorn's own choice of the loop: uvloop where it is installed, else asyncio's.
        loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            ready = partial(_ready, key, on_ready or (lambda _url: None))
            runner.run(_serve(listener, settings, ready, make=make))


def _ready(key: str | None, on_ready: Callable[[str], None], url: str) -> None:
    """Say how the first user is made, if there is none yet, and go on."""
    if key is not None:
        sys.stdout.write(f"There is no user yet: open {url} and enter this set-up key: {key}\n")
        sys.stdout.flush()
    on_ready(url)


class Server(uvicorn.Server):
    """A uvicorn that tells when it is ready, and ends the runs before it waits for their readers.

    While it waits for `drain`, it serves as before.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        drain: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._drain = drain
        self._draining = anyio.CancelScope()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the runs end, or end them, and wait for their streams; a second SIGINT hurries."""
        with self._draining:
            await self._drain()
        self._on_stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at once on a second SIGINT."""
        super().handle_exit(sig, frame)
        if self.force_exit:
            self._draining.cancel()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """A signal stops the server; unlike uvicorn's, it is not raised again once that is done."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def _serve(
    listener: socket.socket,
    settings: Settings,
    on_ready: Callable[[str], None],
    *,
    make: Callable[[AbstractAsyncContextManager[App]], ASGIApp],
) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}"
    async with open_app(settings) as app, anyio.create_task_group() as tasks:

        def ready() -> None:
            # What was loaded stays: to walk it in every full collection stops all answers for 50 ms.
            gc.freeze()
            sys.stdout.write(f"Bethink is at {url} (data in {settings.data_dir})\n")
            sys.stdout.flush()
            on_ready(url)
            # Not before: the first answer shall not wait for half a second of loading.
            supervise = app.ports.supervisor.supervise
            tasks.start_soon(supervise, "the embedding model", app.background.ready_embedder)
            tasks.start_soon(supervise, "watching of vaults", app.watching.watch)
            resume = partial(app.post_turn.resume, app.ports.store, app.accounts.on_behalf_of)
            tasks.start_soon(supervise, "turns to learn from", resume)
            for task in app.features.tasks(served=True):
                tasks.start_soon(supervise, task.name, task.run)

        def stop() -> None:
            app.runs.interrupt()
            app.stopping.set()

        drain = partial(app.runs.drain, settings.drain_s)
        config = configured(make(nullcontext(app)), limits_for(settings.trusted_proxies))
        with _noted(settings.data_dir, Address(str(host), port, settings.model)):
            await Server(config, on_ready=ready, on_stop=stop, drain=drain).serve([listener])
        tasks.cancel_scope.cancel()


@contextmanager
def _noted(data_dir: Path, address: Address) -> Generator[None]:
    """Have other commands find this server by its data, for as long as it serves."""
    path, note = data_dir / _SERVED_AT, msgspec.json.encode(address)
    with suppress(OSError):
        path.write_bytes(note)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_bytes() == note:
                path.unlink()


def served_at(data_dir: Path) -> Address | None:
    """Where the server of this data said last that it is; it may have been killed since."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((data_dir / _SERVED_AT).read_bytes(), type=Address)
    return None


def configured(web: ASGIApp, limits: ConnectionLimits | None = None) -> uvicorn.Config:
    """How Bethink runs uvicorn: no log of its own for requests, no trust in forwarded headers."""
    return uvicorn.Config(
        web,
        http=bounded_http(limits or ConnectionLimits()),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
    )


@contextmanager
def listening(host: str, port: int) -> Generator[socket.socket]:
    """A socket that listens on the address; port 0 takes a free one.

    Raises:
        BadInput: the address does not exist here, or its port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise BadInput(f"There is no address {host} on this machine: use 127.0.0.1.") from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise BadInput(_bind_fault(host, port, error)) from error
        listener.listen(_BACKLOG)
        yield listener


def _bind_fault(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} of {host} is taken, perhaps by another Bethink: stop that program, or choose "
                "another port (0 picks a free one)."
            )
        case errno.EACCES:
            return f"Port {port} of {host} may not be used by this user: choose one above 1023."
        case _:
            return f"Cannot listen on {host}, port {port}: {error.strerror}."


async def check_bind(settings: Settings) -> bool:
    """Whether the first user is to be made before anybody can come in; see `Accounts.check_bind`.

    Raises:
        NotAllowed: there are users, and none of them has a way in.
        StorageError: the data directory cannot be used.
    """
    if is_loopback(settings.host) and not settings.needs_users:
        return False
    clock = SystemClock()
    async with open_database(settings) as database:
        register = Register(database.store, clock, MemoryBus(), Ids(clock))
        return await Accounts(register, needs_users=settings.needs_users).check_bind(settings.host)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how slow they may be. Times in seconds.

    `of_address` does not hold for `trusted`: this machine, and the proxies that the settings name.
    """

    connections: int = _MOST
    of_address: int = 200
    """A fifth of all: an office behind one address has room, one address cannot take everything."""
    trusted: Sequence[str] = _LOCAL
    head_s: float = 20
    """For a request's head, from the connection's beginning or the head's own."""
    progress_s: float = 30
    """In which `progress_bytes` of a body must come, or of an answer be taken."""
    progress_bytes: int = 1_024


class BoundedHttp(HttpToolsProtocol):
    """Ends a connection that takes too long or too much before it is a request, or behind its answer."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    _unfinished: int = 0
    _is_further: bool = False
    _is_reading: bool = False
    """Some of a request came, and not all of it."""
    _came: int = 0
    """Bytes of its body."""
    heard_at: float = 0
    """When something came last, by the loop's clock."""
    _reading: asyncio.TimerHandle | None = None
    """What happens if nothing more of a request comes, or if an answer is not taken (`_writing`)."""
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

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header without the blanks around its value, which are none of it (RFC 9110, section 5.5)."""
        super().on_header(name, value.strip(b" \t"))

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
        if not is_trusted(address, limits.trusted):
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


def bounded_http(limits: ConnectionLimits) -> type[BoundedHttp]:
    """The protocol with these limits: uvicorn makes one for each connection."""
    return type("BoundedHttp", (BoundedHttp,), {"limits": limits})


def limits_for(trusted: Sequence[str]) -> ConnectionLimits:
    """The limits of this process, which asks the system for as many open files as they need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most, unlimited = _MOST, resource.RLIM_INFINITY
    if soft != unlimited and soft < most + _OTHER_FILES:
        soft = most + _OTHER_FILES if hard == unlimited else min(most + _OTHER_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != unlimited:
        most = min(most, max(soft - _OTHER_FILES, soft // 2))
    return ConnectionLimits(most, of_address=max(1, most // 5), trusted=(*_LOCAL, *trusted))


def _let_go(connections: list[BoundedHttp]) -> bool:
    """End the one that has been silent longest; False if all are at work."""
    silent = [each for each in connections if each.is_silent]
    if not silent:
        return False
    min(silent, key=lambda each: each.heard_at).transport.abort()
    return True
