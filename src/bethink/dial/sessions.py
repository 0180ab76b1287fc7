"""Where requests of one user in one conversation are answered, and what stays there between them.

A session has an owner of its own in the app, a conversation and the user's facts;
between two requests it keeps what the interpreter of code remembers and calls that
wait for a decision. It is left empty after a while. Nothing of it is needed: history
comes with each request, memory from the bucket.

They live in a second app, over stores in memory, beside the first: it shares the embedding
model, the sandbox, the web and the tool servers. So what is the user's ends with the process at
the latest.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
import anyio.to_thread

from bethink.app import App, open_app
from bethink.blobs.directory import temporary_blobs
from bethink.dial.bucket_memory import BucketMemory
from bethink.embeddings.factory import embeddings_of
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.errors import BethinkError, Busy
from bethink.ports import Ports
from bethink.settings import Settings, VaultSettings
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.embeddings import Embeddings
    from bethink.events import Place
    from bethink.principal import Principal


@dataclass(slots=True)
class EphemeralApp:
    """An app for tools and agents of spec 002, in a task of its own from its first use until `aclose`."""

    embeddings: Embeddings | None = None
    _opened: asyncio.Future[App] | None = None
    _closing: anyio.Event = field(default_factory=anyio.Event)
    _task: asyncio.Task[None] | None = None

    async def app(self) -> App:
        """The app."""
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(self._opened))
        return await asyncio.shield(self._opened)

    async def aclose(self) -> None:
        """End it."""
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _live(self, opened: asyncio.Future[App]) -> None:
        try:
            await anyio.to_thread.run_sync(importlib.import_module, "jsonschema")
            settings = Settings(
                code_enabled=False, web_enabled=False, extraction="off", memory_consolidation=False
            )
            index, embeddings = MemoryIndex(), self.embeddings or embeddings_of(settings)
            ports = Ports(MemoryStore(index), index, MemoryBus(), embeddings, None)
            async with open_app(settings, ports) as app:
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:  # a background task: its opener is told
            if opened.done():
                raise
            opened.set_exception(error)


_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of the system's, in memory; the one made there is private


@asynccontextmanager
async def open_ephemeral_app(app: App) -> AsyncGenerator[App]:
    """A second app over stores in memory, beside an open one.

    Nothing goes on in it once an answer has ended, since the key of a request ends with it:
    neither extraction nor tidying.
    """
    index = MemoryIndex()
    root = _MEMORY if await anyio.to_thread.run_sync(_MEMORY.is_dir) else None
    async with temporary_blobs(root) as blobs:
        ports = Ports(
            MemoryStore(index),
            index,
            MemoryBus(),
            app.ports.embeddings,
            app.models.usual,
            clock=app.ports.clock,
            blobs=blobs,
            internet=app.ports.internet,
            interpreters=app.ports.interpreters,
            images=app.ports.images,
            supervisor=app.ports.supervisor,
        )
        async with open_app(_adapted(app.settings), ports, beside=app) as second:
            with app.configuration.followed_by(second.configuration, _adapted):
                yield second


def _adapted(settings: Settings) -> Settings:
    return settings.model_copy(
        update={
            "extraction": "off",
            "memory_consolidation": False,
            "memory_retention_days": None,
            # What a person keeps on this machine is no business of those who ask through Core.
            "vault": VaultSettings(enabled=False),
            "approval_timeout_s": settings.dial.approval_timeout_s,
        }
    )


_SWEEP_S: Final = 60
_WAIT_S: Final = 120
"""How long a request waits for another one of the same conversation."""

_log = log("dial")


def owner_of(home: str) -> str:
    """The owner of what is one user's, by the folder of their data."""
    return f"dial:{hashlib.sha256(home.encode()).hexdigest()}"


@dataclass(slots=True)
class DialSession:
    """One user's conversation. `waiting` is the run that waits for a decision.

    `place` is how far that run was told, `told` are its calls that were.
    `files` are the conversation's, by where they came from. `bucket_memory` is None
    where memory is not in the bucket.
    """

    user: str
    principal: Principal
    bucket_memory: BucketMemory | None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    conversation: str | None = None
    waiting: str | None = None
    place: Place | None = None
    told: set[str] = field(default_factory=set[str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    used_at: float = 0
    taken: int = 0


@dataclass(slots=True)
class DialSessions:
    """All sessions of an app, in which facts are the bucket's or the app's own."""

    app: App
    in_bucket: bool
    idle_s: float
    _sessions: dict[tuple[str, str], DialSession] = field(default_factory=dict[tuple[str, str], DialSession])

    @asynccontextmanager
    async def entered(
        self, home: str, conversation: str, *, guessed: bool = False
    ) -> AsyncGenerator[DialSession]:
        """The session of a user (`home`) and a conversation, to nobody else meanwhile.

        A conversation that is only `guessed` to be the same one has another session while its own is taken.

        Raises:
            Busy: the conversation is being answered all the time.
        """
        user = owner_of(home)
        session = self._session(user, home, conversation)
        if guessed and session.taken:
            session = self._session(user, home, f"{conversation}:{uuid4().hex}")
        session.taken += 1
        try:
            try:
                async with asyncio.timeout(_WAIT_S):
                    await session.lock.acquire()
            except TimeoutError as error:
                raise Busy from error
            try:
                yield session
            finally:
                session.lock.release()
        finally:
            session.taken -= 1
            session.used_at = anyio.current_time()

    async def forget_others(self, session: DialSession) -> None:
        """Have the user's other sessions hold no facts that may be gone by now; they load them again."""
        for other in self._sessions.values():
            if (
                other is not session
                and other.user == session.user
                and other.bucket_memory
                and not other.taken
            ):
                await other.bucket_memory.drop()

    async def sweep_always(self) -> None:
        """Empty sessions that nobody has used for a while, for ever."""
        while True:
            await anyio.sleep(_SWEEP_S)
            await self.sweep(anyio.current_time() - self.idle_s)

    async def sweep(self, used_before: float) -> None:
        """Empty sessions that nobody has used since."""
        for key, session in [*self._sessions.items()]:
            if session.used_at < used_before and not session.taken:
                del self._sessions[key]
                try:
                    if session.conversation is not None:
                        await self.app.runs.delete_conversation(session.principal, session.conversation)
                    if session.bucket_memory is not None and isinstance(self.app.ports.store, MemoryStore):
                        self.app.ports.store.drop(session.principal.owner)
                except BethinkError as error:
                    _log.error("a conversation's session was not emptied: %s", error)

    def _session(self, user: str, home: str, conversation: str) -> DialSession:
        key = (user, conversation)
        if (known := self._sessions.get(key)) is not None:
            return known
        owner = user
        if self.in_bucket:
            # Facts of one version of the file each: two conversations at once do not see each other's.
            owner = f"{user}:{hashlib.sha256(conversation.encode()).hexdigest()[:32]}"
        principal = self.app.accounts.on_behalf_of(owner, audience="dial")
        bucket_memory = BucketMemory(self.app.memory, principal, home) if self.in_bucket else None
        self._sessions[key] = session = DialSession(user, principal, bucket_memory)
        return session
