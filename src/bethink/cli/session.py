"""An app at work beside the terminal, for as long as a command runs.

The app has an event loop on a thread of its own; the main thread keeps the
terminal, where lines are typed, output may block and Ctrl-C arrives. So a slow
reader of the output never holds up the app, and typing never stops its tasks.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import anyio.to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from bethink.app import App, open_app
from bethink.cli.terminal import Screen, new_file
from bethink.clock import shown_in, to_datetime
from bethink.errors import BadInput
from bethink.settings import Settings, load_settings
from bethink.telemetry import configure

if TYPE_CHECKING:
    import argparse

    from bethink.agent.records import NumberedEvent
    from bethink.events import Place
    from bethink.principal import Principal
    from bethink.store import R, RecordPage, Versioned

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Session:
    """The app, who uses it, where its results go, and the ways to call it from the main thread."""

    app: App
    principal: Principal
    screen: Screen
    _portal: BlockingPortal

    @property
    def owner(self) -> str:
        """Whose data it is."""
        return self.principal.owner

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `function` gives, awaited on the app's loop."""
        return self._portal.call(partial(function, *args, **kwargs))

    def mine(
        self, function: Callable[Concatenate[Principal, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same for a `function` that takes who asks first."""
        return self._portal.call(partial(function, self.principal, *args, **kwargs))

    def each(
        self, function: Callable[Concatenate[Principal, ...], Awaitable[RecordPage[R]]], **options: object
    ) -> Iterator[Versioned[R]]:
        """What a `function` lists page by page, given its `options` beside the cursor."""
        cursor: str | None = None
        while True:
            page = self.mine(function, cursor=cursor, **options)
            yield from page.items
            if (cursor := page.cursor) is None:
                return

    def soon(self, function: Callable[P, Awaitable[object]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have `function` run on the app's loop; nobody waits for it. Safe in a signal's handler."""
        self._portal.start_task_soon(partial(function, *args, **kwargs))

    def follow(self, run: str, after: Place | None = None) -> Generator[list[NumberedEvent]]:
        """The run's events behind a place in batches, as they come, until its end.

        Raises:
            UnknownId: there is no such run.
        """
        yield from self.streamed(partial(self.app.runs.follow, self.principal, run, after))

    def streamed(
        self, begin: Callable[[], AsyncGenerator[list[NumberedEvent], None]]
    ) -> Generator[list[NumberedEvent]]:
        """What `begin` begins to yield, as it comes; leaving it ends it."""
        batches: SimpleQueue[list[NumberedEvent] | None] = SimpleQueue()

        async def fetch() -> None:
            try:
                async with aclosing(begin()) as found:
                    async for batch in found:
                        batches.put(batch)
            finally:
                batches.put(None)

        fetching = self._portal.start_task_soon(fetch)
        try:
            while (batch := batches.get()) is not None:
                yield batch
            fetching.result()
        finally:
            fetching.cancel()

    def write_out(self, parts: AsyncIterable[str], output: str | None) -> bool:
        """Write all parts to a new file, or to standard output if none or `-` is named; whether it is a file.

        Raises:
            BadInput: the file is there already.
            BethinkError: it cannot be written.
        """

        async def write_to(write: Callable[[bytes], object]) -> None:
            async for part in parts:
                await anyio.to_thread.run_sync(write, part.encode())

        if output in {None, "-"}:
            self.call(write_to, sys.stdout.buffer.write)
            return False
        with new_file(Path(output or "")) as file:
            self.call(write_to, file.write)
        return True

    def local(self, at: int | datetime, format: str = "%Y-%m-%d %H:%M") -> str:
        """A time as the owner's clock shows it."""
        moment = at if isinstance(at, datetime) else to_datetime(at)
        return shown_in(ZoneInfo(self.principal.time_zone), moment).strftime(format)

    def moment(self, text: str | None) -> datetime | None:
        """The time that a person typed, in the owner's zone if it names none; None for None.

        Raises:
            BadInput: it names no time.
        """
        if text is None:
            return None
        try:
            named = datetime.fromisoformat(text)
        except ValueError as error:
            raise BadInput(f"{text!r} is not a time: write it as 2026-05-01 or 2026-05-01T14:30.") from error
        return named if named.tzinfo else named.replace(tzinfo=ZoneInfo(self.principal.time_zone))


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings in force for a command's options.

    Raises:
        BadInput: one of them is not valid.
    """
    return load_settings(
        data_dir=options.data, model=options.model, log_level=options.log_level, user=options.user
    )


def settings_to_serve(options: argparse.Namespace, *, port: int | None, user: str | None = None) -> Settings:
    """The settings for a command that serves until it is stopped; its log is written from here on.

    Raises:
        BadInput: one of them is not valid.
    """
    settings = load_settings(
        data_dir=options.data,
        model=options.model,
        log_level=options.log_level,
        host=options.host,
        port=port,
        user=user,
    )
    configure(settings.log_level, settings.log_format, requests=settings.log_requests)
    return settings


def log_if_asked(options: argparse.Namespace) -> None:
    """Short commands say in words what concerns their user; the log is for who asks for it."""
    if level := options.log_level or ("debug" if options.debug else None):
        configure(level)
    else:
        configure("critical")


def unopened(options: argparse.Namespace) -> tuple[Settings, Screen]:
    """The settings and the screen of a command that opens no app.

    Raises:
        BadInput: a setting is not valid.
    """
    log_if_asked(options)
    return settings_of(options), Screen.of_process(is_data=getattr(options, "json", False))


@contextmanager
def opened(options: argparse.Namespace) -> Generator[Session]:
    """A session on the data directory that the options and the settings name.

    A `serve` that runs on the same directory keeps running beside it.

    Raises:
        BadInput: a setting is not valid.
        StorageError: the data directory cannot be used.
    """
    settings, screen = unopened(options)
    with start_blocking_portal(name="bethink") as portal, ExitStack() as stack:
        manager = portal.wrap_async_context_manager(open_app(settings))
        app = manager.__enter__()
        # An error of the command is none of the app's: it closes as always.
        stack.callback(manager.__exit__, None, None, None)
        principal = portal.call(partial(app.accounts.authenticate, audience="cli"))
        yield Session(app, principal, screen, portal)
