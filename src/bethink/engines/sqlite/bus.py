"""The bus between processes of one data directory: a small SQLite file of its own. `app` opens it.

Its own, because nothing in it must last (no flush of the disk, no place in a
backup), and because its readers look twenty times a second whether it
changed, which every commit of the store would answer with yes. One thread
holds the connection, and looks that often only while somebody subscribes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
import uuid
from contextlib import asynccontextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from bethink.bus.mailbox import Mailboxes
from bethink.clock import SystemClock
from bethink.engines.sqlite.bus_file import BusFile, open_file
from bethink.errors import BethinkError, StorageError
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
    from pathlib import Path

    from bethink.bus import Notice
    from bethink.clock import Clock

T = TypeVar("T")

FILE_NAME = "bus.sqlite3"

POLL_S = 0.05
"""How late another process's notice is seen at most: soon for a person, seldom for a machine."""

CHORES_S = 10.0
"""How often a process says that it lives, and removes what everybody has had the time to read."""

_log = log("bus")


class SqliteBus:
    """One process's access to the bus; made by `open_bus`."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._process = uuid.uuid4().hex
        self._mailboxes = Mailboxes()
        self._loop = asyncio.get_running_loop()
        # The thread ends on None.
        self._jobs: SimpleQueue[Callable[[BusFile], None] | None] = SimpleQueue()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._closed = False
        self._fault: str | None = None

    @property
    def process(self) -> str:
        """This process's own name on the bus."""
        return self._process

    @property
    def fault(self) -> str | None:
        """What went wrong at its last chores, as a sentence; None where nothing did."""
        return self._fault

    async def publish(self, topic: str, payload: str = "") -> None:
        """Tell every subscriber of the topic, in every process."""
        await self._run(lambda file: file.publish(topic, payload))

    @asynccontextmanager
    async def subscribe(self, topic: str) -> AsyncGenerator[AsyncIterator[Notice]]:
        """Notices published after the block was entered, in order."""
        try:
            await self._run(BusFile.listen)
            mailbox = self._mailboxes.open(topic)
            try:
                yield mailbox
            finally:
                self._mailboxes.drop(topic, mailbox)
        finally:
            self._jobs.put(BusFile.stop_listening)

    async def claim(self, name: str, ttl_s: float) -> bool:
        """Take or renew the lease `name` for `ttl_s` seconds."""
        return await self._run(lambda file: file.claim(name, ttl_s))

    async def release(self, name: str) -> None:
        """Give up the lease if this process holds it."""
        await self._run(lambda file: file.release(name))

    async def is_alive(self, process: str) -> bool:
        """Whether the process with that name on the bus still runs.

        Known at once where the operating system can be asked; of a process in
        another container or on another machine a minute after its last word.
        """
        return await self._run(lambda file: file.is_alive(process))

    async def open(self) -> None:
        """Open the file and start the thread.

        Raises:
            StorageError: the directory cannot be written.
        """
        opened: asyncio.Future[None] = self._loop.create_future()
        threading.Thread(target=self._work, args=(opened,), name="bethink-bus", daemon=True).start()
        await opened

    async def close(self) -> None:
        """End every subscription and leave the bus."""
        self._closed = True
        self._mailboxes.close()
        self._jobs.put(None)
        await self._ended

    async def _run(self, work: Callable[[BusFile], T]) -> T:
        if self._closed:
            raise StorageError("The bus is closed.")
        future: asyncio.Future[T] = self._loop.create_future()

        def job(file: BusFile) -> None:
            try:
                self._answer(future, work(file))
            except sqlite3.Error as error:
                self._answer(future, error=self._unusable(error))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the job
                self._answer(future, error=error)

        self._jobs.put(job)
        return await future

    def _work(self, opened: asyncio.Future[None]) -> None:
        try:
            file = BusFile(open_file(self._path), self._process, self._clock)
        except BethinkError as error:
            self._answer(opened, error=error)
            return
        except Exception as error:  # noqa: BLE001 - handed on to whoever opens the bus
            self._answer(opened, error=self._unusable(error))
            return
        self._answer(opened)
        chores_at = time.monotonic()
        try:
            while self._step(file, chores_at):
                if time.monotonic() >= chores_at:
                    self._fault = self._attempt(file.do_chores)
                    chores_at = time.monotonic() + CHORES_S
        finally:
            self._attempt(file.close)
            self._answer(self._ended)

    def _step(self, file: BusFile, chores_at: float) -> bool:
        """Wait for a job or for the time to look for news; False at the end."""
        wait_s = max(chores_at - time.monotonic(), 0)
        try:
            job = self._jobs.get(timeout=min(wait_s, POLL_S) if file.listening else wait_s)
        except Empty:
            self._attempt(lambda: self._deliver(file.news()))
            return True
        if job is None:
            return False
        # Before the job too: who subscribes by it gets nothing that was published before.
        self._attempt(lambda: self._deliver(file.news()))
        job(file)
        self._attempt(lambda: self._deliver(file.news()))
        return True

    def _attempt(self, work: Callable[[], None]) -> str | None:
        """Do what nobody waits for; what failed is tried again at its next time, and said here."""
        try:
            work()
        except sqlite3.Error as error:
            _log.warning("The bus could not use %s: %s", self._path, error)
            return f"{self._path} cannot be used: {error}"
        except Exception as error:  # noqa: BLE001 - a background thread: recorded, and told in health
            _log.exception("The bus could not use %s", self._path)
            return f"{self._path} cannot be used: {error}"
        return None

    def _deliver(self, notices: Sequence[Notice]) -> None:
        if notices:
            self._tell(self._mailboxes.deliver, notices)

    def _answer(
        self, future: asyncio.Future[Any], value: object = None, *, error: Exception | None = None
    ) -> None:
        self._tell(_settle, future, value, error)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop was closed without closing the bus: nobody waits any more.
            return

    def _unusable(self, error: Exception) -> StorageError:
        unusable = StorageError(f"{self._path} cannot be used: {error}")
        unusable.__cause__ = error
        return unusable


def _settle(future: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    if future.done():
        # Its caller was cancelled.
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


@asynccontextmanager
async def open_bus(directory: Path, *, clock: Clock | None = None) -> AsyncGenerator[SqliteBus]:
    """The bus of a data directory, made if it is not there; closed with the block.

    Raises:
        NewerSchema: a newer Bethink uses it now.
        StorageError: the directory cannot be written.
    """
    bus = SqliteBus(directory / FILE_NAME, clock or SystemClock())
    await bus.open()
    try:
        yield bus
    finally:
        # Also when the block is left by a cancellation.
        with anyio.CancelScope(shield=True):
            await bus.close()
