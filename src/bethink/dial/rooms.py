"""Where requests of one user in one conversation are answered, and what stays there between them.

A room has an owner of its own in the house, a conversation and the user's facts;
between two requests it keeps what the interpreter of code remembers and calls that
wait for a decision. It is left empty after a while. Nothing of it is needed: history
comes with each request, memory from the bucket.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio

from bethink.dial.keeping import Keeping
from bethink.engines.memory.store import MemoryStore
from bethink.errors import BethinkError, Busy
from bethink.telemetry import log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.app import App
    from bethink.events import Place
    from bethink.principal import Principal

_SWEEP_S: Final = 60
_WAIT_S: Final = 120
"""How long a request waits for another one of the same conversation."""

_log = log("dial")


def owner_of(home: str) -> str:
    """The owner of what is one user's, by the folder of their data."""
    return f"dial:{hashlib.sha256(home.encode()).hexdigest()}"


@dataclass(slots=True)
class Room:
    """One user's conversation. `waiting` is the run that waits for a decision.

    `place` is how far that run was told, `told` are its calls that were.
    `files` are the conversation's, by where they came from. `keeping` is None
    where memory is not in the bucket.
    """

    user: str
    principal: Principal
    keeping: Keeping | None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    conversation: str | None = None
    waiting: str | None = None
    place: Place | None = None
    told: set[str] = field(default_factory=set[str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    used_at: float = 0
    taken: int = 0


@dataclass(slots=True)
class Rooms:
    """All rooms of a house, in which facts are the bucket's or the house's own."""

    house: App
    in_bucket: bool
    idle_s: float
    _rooms: dict[tuple[str, str], Room] = field(default_factory=dict[tuple[str, str], Room])

    @asynccontextmanager
    async def entered(self, home: str, conversation: str, *, guessed: bool = False) -> AsyncGenerator[Room]:
        """The room of a user (`home`) and a conversation, to nobody else meanwhile.

        A conversation that is only `guessed` to be the same one has another room while its own is taken.

        Raises:
            Busy: the conversation is being answered all the time.
        """
        user = owner_of(home)
        room = self._room(user, home, conversation)
        if guessed and room.taken:
            room = self._room(user, home, f"{conversation}:{uuid4().hex}")
        room.taken += 1
        try:
            try:
                async with asyncio.timeout(_WAIT_S):
                    await room.lock.acquire()
            except TimeoutError as error:
                raise Busy from error
            try:
                yield room
            finally:
                room.lock.release()
        finally:
            room.taken -= 1
            room.used_at = anyio.current_time()

    async def forget_others(self, room: Room) -> None:
        """Have the user's other rooms hold no facts that may be gone by now; they load them again."""
        for other in self._rooms.values():
            if other is not room and other.user == room.user and other.keeping and not other.taken:
                await other.keeping.drop()

    async def sweep_always(self) -> None:
        """Empty rooms that nobody has used for a while, for ever."""
        while True:
            await anyio.sleep(_SWEEP_S)
            await self.sweep(anyio.current_time() - self.idle_s)

    async def sweep(self, used_before: float) -> None:
        """Empty rooms that nobody has used since."""
        for key, room in [*self._rooms.items()]:
            if room.used_at < used_before and not room.taken:
                del self._rooms[key]
                try:
                    await self._empty(room)
                except BethinkError as error:
                    _log.error("a conversation's room was not emptied: %s", error)

    async def _empty(self, room: Room) -> None:
        if room.conversation is not None:
            await self.house.runs.delete_conversation(room.principal, room.conversation)
        if room.keeping is not None and isinstance(self.house.ports.store, MemoryStore):
            self.house.ports.store.drop(room.principal.owner)

    def _room(self, user: str, home: str, conversation: str) -> Room:
        key = (user, conversation)
        if (known := self._rooms.get(key)) is not None:
            return known
        owner = user
        if self.in_bucket:
            # Facts of one version of the file each: two conversations at once do not see each other's.
            owner = f"{user}:{hashlib.sha256(conversation.encode()).hexdigest()[:32]}"
        principal = self.house.accounts.on_behalf_of(owner, audience="dial")
        keeping = Keeping(self.house.memory, principal, home) if self.in_bucket else None
        self._rooms[key] = room = Room(user, principal, keeping)
        return room
