"""`bethink serve`: the web door on a port of this machine, until somebody stops it."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import anyio
import uvicorn

from bethink.accounts import is_loopback
from bethink.app import open_app
from bethink.errors import BadInput
from bethink.web import create_web
from bethink.web.bind_check import check_bind
from bethink.web.connection_limits import Limits, bounded_http, limits_for

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp

    from bethink.app import App
    from bethink.settings import Settings

_BACKLOG = 512
_KEEP_ALIVE_S = 75
"""Longer than browsers and proxies keep an idle connection: closing it while they use it loses a request."""
_STOP_S = 3
"""How long open requests may take to end once the runs were told to; streams end with their runs."""


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
    if not is_loopback(settings.host) or settings.needs_users:
        asyncio.run(check_bind(settings))
    with listening(settings.host, settings.port) as listener:
        # uvicorn's own choice of the loop: uvloop where it is installed, else asyncio's.
        loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(_serve(listener, settings, on_ready or (lambda _url: None), make=make))


class Server(uvicorn.Server):
    """A uvicorn that tells when it is ready, and ends the runs before it waits for their readers."""

    def __init__(
        self, config: uvicorn.Config, *, on_ready: Callable[[], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Have the streams ended, then wait for them."""
        self._on_stop()
        await super().shutdown(sockets)

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
            sys.stdout.write(f"Bethink is at {url} (data in {settings.data_dir})\n")
            sys.stdout.flush()
            on_ready(url)
            # Not before: the first answer shall not wait for half a second of loading.
            supervise = app.ports.supervisor.supervise
            tasks.start_soon(supervise, "the embedding model", app.background.ready_embedder)
            tasks.start_soon(supervise, "watching of vaults", app.watching.watch)

        def stop() -> None:
            app.runs.interrupt()
            app.vault.news.end()

        config = configured(make(nullcontext(app)), limits_for(settings.trusted_proxies))
        await Server(config, on_ready=ready, on_stop=stop).serve([listener])
        tasks.cancel_scope.cancel()


def configured(web: ASGIApp, limits: Limits | None = None) -> uvicorn.Config:
    """How Bethink runs uvicorn: no log of its own for requests, no trust in forwarded headers."""
    return uvicorn.Config(
        web,
        http=bounded_http(limits or Limits()),
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
